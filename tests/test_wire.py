"""The published bytes, against what the Clojure code was recorded to write."""

import contextlib
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import every_row
from workkit import wire
from workkit.errors import CorruptRecord, InvalidArguments

VECTORS = Path(__file__).parent.parent / "spec" / "vectors" / "clojure"
CASES = json.loads((VECTORS / "job_ids.json").read_text())["cases"]
REPRODUCIBLE = [c for c in CASES if c["reproducible_from_args"]]


@every_row("case", REPRODUCIBLE)
def test_payload_and_id_equal_the_recorded_ones(case: dict[str, Any]) -> None:
    data = wire.payload(cron=case["cron"], job=case["job"], args=case["args"])
    assert data.decode() == case["cuckoo"]["payload"]
    assert wire.job_id(data) == case["cuckoo"]["id"]


@every_row("case", CASES)
def test_every_recorded_payload_can_be_read(case: dict[str, Any]) -> None:
    for writer in ("cuckoo", "workkit"):
        read = wire.read_payload(case[writer]["payload"].encode())
        assert (read.cron, read.job) == (case["cron"], case["job"])
        assert list(read.args) == (case["args"] or [])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.001, "0.001"), (0.00099, "9.9E-4"), (9999999.0, "9999999.0"), (1e7, "1.0E7"), (1.5e300, "1.5E300"),
        (5e-324, "4.9E-324"), (1.7976931348623157e308, "1.7976931348623157E308"), (2e23, "2.0E23"), (-1e-5, "-1.0E-5"),
        (123456789.125, "1.23456789125E8"), (-0.0, "-0.0"), (100.0, "100.0"), (1e21, "1.0E21"),
    ],
)  # fmt: skip
def test_doubles_are_written_as_java_prints_them(value: float, text: str) -> None:
    assert wire.payload(cron="", job="", args=[value]) == f'{{"args":[{text}],"cron":"","job":""}}'.encode()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_reads_back_as_itself(value: float) -> None:
    (read,) = wire.read_payload(wire.payload(cron="", job="", args=[value])).args
    assert read == value
    assert math.copysign(1, read) == math.copysign(1, value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.lists(JSON), st.text(), st.text(), st.dictionaries(st.sampled_from(["nonce", "zone", "opts"]), JSON))
