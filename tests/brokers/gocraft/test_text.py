"""Job texts: read as Go reads, written as Go writes, by recordings of Go and by properties."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.brokers.gocraft import vectors
from tests.brokers.gocraft.jobs import ARGS, JOBS, TEXTS
from tests.rows import every_row
from workkit.brokers.gocraft.text import JobText, read, rewrite, write
from workkit.errors import CorruptRecord, InvalidArguments

DECODED = vectors.load("decode")["cases"]
REFUSED = [case for case in DECODED if any("worker.fetch" in line for line in case["log"])]
RUN = [case for case in DECODED if any(event["event"] == "run" for event in case["events"])]
TRIED = vectors.load("job_texts")["cases"]
ENQUEUED = [text for name in ("enqueue", "unique_by_key", "namespaces", "periodic") for text in vectors.job_texts(name)]


def as_floats(value: Any) -> Any:
    """The value as Go has it in memory, and writes it at a retry: every number a float."""
    if isinstance(value, dict):
        return {key: as_floats(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_floats(inner) for inner in value]
    return float(value) if type(value) is int else value


def given_bytes(case: dict[str, Any]) -> bytes:
    return bytes.fromhex(case["given_hex"]) if "given_hex" in case else case["given"].encode()


def test_the_recorded_texts_are_refused_run_or_empty() -> None:
    empty = [case["case"] for case in DECODED if case not in REFUSED and case not in RUN]
    assert (len(REFUSED), len(RUN), empty) == (8, 11, ["JSON null"])


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["case"])
def test_what_a_go_pool_refuses_is_corrupt(case: dict[str, Any]) -> None:
    with pytest.raises(CorruptRecord, match=r"^job text ") as caught:
        read(case["job"].encode())
    assert caught.value.given == case["job"].encode()


@pytest.mark.parametrize("case", RUN, ids=lambda case: case["case"])
def test_a_text_is_read_as_the_go_handler_got_it(case: dict[str, Any]) -> None:
    ran = next(event["job"] for event in case["events"] if event["event"] == "run")
    job = read(case["job"].encode())
    assert (job.name, job.id, job.t, job.args) == (ran["name"], ran["id"], ran["t"], ran["args"])
    assert (job.unique, job.fails) == (ran.get("unique", False), ran.get("fails", 0))


def test_null_is_the_empty_job() -> None:
    assert read(b" null ") == JobText()


@every_row("case", TRIED)
def test_go_reads_and_writes_a_text_alike(case: dict[str, Any]) -> None:
    data = given_bytes(case)
    if "refused" in case:
        with pytest.raises(CorruptRecord):
            read(data)
        return
    job = read(data)
    assert write(replace(job, args=as_floats(job.args), unknown=())).decode() == case["written"]


@every_row("text", ENQUEUED)
def test_a_text_that_go_wrote_is_written_alike(text: str) -> None:
    assert write(read(text.encode())).decode() == text


@given(JOBS)
def test_a_text_that_we_wrote_is_read_back(job: JobText) -> None:
    found = read(write(job))
    assert replace(found, args=None) == replace(job, args=None)
    assert as_floats(found.args) == as_floats(job.args)  # a whole float is written without a point


@given(JOBS)
def test_the_fields_have_the_order_of_go(job: JobText) -> None:
    order = ["name", "id", "t", "args", "unique", "unique_key", "fails", "err", "failed_at"]
    unknown = [name for name, _ in job.unknown]
    written = list(json.loads(write(job)))
    kept = [name for name in written if name in order]
    assert kept == [name for name in order if name in kept]
    assert written == kept + unknown
    assert {"id", "t", "args"} <= set(kept)


@given(args=ARGS, name=TEXTS.filter(bool), id=TEXTS)
def test_a_fresh_job_is_read_alike_with_and_without_the_short_way(args: Any, name: str, id: str) -> None:
    written = write(JobText(name=name, id=id, t=1, args=args))
    assert read(written) == read(b" " + written) == read(written.replace(b'"t":1', b'"t" :1'))


def test_unknown_fields_are_kept_with_their_bytes() -> None:
    job = read(b'{"name":"a","meta":{"k": 1.50},"queue" : "x"}')
    assert job.unknown == (("meta", '{"k": 1.50}'), ("queue", '"x"'))
    assert write(job) == b'{"name":"a","id":"","t":0,"args":null,"meta":{"k": 1.50},"queue":"x"}'


def test_integers_beyond_2_to_the_53_stay_as_they_are() -> None:
    assert read(b'{"args":{"big":9007199254740993}}').args == {"big": 9007199254740993}


@pytest.mark.parametrize(
    ("data", "trouble", "position"),
    [
        (b'{"t":1.5e9}', "t is 1.5e9, not an integer of 64 bits", 5),
        (b'{"id":"\xc3\xa9","t":9223372036854775808}', "t is 9223372036854775808, not an integer", 15),
        (b'{"args":[1,2]}', "args is [1,2], not an object or null", 8),
        (b'{"args":{"x":[1e999]}}', 'args["x"][0] is a number beyond 1.8e308', 8),
        (b'{"unique":"true"}', 'unique is "true", not true or false', 10),
        (b"[1]", "is [1], not an object", 0),
        (b'{"id":"a" "t":1}', '"," or "}" is missing', 10),
        (b'{"id":"a",}', "a field's name in quotes is missing", 10),
        (b'{"id" "a"}', '":" is missing', 6),
        (b'{"id":"a"} x', "something follows its end", 10),
        (b'{"id":}', "a value is missing or broken", 6),
        (b"", "a value is missing or broken", 0),
        (b'{"args":{"x":NaN}}', "NaN is not JSON", None),
    ],
)
def test_a_refusal_names_the_reason_and_the_byte(data: bytes, trouble: str, position: int | None) -> None:
    with pytest.raises(CorruptRecord) as caught:
        read(data)
    assert trouble in str(caught.value)
    assert caught.value.position == position


@pytest.mark.parametrize("levels", [400, 700, 900, 200_000])
@pytest.mark.parametrize("inner", [b"", b"1e999", b'"\\ud800"'])
@pytest.mark.parametrize("field", [b"args", b"meta"])
def test_a_text_of_any_depth_is_read_or_refused(levels: int, inner: bytes, field: bytes) -> None:
    data = b'{"name":"a","' + field + b'":{"x":' + b"[" * levels + inner + b"]" * levels + b"}}"
    refusals = []
    for work in (read, rewrite):
        try:
            work(data)
        except CorruptRecord as error:
            refusals.append(str(error))
    assert all("nested too deeply" in line or "1.8e308" in line for line in refusals)
    assert len(refusals) == 2 or levels < 1_000


def test_arguments_that_go_cannot_read_are_not_written() -> None:
    with pytest.raises(InvalidArguments, match=r'^args\["x"\] is nan'):
        write(JobText(name="a", args={"x": float("nan")}))


@given(st.binary())
def test_no_bytes_do_anything_but_read_or_be_refused(data: bytes) -> None:
    try:
        job = read(data)
    except CorruptRecord:
        return
    assert read(write(read(write(job)))) == read(write(job))
