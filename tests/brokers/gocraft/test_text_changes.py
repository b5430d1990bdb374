"""A job text whose time or failure changes keeps every other byte."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.brokers.gocraft import vectors
from tests.brokers.gocraft.jobs import JOBS, SECONDS, TEXTS, UNKNOWN
from workkit.brokers.gocraft.text import JobText, read, rewrite, write
from workkit.errors import CorruptRecord

CHANGES = st.fixed_dictionaries({}, optional={"t": SECONDS, "fails": SECONDS, "err": TEXTS, "failed_at": SECONDS})
BLANKS = st.sampled_from(["", "", " ", "\t", "\r\n "])


@st.composite
def foreign_texts(draw: st.DrawFn) -> bytes:
    """A text that Go reads and would not write so: any order, letter case, blanks and repetition of its fields."""
    values = {
        "name": ['"export"', "null"],
        "id": ['"a\\u0031"', '""'],
        "t": ["5", "-0"],
        "args": ["null", '{"a": 1.50, "t":2}', '{ "\\u00e9":[{"fails":1}] , "b":-0}', '{"a":"}, \\"t\\":3"}'],
        "unique": ["true", "null"],
        "fails": ["0", "3"],
        "err": ['"\\/ \\ud800"', '""'],
        "failed_at": ["7", "null"],
    }
    names = draw(st.lists(st.sampled_from(sorted(values)), max_size=8))
    members = [
        (draw(st.sampled_from([name, name.upper(), name.title()])), draw(st.sampled_from(values[name])))
        for name in names
    ] + list(draw(UNKNOWN))
    parts = [
        f"{draw(BLANKS)}{json.dumps(name)}{draw(BLANKS)}:{draw(BLANKS)}{value}{draw(BLANKS)}"
        for name, value in draw(st.permutations(members))
    ]
    return f"{draw(BLANKS)}{{{','.join(parts) or draw(BLANKS)}}}{draw(BLANKS)}".encode()


def others(data: bytes) -> list[tuple[str, str]]:
    """The fields that no change touches, with the bytes of their values, in order."""
    decoder = json.JSONDecoder(parse_int=str, parse_float=str, object_pairs_hook=list)
    return [(name, value) for name, value in decoder.decode(data.decode()) if name.casefold() not in CHANGED]


CHANGED = ("t", "fails", "err", "failed_at")


@given(JOBS, CHANGES)
def test_a_text_in_the_form_of_go_becomes_the_text_that_go_would_write(job: JobText, changes: Any) -> None:
    assert rewrite(write(job), **changes) == write(replace(job, **changes))


@given(foreign_texts(), CHANGES)
def test_a_foreign_text_says_the_change_and_keeps_all_else(data: bytes, changes: Any) -> None:
    changed = rewrite(data, **changes)
    assert read(changed) == replace(read(data), **changes)
    assert others(changed) == others(data)


@given(foreign_texts())
def test_no_change_keeps_every_byte(data: bytes) -> None:
    assert rewrite(data) == data


@given(foreign_texts(), CHANGES)
def test_a_change_made_again_changes_nothing(data: bytes, changes: Any) -> None:
    changed = rewrite(data, **changes)
    assert rewrite(changed, **changes) == changed


@given(foreign_texts(), st.integers(1, 2**40))
def test_only_the_digits_of_the_time_change(data: bytes, t: int) -> None:
    first, second = rewrite(data, t=10**9 + 1), rewrite(data, t=t)
    assert first.replace(b"1000000001", b"%d" % t) == second


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        (b'{ "t" : 5 , "id":"a" }', {"t": 7}, b'{ "t" : 7 , "id":"a" }'),
        (b'{"name":"a","meta":{"k": 1.50}}', {"fails": 1}, b'{"name":"a","fails":1,"meta":{"k": 1.50}}'),
        (b'{"meta":1}', {"t": 5}, b'{"t":5,"meta":1}'),
        (b"{ }", {"fails": 1, "err": "<"}, b'{ "fails":1,"err":"\\u003c"}'),
        (b'{"fails":1,"id":"a"}', {"fails": 0}, b'{"id":"a"}'),
        (b'{"id":"a" , "err":"x","fails":2,"failed_at":3}', {"err": "", "fails": 0, "failed_at": 0}, b'{"id":"a"}'),
        (b'{"fails":1}', {"fails": 0}, b"{}"),
        (b'{"T":1,"t":2,"T":3}', {"t": 9}, b'{"T":1,"t":2,"T":9}'),
        (b'{"t":1,"t":null}', {"t": 9}, b'{"t":1,"t":9}'),
        (b'{"FAILS":1,"id":"a","fails":2}', {"fails": 0}, b'{"id":"a"}'),
        (b'{"id":"\xff","args":{"x":12345678901234567890.10}}', {"t": 1},
         b'{"id":"\xff","t":1,"args":{"x":12345678901234567890.10}}'),
        (b" null", {}, b" null"),
        (b"null", {"fails": 1, "err": "no"}, b'{"id":"","t":0,"args":null,"fails":1,"err":"no"}'),
    ],
)  # fmt: skip
def test_a_change_has_its_place(before: bytes, changes: Any, after: bytes) -> None:
    assert rewrite(before, **changes) == after


@pytest.mark.parametrize("name", ["failed_retry", "failed_dead"])
def test_a_failure_is_written_as_go_writes_it(name: str) -> None:
    """The recorded text before a failure, changed, is the recorded text after it, but for numbers that Go cut."""
    texts = [text for text in vectors.job_texts(name) if '"fails":' in text]
    for text in texts:
        job = read(text.encode())
        fresh = write(replace(job, fails=0, err="", failed_at=0))
        assert rewrite(fresh, fails=job.fails, err=job.err, failed_at=job.failed_at).decode() == text
        assert rewrite(text.encode(), fails=0, err="", failed_at=0) == fresh
    assert len(texts) >= 2


def test_what_go_refuses_is_not_changed() -> None:
    with pytest.raises(CorruptRecord, match="args is"):
        rewrite(b'{"args":[1],"t":5}', t=6)