def test_a_payload_reads_back_as_written(args: list[Any], cron: str, job: str, extra: dict[str, Any]) -> None:
    data = wire.payload(cron=cron, job=job, args=args, extra=extra)
    assert data.isascii()
    assert b"/" not in data.replace(b"\\/", b"")
    assert wire.read_payload(data) == wire.Payload(cron=cron, job=job, args=tuple(args), extra=extra)
    assert list(json.loads(data)) == sorted(json.loads(data))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([1, {"when": __import__("datetime").datetime(2026, 1, 1)}],
         'args[1]["when"] is a datetime, which JSON cannot carry. Pass .isoformat(), and parse it in the function. '
         'A parameter annotated with datetime gets it as datetime.'),
        ([{1, 2}], "args[0] is a set, which JSON cannot carry. Pass a sorted list."),
        ([float("nan")], "args[0] is nan, which JSON cannot carry. Pass None or a text."),
        ([{1: 2}], "args[0] has the key 1, and JSON keys are text. Write '1'."),
        ("tracy@x.org", 'args="tracy@x.org" is not a list. Write args=["tracy@x.org"].'),
    ],
)  # fmt: skip
def test_what_json_cannot_carry_is_refused_by_place(args: Any, message: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        wire.payload(cron="", job="", args=args)
    assert str(caught.value) == message


HOSTILE = [
    b"", b"null", b"[]", b"7", b'{"cron":"*"', b'{"cron":1,"job":"x"}', b'{"cron":"*","job":null}', b"\xff\xfe",
    b'{"cron":"*","job":"x","args":7}', b'{"cron":"*","job":"x","args":[NaN]}', b"[" * 100_000, b'{"a":' * 50_000,
    b'{"cron":"*","job":"x","args":[' + b"9" * 5000 + b"]}", b"\xef\xbb\xbf{}",
]  # fmt: skip


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_an_unreadable_payload_is_a_corrupt_record(data: bytes) -> None:
    with pytest.raises(CorruptRecord):
        wire.read_payload(data)


@given(st.binary())
def test_reading_raises_nothing_but_corrupt_record(data: bytes) -> None:
    for read in (wire.read_payload, wire.read_item):
        with contextlib.suppress(CorruptRecord):
            read(data)


@pytest.mark.parametrize(
    ("args", "kwargs", "where", "position"),
    [
        (["a", "b\udc80"], {}, "args[1]", 1),
        ([{"name": ["x", "\ud800"]}], {}, 'args[0]["name"][1]', 0),
        ([{"\udfff": 1}], {}, "a key of args[0]", 0),
        ([], {"path": "/srv/\udcff"}, 'kwargs["path"]', 5),
        (["\ud83d\ude00"], {}, "args[0]", 0),
    ],
)
def test_a_lone_surrogate_is_refused_with_its_place(
    args: list[Any], kwargs: dict[str, Any], where: str, position: int
) -> None:
    with pytest.raises(InvalidArguments, match=r"has a lone surrogate, '\\u") as caught:
        wire.payload(cron="", job="#'app/f", args=args, extra={"kwargs": kwargs} if kwargs else None)
    assert (caught.value.where, caught.value.position) == (where, position)
    assert str(caught.value).startswith(where)
    assert str(caught.value).isprintable()


def test_whole_characters_and_texts_that_look_like_surrogates_are_written() -> None:
    for text in ("\U0001f600", "\\ud800", "\\\\ud800"):
        assert wire.read_payload(wire.payload(cron="", job="#'app/f", args=[text])).args == (text,)


def test_a_stored_lone_surrogate_is_read_as_it_stands() -> None:
    assert wire.read_payload(b'{"args":["\\ud800"],"cron":"","job":"f"}').args == ("\ud800",)


ID = "b47c4f60e77f631e8045ca999ec215fa74d4d658"


def test_item_is_exactly_the_published_text() -> None:
    assert wire.item(ID) == f'{{"id":"{ID}"}}'.encode()
    assert wire.item(ID, attempt=3) == f'{{"id":"{ID}","attempt":3}}'.encode()


@pytest.mark.parametrize("text", ["{}", "null", "", '"x"', "[1]", '{"id":7}', '{"id":""}', '{"id"'])
def test_an_item_without_an_id_is_corrupt(text: str) -> None:
    with pytest.raises(CorruptRecord):
        wire.read_item(text.encode())


def test_items_are_read_leniently() -> None:
    assert wire.read_item(f' {{ "x/y" : 1.5, "id" : "{ID}" }} and more'.encode()).id == ID
    assert wire.read_item(b'{"n":"\xff","id":"' + ID.encode() + b'"}').id == ID


@pytest.mark.parametrize("bad", [{"id": "xyz"}, {"id": ID, "date": 1}, {"id": ID, "n": 2**53}, {"id": ID, "n": 1.5}])
def test_an_item_that_would_not_survive_a_put_back_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidArguments):
        wire.item(**bad)


def test_doubles_are_written_as_the_page_shows_them() -> None:
    """The table of spec/job.md: numbers as people write them, beside their texts."""
    page = (Path(__file__).parent.parent / "spec" / "job.md").read_text()
    section = page.partition("| double | text | double | text |")[2].partition("\n\n")[0]
    rows = [row.strip("| ").split(" | ") for row in section.splitlines()[2:]]
    shown = [pair for row in rows for pair in (row[:2], row[2:])]
    assert len(shown) == 8
    for numbers, texts in shown:
        values = [1 / 3 if number == "1/3" else float(number) for number in numbers.split(", ")]
        written = wire.payload(cron="", job="", args=values).decode().partition("[")[2].partition("]")[0]
        assert written.split(",") == texts.replace("`", "").split(", ")
