"""Unique keys: the bytes that Go makes, by content and by a key map."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.brokers.gocraft import vectors
from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.text import BY_CONTENT, LIFE_SECONDS, JobText, read, unique_key, unique_key_of, write
from workkit.errors import InvalidArguments

CASES = vectors.load("unique_key_bytes")["cases"]
BY_KEY = [step for step in vectors.steps("unique_by_key") if step.get("returned") and "key" in step["call"]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["args"][:30])
def test_a_key_by_content_has_the_bytes_of_go(case: dict[str, Any]) -> None:
    args = json.loads(case["args"]) if case["args"] else None
    assert unique_key(Keys("gv"), "clear_cache", args) == case["unique_key"]
    assert (BY_CONTENT.decode(), LIFE_SECONDS) == (case["value"], case["ttl"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["args"][:30])
def test_a_unique_job_has_the_bytes_of_go(case: dict[str, Any]) -> None:
    args = json.loads(case["args"]) if case["args"] else None
    wrote = read(case["job"].encode())
    job = JobText(
        name="clear_cache",
        id=wrote.id,
        t=wrote.t,
        args=args,
        unique=True,
        unique_key=unique_key(Keys("gv"), "clear_cache", args),
    )
    assert write(job).decode() == case["job"]


@pytest.mark.parametrize("step", BY_KEY, ids=range(len(BY_KEY)))
def test_a_key_by_a_map_takes_the_map_for_the_arguments(step: dict[str, Any]) -> None:
    call = step["call"]
    found = unique_key(Keys(call["ns"]), call["name"], json.loads(call["args"]), by=json.loads(call["key"]))
    assert found == step["returned"]["unique_key"]


def test_both_kinds_share_one_key_space() -> None:
    keys = Keys("gv")
    assert unique_key(keys, "a", {"k": 1}) == unique_key(keys, "a", {"x": 2}, by={"k": 1})
    assert unique_key(keys, "a", None) == "gv:unique:a:"
    assert unique_key(keys, "a", {"x": 2}, by={}) == unique_key(keys, "a", {}) == "gv:unique:a:{}\n"


def test_a_read_job_has_the_key_that_it_names_or_else_that_of_its_arguments() -> None:
    keys = Keys("gv")
    assert unique_key_of(keys, JobText(name="a", args={"k": 1})) is None
    assert unique_key_of(keys, JobText(name="a", args={"k": 1}, unique=True)) == 'gv:unique:a:{"k":1}\n'
    assert unique_key_of(keys, JobText(name="a", args={"k": 1}, unique=True, unique_key="gv:x")) == "gv:x"


@pytest.mark.parametrize(("by", "where"), [(None, 'args["x"]'), ({"x": float("inf")}, 'unique_key["x"]')])
def test_what_json_cannot_carry_is_refused_by_its_place(by: Any, where: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        unique_key(Keys("gv"), "a", {"x": float("nan")}, by=by)
    assert caught.value.where == where
