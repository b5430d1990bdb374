"""What stands in the published keys, judged: recorded states of the Clojure code, and each rule by an example."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import every_row
from workkit import wire
from workkit.brokers.native.codec import Codec
from workkit.brokers.native.doctor.clojure import judge_job, put_back
from workkit.brokers.native.doctor.judge import FAULTS, ID, judge, judge_cron
from workkit.brokers.native.entry import item_id
from workkit.brokers.native.look.published import Pair
from workkit.contract.doctor import SEVERITIES, Fault
from workkit.errors import CorruptRecord, OtherDialect

VECTORS = Path(__file__).parent.parent / "spec" / "vectors" / "clojure"
CRONS = json.loads((VECTORS / "cuckoo_cron_next.json").read_text())
ITEMS = json.loads((VECTORS / "queue_items.json").read_text())["rewritten_on_put_back"]
IDS = json.loads((VECTORS / "job_ids.json").read_text())["cases"]
DUMPS = json.loads((VECTORS / "redis_dumps.json").read_text())["sessions"]
NOW = 1_795_000_000_000  # 2026-11-18T11:06:40Z
JOB = "#'app/f"
SEVERITY = {kind.name: kind.severity for kind in FAULTS}


def pair(payload: bytes | None, **known: Any) -> Pair:
    id = known.pop("id", wire.job_id(payload or b"").encode())
    item = known.pop("item", b'{"id":"%b"}' % id)
    return Pair(id=id, payload=payload, item=item, score=known.pop("score", float(NOW)), **known)


def payload(**changed: Any) -> bytes:
    extra = {name: value for name, value in changed.items() if name not in ("cron", "job", "args")}
    return wire.payload(
        cron=changed.get("cron", "* * * * 9 0 0"),
        job=changed.get("job", JOB),
        args=changed.get("args", [1]),
        extra=extra,
    )


def kinds(pair: Pair, *, dialect: str = "published") -> list[str]:
    return [fault.kind for fault in judge(pair, dialect=dialect, now_ms=NOW)]


# Recorded from the Clojure code.


def recorded_pairs(state: Mapping[str, Any]) -> Iterator[Pair]:
    jobs = {id.encode(): text.encode() for id, text in state["jobs"].items()}
    seen: set[bytes] = set()
    for text, score in state["next"]:
        id = item_id(text.encode()) or b""
        yield Pair(id=id, payload=jobs.get(id), item=text.encode(), score=float(score), is_second=id in seen)
        seen.add(id)
    for id in jobs.keys() - seen:
        yield Pair(id=id, payload=jobs[id], is_loose=True)


AFTER_LAST_STEP = {
    "push now, exact second": ["no-item"],
    "push duplicate": ["no-item", "no-item"],
    "duplicate by nil and empty args": [],
    "pop an empty queue": [],
    "fetch present": [],
    "push future": ["in-doubt"],
    "push that can never run again (past year)": ["no-item"],
    "push with an unreadable field": ["cron", "no-item"],
    "push of a published-order cron": ["other-dialect", "no-item"],
    "push with wrong field count": ["cron", "no-item"],
    "foreign job without queue item, then push": ["unreadable", "no-item"],
    "foreign member with 11 fields, not due": ["no-job", "rewritten"],
    "payload with extra fields": ["id", "spelling", "no-item"],
    "payload without args": ["id", "spelling", "no-item"],
    "payload without job": ["unreadable", "no-item"],
    "payload not JSON": ["unreadable", "no-item"],
}
AFTER_FIRST_STEP = {
    "push now, exact second": [],
    "push future": [],
    "fetch present": [],
    "foreign member with extra fields, due": ["no-job", "rewritten"],
    "foreign member with spaces and extra fields, not due": ["no-job", "rewritten"],
    "fractional score": ["no-job", "score"],
    "score given with an exponent": ["no-job"],
    "score so large it reads back with an exponent": ["no-job", "score-range"],
    "infinite score": ["no-job", "score"],
    "zero score": ["no-job"],
    "negative score": ["no-job", "score-range"],
    "member that is a bare id": ["item"],
    "member that is a JSON string": ["item"],
    "member without id": ["item"],
    "member with text after the object": ["no-job", "item-text"],
}


@every_row(
    ("name", "step", "verdict"),
    [*((n, -1, v) for n, v in AFTER_LAST_STEP.items()), *((n, 0, v) for n, v in AFTER_FIRST_STEP.items())],
)
def test_recorded_states_are_judged_rightly(name: str, step: int, verdict: list[str]) -> None:
    session = next(session for session in DUMPS if session["name"] == name)
    state = session["steps"][step]
    found = [
        fault.kind
        for pair in recorded_pairs(state["after"])
        for fault in judge(pair, dialect="cuckoo", now_ms=state["clock_ms"])
    ]
    assert found == verdict


@pytest.mark.parametrize("case", ITEMS, ids=lambda case: case["member_read"])
def test_a_put_back_is_foretold_as_recorded(case: dict[str, Any]) -> None:
    written = case.get("member_after_put_back")
    assert put_back(case["member_read"].encode()) == (None if written is None else written.encode())


@every_row("case", [*CRONS["hangs"], *CRONS["throws"]])
def test_what_hangs_or_fails_in_clojure_is_named(case: dict[str, Any]) -> None:
    assert {fault.kind for fault in judge_cron(case["cron"], "cuckoo")} & {
        "cron",
        "other-dialect",
        "endless",
        "lenient",
    }


def test_no_recorded_cron_that_works_in_clojure_is_a_deviation() -> None:
    for case in CRONS["cases"]:
        for fault in judge_cron(case["cron"], "cuckoo"):
            assert fault.kind in ("either-order", "lenient"), case


@every_row("case", IDS)
def test_what_the_clojure_code_wrote_has_its_id_and_nothing_broken(case: dict[str, Any]) -> None:
    data = case["cuckoo"]["payload"].encode()
    dialect = "published" if case["cron"][:4].isdigit() else "cuckoo"
    found = kinds(pair(data, id=case["cuckoo"]["id"].encode()), dialect=dialect)
    broken = [kind for kind in found if SEVERITY[kind] == "deviation"]
    assert broken == (["job"] if case["job"] == "" else [])
    if case["reproducible_from_args"]:
        assert "spelling" not in found


# Each rule.


@pytest.mark.parametrize(
    "changed",
    [
        {}, {"cron": "2026 11 20 * 10 20 30"}, {"cron": "2014 3 * 0/2,3 9-17 * */5"}, {"cron": "* * * 1-5 9 0 0"},
        {"cron": "* * * * * */5 0"}, {"cron": "* * * * * * *"}, {"args": []}, {"args": [2**53, -(2**53), 1e300]},
        {"args": ["a/é😀", {"a/b": [None, True]}]}, {"job": "#'app.mail/Class.method"},
        {"job": "(fn [x] (println \"(\" x \\[))"},
        {"job": "#(foo %) trailing ("}, {"job": "your-app.cache/clear"}, {"unknown": {"x": 1}},
    ],
    ids=str,
)  # fmt: skip
def test_what_stands_as_published_is_clean(changed: dict[str, Any]) -> None:
    assert kinds(pair(payload(**changed))) == []


@every_row(("changed", "found"), [
        ({"cron": "0 0 9 * * 1 2027"}, ["other-dialect"]),
        ({"cron": "0 0 9 * * ? *"}, ["other-dialect"]),
        ({"cron": "x"}, ["cron"]),
        ({"cron": "0 9 * * 1"}, ["cron"]),
        ({"cron": "* 2 30 * 9 0 0"}, ["never"]),
        ({"cron": "2026 2 30 * 9 0 0"}, ["never"]),
        ({"cron": "* * * * * * */5"}, ["either-order"]),
        ({"cron": "* * L * 9 0 0"}, ["extension"]),
        ({"cron": "* jan * * 9 0 0"}, ["extension"]),
        ({"job": "app.mail:poll"}, ["python-name"]),
        ({"job": "'app.mail/poll"}, ["quoted"]),
        ({"job": "(quote app.mail/poll)"}, ["quoted"]),
        ({"job": "#'app/1st"}, ["job"]),
        ({"job": "(var app/-1x)"}, ["job"]),
        ({"job": "'app/1st"}, ["job"]),
        ({"job": "#'app/it's"}, []),
        ({"job": "#'it's"}, ["unqualified"]),
        ({"job": "#'poll"}, ["unqualified"]),
        ({"job": "(var poll)"}, ["unqualified"]),
        ({"job": "poll"}, ["unqualified"]),
        ({"job": ""}, ["job"]),
        ({"job": "(fn [] (foo)"}, ["job"]),
        ({"job": "(fn [) 1]"}, ["job"]),
        ({"job": ")"}, ["job"]),
        ({"job": '(f "x)'}, ["job"]),
        ({"job": "; only a comment"}, ["job"]),
        ({"args": [[{"id": 2**53 + 1}]]}, ["integer"]),
        ({"args": [-(2**64), 5]}, ["integer"]),
        ({"kwargs": {"a": 1}}, ["own-fields"]),
        ({"opts": {"retries": 3}, "nonce": "x"}, ["own-fields"]),
        ({"local": ["* * * * 9 0 0"], "zone": "Europe/Paris"}, ["own-fields"]),
        ({"from": 5, "until": 10**15}, ["unclear"]),
        ({"from": 5, "until": 10**12}, ["own-fields"]),
        ({"local": ["* * * * 9 0 0"]}, ["unclear"]),
        ({"kwargs": [1]}, ["unclear"]),
        ({"opts": {"retries": "3"}}, ["unclear"]),
    ])  # fmt: skip
def test_a_job_is_judged(changed: dict[str, Any], found: list[str]) -> None:
    assert kinds(pair(payload(**changed))) == found


@pytest.mark.parametrize(
    ("data", "found", "said"),
    [
        (b"\xff", ["unreadable"], "can't decode"),
        (b"[]", ["unreadable"], "is not an object"),
        (b'{"args":{"a":1},"cron":"* * * * 9 0 0","job":"#\'app\\/f"}', ["unclear"], "args is {'a': 1}, not a list"),
        (b'{"args":[1],"cron":"* * * * 9 0 0","job":"#\'app\\/f"} x', ["unreadable"], "Extra data"),
        (b'{"args":[NaN],"cron":"* * * * 9 0 0","job":"#\'app\\/f"}', ["unreadable"], "NaN"),
        (b'{"args":[1e400],"cron":"* * * * 9 0 0","job":"#\'app\\/f"}', ["number"], "too large"),
        (b'{"args":[1e3],"cron":"* * * * 9 0 0","job":"#\'app\\/f"}', ["spelling"], "1e3 where Clojure writes 1000.0"),
        (b'{"args":[1],"cron":"* * * * 9 0 0","job":"#\'app/f"}', ["spelling"], '"#\'app/f" where Clojure writes'),
        (b'{"args": [1],"cron":"* * * * 9 0 0","job":"#\'app\\/f"}', ["spelling"], "blanks"),
        (b'{"cron":"* * * * 9 0 0","job":"#\'app\\/f"}', ["spelling"], "no list of args"),
        (b'{"cron":"* * * * 9 0 0","job":"#\'app\\/f","args":[]}', ["spelling"], "the order cron, job, args"),
    ],
)
def test_bytes_are_judged(data: bytes, found: list[str], said: str) -> None:
    faults = list(judge(pair(data), dialect="published", now_ms=NOW))
    assert [fault.kind for fault in faults] == found
    assert said in faults[0].what


@pytest.mark.parametrize(
    ("item", "found"),
    [
        (b'{"id": "%b"}', ["rewritten"]),
        (b'{"id":"%b","date":3}', ["rewritten"]),
        (b'{"id":"%b","ns/x":3}', ["rewritten"]),
        (b'{"id":"%b","x":1e3}', ["rewritten"]),
        (b'{"id":"%b","x":3}', []),
        (b'{"id":"%b","x":"\xff"}', ["item-text"]),
        (b'{"id":"%b"} x', ["item-text"]),
        (b'{"id":"%b","a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1}', ["rewritten"]),
        (b'{"id":"%b"', ["item"]),
        (b'{"ID":"%b"}', ["item"]),
    ],
)
def test_an_item_is_judged(item: bytes, found: list[str]) -> None:
    data = payload()
    assert kinds(pair(data, item=item % wire.job_id(data).encode())) == found


@pytest.mark.parametrize(
    ("score", "found"),
    [
        (0.0, []), (253_402_300_799_999.0, []), (253_402_300_800_000.0, ["score-range"]), (-1.0, ["score-range"]),
        (1e17, ["score-range"]), (0.5, ["score"]), (float("inf"), ["score"]), (float("-inf"), ["score"]),
    ],
)  # fmt: skip
def test_a_score_is_judged(score: float, found: list[str]) -> None:
    assert kinds(pair(payload(), score=score)) == found


def test_orphans_and_second_items() -> None:
    assert kinds(pair(None, id=b"ab" * 20)) == ["no-job"]
    assert kinds(pair(payload(), item=None, is_loose=True)) == ["no-item"]
    assert kinds(pair(payload(), item=None)) == []
    assert kinds(pair(payload(job="x:y"), item=b'{"id": "%b"}' % (b"ab" * 20), is_second=True)) == [
        "rewritten",
        "second-item",
    ]


@pytest.mark.parametrize(
    ("cron", "found"),
    [("2026 11 18 * 11 6 41", "no-item"), ("2026 11 18 * 11 6 40", "in-doubt"), ("2026 11 17 * 11 6 40", "no-item")],
)
def test_a_job_whose_last_time_is_just_over_may_be_in_a_peers_hands(cron: str, found: str) -> None:
    assert kinds(pair(payload(cron=cron), item=None, is_loose=True)) == [found]


def test_an_id_that_is_not_the_digest_is_told_with_the_right_one() -> None:
    data = payload()
    (fault,) = judge(pair(data, id=b"J"), dialect="published", now_ms=NOW)
    assert fault == Fault(ID, f"its id is not the SHA-1 of its payload, which is {wire.job_id(data)}")


def test_an_id_that_is_no_text_makes_a_job_unreadable() -> None:
    (fault,) = judge(pair(payload(), id=b"\xff", item=None), dialect="published", now_ms=NOW)
    assert (fault.kind, fault.repairs, fault.stops) == ("unreadable", True, True)
    assert kinds(pair(payload(), id="\ufffd".encode(), item=None)) == ["id"], "this character is text"


@pytest.mark.parametrize(
    ("cron", "found"),
    [
        ("0 0 9 * * 1 2027", []), ("0 0 9 * * ?", []), ("0 9 * * 1", []), ("2027 * * 1 9 0 0", ["other-dialect"]),
        ("0 0 0 * ? 3/2 *", ["cron"]), ("0 0 0 * ? 0/2,3 *", ["lenient"]), ("0 0 0 * ? MON#5 *", ["lenient"]),
        ("0 0 0 2 30 ? *", ["endless"]), ("*/5 * * * * * *", ["either-order"]), ("* * * * * * *", []),
        ("0 0 9 * 13 5 *", []),
    ],
)  # fmt: skip
def test_a_cron_of_the_clojure_order_is_judged(cron: str, found: list[str]) -> None:
    assert [fault.kind for fault in judge_cron(cron, "cuckoo")] == found


def test_every_rule_has_a_severity_and_a_reason() -> None:
    assert set(SEVERITY.values()) == set(SEVERITIES)
    assert all(kind.why.endswith((".", "?")) for kind in FAULTS)


# Whatever stands there.

SECONDS = ["2026 11 20 * 10 20 30", "2026 2 30 * 9 0 0", "1500 1 1 * 0 0 0", "2026 11 20 * 24 0 0", "0000 1 1 * 0 0 0"]
TEXTS = st.one_of(
    st.text(max_size=12), st.sampled_from(["* * * * 9 0 0", "0 0 9 * * 1 2027", *SECONDS, "app:f", JOB, "(f", "'a/b"])
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
NAMES = ["args", "cron", "job", "kwargs", "opts", "local", "zone", "from", "until", "nonce", "x"]
OBJECTS = st.dictionaries(st.sampled_from(NAMES), JSON).map(lambda value: json.dumps(value).encode())
PAYLOADS = st.one_of(st.binary(max_size=30), OBJECTS)


@given(
    PAYLOADS,
    st.one_of(st.none(), st.binary(max_size=30), OBJECTS),
    st.floats(),
    st.sampled_from(["published", "cuckoo"]),
)
def test_nothing_that_can_stand_there_is_too_odd(data: bytes, item: bytes | None, score: float, dialect: str) -> None:
    some = Pair(id=b"x", payload=data, item=item, score=score, is_loose=item is None)
    for fault in judge(some, dialect=dialect, now_ms=NOW):
        assert fault.what
        assert fault.severity in SEVERITIES


@given(PAYLOADS, st.sampled_from(["published", "cuckoo"]))
def test_a_job_is_stopped_exactly_where_our_own_listeners_cannot_read_it(data: bytes, dialect: str) -> None:
    stops, repairs = stopping(pair(data), dialect=dialect)
    try:
        Codec("t", dialect).decode("x", data)
    except OtherDialect:
        assert stops[:1] == ["other-dialect"]
        assert not repairs
    except CorruptRecord:
        assert stops
        assert set(stops) <= {"unreadable", "unclear", "cron"}
        assert bool(repairs) == (wire.job_of(data) is None), "a repair buries only what names no function"
    else:
        assert not stops
        assert not repairs


def stopping(pair: Pair, *, dialect: str) -> tuple[list[str], list[str]]:
    """The kinds of the faults of a job that stop it, by the thorough look and by the quick one alike; which repair."""
    for thorough in (True, False):
        faults = [f for f in judge(pair, dialect=dialect, now_ms=NOW, thorough=thorough) if f.stops]
        stops, repairs = [f.kind for f in faults], [f.kind for f in faults if f.repairs]
        if thorough:
            expected = stops, repairs
    assert (stops, repairs) == expected
    return expected


def test_judging_a_job_text_never_depends_on_what_was_judged_before() -> None:
    assert judge_job("app:f") == judge_job("app:f") != judge_job(JOB) == ()
