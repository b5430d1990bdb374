"""The keys of a namespace, against those that Go pools used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.brokers.gocraft import vectors
from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.text import unique_key

POOL = "831c33c01884c3f86643b9b7"


@pytest.mark.parametrize(
    ("namespace", "known"),
    [
        ("", "known_jobs"),
        ("gv", "gv:known_jobs"),
        ("gv:", "gv:known_jobs"),
        ("a:b", "a:b:known_jobs"),
        ("{gv}", "{gv}:known_jobs"),
        (":", ":known_jobs"),
        ("gv::", "gv::known_jobs"),
        (" ", " :known_jobs"),
    ],
)
def test_a_namespace_ends_in_one_colon_unless_it_is_empty(namespace: str, known: str) -> None:
    assert Keys(namespace).known_jobs == known


def all_keys(keys: Keys, *, name: str, pool: str, worker: str) -> set[str]:
    one_each = {keys.known_jobs, keys.scheduled, keys.retry, keys.dead, keys.worker_pools, keys.last_periodic_enqueue}
    of_name = {keys.queue(name), keys.paused(name), keys.max_concurrency(name), keys.lock(name), keys.lock_info(name)}
    return one_each | of_name | {keys.in_progress(name, pool), keys.worker_pool(pool), keys.worker(worker)}


@pytest.mark.parametrize("recording", vectors.recordings("namespaces"), ids=lambda recording: recording["namespace"])
def test_every_key_that_a_go_pool_uses_is_one_of_ours(recording: Mapping[str, Any]) -> None:
    keys = Keys(recording["namespace"])
    used = {key for step in recording["steps"] for key in step.get("dump", ())}
    ids = set(re.findall(r"[0-9a-f]{24}", " ".join(used)))
    ours = {keys.unique("clear_cache", '{"a":1}\n')}.union(
        *(all_keys(keys, name="clear_cache", pool=id, worker=id) for id in ids)
    )
    assert len(used) > 8
    assert used <= ours
    assert unique_key(keys, "clear_cache", {"a": 1}) in used


@given(name=st.text(), namespace=st.text())
def test_the_owner_of_an_in_progress_list_is_read_back(name: str, namespace: str) -> None:
    keys = Keys(namespace)
    assert keys.in_progress_owner(keys.in_progress(name, POOL)) == (name, POOL)


@pytest.mark.parametrize("name", ["export", "a:b", "x:lock", ""])
def test_no_other_key_has_an_owner(name: str) -> None:
    keys = Keys("gv")
    for key in all_keys(keys, name=name, pool=POOL, worker=POOL) - {keys.in_progress(name, POOL)}:
        assert keys.in_progress_owner(key) is None
    assert Keys("other").in_progress_owner(keys.in_progress(name, POOL)) is None


def test_the_pattern_finds_in_progress_lists_of_this_namespace_alone() -> None:
    keys = Keys("a[bc]*")
    pattern = keys.in_progress_pattern
    assert pattern == r"a\[bc\]\*:jobs:*:*:inprogress"
    plain = Keys("gv")
    assert fnmatchcase(plain.in_progress("x:y", POOL), plain.in_progress_pattern)
    assert not fnmatchcase(Keys("hv").in_progress("x", POOL), plain.in_progress_pattern)


def test_the_prefix_of_queues_and_a_name_make_the_key_of_a_queue() -> None:
    assert Keys("gv").queue_prefix + "export" == Keys("gv").queue("export") == "gv:jobs:export"


def test_a_script_may_take_any_key() -> None:
    assert Keys.any_key("x") == "x"
