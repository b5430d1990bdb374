"""From what a verb was given to the job that goes to a broker: what each option makes of it, and what is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest

from tests import handlers
from workkit import schedule
from workkit.brokers.native.codec import Codec
from workkit.contract.producer import NewJob
from workkit.errors import Invalid, InvalidOptions
from workkit.jobs.names import clojure
from workkit.jobs.run_options import UNSAID
from workkit.jobs.terms import PLAIN, USUAL, Entrance, Terms, spread_offset_ms
from workkit.triggers.when import When
from workkit.verbs.addition import _found, _read, addition

NOW = round(datetime(2026, 11, 21, 12, 0, 20, 500_000, tzinfo=UTC).timestamp() * 1000)
HOUR = 3_600_000
NOWHERE = schedule.create("nowhere", redis="redis://127.0.0.1:1/")


def row(**said: Any) -> NewJob:
    return addition({"fn": "app:f", **said}, s=NOWHERE, now_ms=lambda: NOW)


@pytest.mark.parametrize("when", [{"at": "now"}, {"every": "minute"}, {"in_": "1h", "tz": "Europe/Paris"}], ids=str)
def test_a_plain_row_asks_for_nothing(when: dict[str, Any]) -> None:
    new = row(**when)
    assert new.options is UNSAID
    assert new.terms is PLAIN
    assert new.entrance is USUAL


def test_terms_and_entrance_go_with_the_job() -> None:
    new = row(every="minute", name="n", unique_key="k", on_conflict="replace", overlap="skip", retries=2)
    assert new.terms == Terms(name="n", unique_key="k", overlap="skip")
    assert new.entrance == Entrance(replace=True)
    assert new.options.retries == 2


def test_a_window_goes_by_unique_key_else_by_function_and_arguments() -> None:
    content = sha1(b'{"args":["a\\/b"],"cron":"","job":"","kwargs":{"n":1}}').hexdigest()
    assert row(at="now", throttle="1m", unique_key="k").entrance.window_key == "k"
    assert row(at="now", throttle="1m", args=["a/b"], kwargs={"n": 1}).entrance.window_key == f"#'app/f {content}"
    assert (
        row(at="now", debounce="1m", args=[1]).entrance.window_key != row(at="now", debounce="1m").entrance.window_key
    )
    assert row(at="now", unique_key="k").entrance.window_key is None


def test_debounce_puts_off_what_would_run_now() -> None:
    new = row(at="now", debounce="30s")
    assert (new.queued, new.due_ms) == (False, NOW + 30_000)
    assert new.trigger is not None
    assert new.trigger.cron == "2026 11 21 * 12 0 50"


def test_spread_puts_off_every_run() -> None:
    new = row(every="hour", name="nightly", spread="1h")
    offset = spread_offset_ms(new.terms, new.fn, new.args)
    assert offset > 0
    assert new.due_ms is not None
    assert (new.due_ms - offset) % HOUR == 0
    assert NOW <= new.due_ms < NOW + HOUR


def test_bounds_are_stored_with_the_time() -> None:
    new = row(every="day at 9am", start="2027-01-01", end=datetime(2027, 2, 1, tzinfo=UTC), tz="Europe/Paris")
    assert new.trigger is not None
    fields = new.trigger.fields()
    assert fields["from"] == round(datetime(2026, 12, 31, 23, tzinfo=UTC).timestamp() * 1000)
    assert fields["until"] == round(datetime(2027, 2, 1, tzinfo=UTC).timestamp() * 1000)
    assert new.due_ms == round(datetime(2027, 1, 1, 8, tzinfo=UTC).timestamp() * 1000)


ONCE = " with a job that runs once: only one that recurs can have it. Give every=."
REFUSED: list[tuple[dict[str, Any], str]] = [
    *(({"at": "2030-01-01", name: value}, f"{name}={ONCE}") for name, value in (
        ("overlap", "skip"), ("overlap", "allow"), ("catch_up", "all"), ("catch_up_within", "1h"), ("count", 3),
        ("spread", "1h"), ("start", "tomorrow"), ("end", "tomorrow"),
    )),
    ({"in_": "1h", "count": 3}, f"count={ONCE}"),
    ({"at": "now", "count": 3, "end": "tomorrow"},
     "end= and count= with a job that runs now: only one that recurs can have them. Give every=."),
    ({"every": "minute", "debounce": "1m"},
     'debounce= with a time: the window says when it runs. Write at="now", or use schedule.add_now.'),
    ({"at": "2030-01-01", "debounce": "1m"},
     'debounce= with a time: the window says when it runs. Write at="now", or use schedule.add_now.'),
]  # fmt: skip


@pytest.mark.parametrize(("said", "message"), REFUSED, ids=[str(said) for said, _ in REFUSED])
def test_what_does_not_go_with_the_time_is_refused(said: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOptions) as caught:
        row(**said)
    assert str(caught.value) == message


def test_add_now_refuses_before_it_asks_a_server() -> None:
    for verb in (schedule.add_now, lambda *given, **said: schedule.add(*given, at="now", **said)):
        with pytest.raises(InvalidOptions, match=r"^count= with a job that runs now"):
            verb(NOWHERE, handlers.note, count=2)
        with pytest.raises(InvalidOptions, match=r"^limit= belongs to @job\. Give limit=2 there\.$"):
            verb(NOWHERE, handlers.note, limit=2)  # type: ignore[call-arg]


BASE = b'"args":[],"cron":"* * * * * * 0","job":"#\'app\\/f"'


@pytest.mark.parametrize(
    ("said", "payload", "second"),
    [
        ({}, b"{" + BASE + b"}", b""),
        ({"overlap": "allow", "priority": 0}, b"{" + BASE + b"}", b""),
        ({"unique": False}, b"{" + BASE + b"}", b"{" + BASE + b',"nonce":"N"}'),
        ({"name": "n", "retries": 2, "catch_up_within": "1h", "backoff": "linear"},
         b"{" + BASE + b',"opts":{"backoff":"linear","catch_up_within_ms":3600000,"name":"n","retries":2}}', b""),
        ({"unique_key": "k"}, b"{" + BASE + b',"opts":{"unique_key":"k"}}',
         b"{" + BASE[:-len(b'"job":"#\'app\\/f"')] + b'"job":"#\'app\\/f","nonce":"N","opts":{"unique_key":"k"}}'),
        ({"throttle": "1m"}, b"{" + BASE + b"}", b""),
        ({"crashes": 0}, b"{" + BASE + b',"opts":{"crashes":0}}', b""),
        ({"meta": {"user": "\xe9", "request": "9f2c"}},
         b"{" + BASE + b',"meta":{"request":"9f2c","user":"\\u00e9"}}', b""),
        ({"meta": {}}, b"{" + BASE + b"}", b""),
    ],
    ids=str,
)  # fmt: skip
def test_payload_bytes(said: dict[str, Any], payload: bytes, second: bytes) -> None:
    stored = Codec("s").encode(row(every="minute", **said), now_ms=NOW, nonce="N")
    assert (stored.payload, stored.second) == (payload, second)
    assert bool(stored.second_id) == bool(second)


def test_debounce_is_stored_with_the_second_of_its_addition_a_nonce_and_no_terms() -> None:
    """The server may end the window earlier, and a foreign peer runs a job again at a later second of its cron."""
    stored = Codec("s").encode(row(at="now", debounce="30s"), now_ms=NOW, nonce="N")
    assert stored.second == b'{"args":[],"cron":"2026 11 21 * 12 0 20","job":"#\'app\\/f","nonce":"N"}'


def test_a_stored_job_says_what_it_asked_for() -> None:
    codec = Codec("s")
    stored = codec.encode(row(every="minute", name="n", count=3, retries=1), now_ms=NOW, nonce="N")
    job = codec.decode(stored.id, stored.payload)
    assert (job.name, job.terms, job.options.retries) == ("n", Terms(name="n", count=3), 1)
    for said in ({}, {"retries": 1}, {"name": "n"}):
        stored = codec.encode(row(every="minute", **said), now_ms=NOW, nonce="N")
        job = codec.decode(stored.id, stored.payload)
        assert (job.terms is PLAIN) == ("name" not in said)
        assert (job.options is UNSAID) == ("retries" not in said)


def test_the_same_row_with_words_remembered_is_bounded_by_its_own_options() -> None:
    plain, bounded = row(every="minute"), row(every="minute", start="2030-01-01")
    assert plain.trigger is not None
    assert plain.trigger.start is None
    assert bounded.due_ms == round(datetime(2030, 1, 1, tzinfo=UTC).timestamp() * 1000)
    assert row(every=timedelta(minutes=1)).due_ms == plain.due_ms


LATER = [
    ({"in_": "2 seconds"}, 2_000, "2026 11 21 * 12 0 23"),
    ({"in_": "in 2 seconds"}, 2_000, "2026 11 21 * 12 0 23"),
    ({"in_": timedelta(seconds=2)}, 2_000, "2026 11 21 * 12 0 23"),
    ({"when": "in 2 seconds"}, 2_000, "2026 11 21 * 12 0 23"),
    ({"at": "2 seconds from now"}, 2_000, "2026 11 21 * 12 0 23"),
    ({"in_": "1.5 seconds"}, 1_500, "2026 11 21 * 12 0 22"),
    ({"in_": timedelta(milliseconds=20)}, 20, "2026 11 21 * 12 0 21"),
    ({"in_": timedelta(microseconds=20)}, 1, "2026 11 21 * 12 0 21"),
    ({"in_": "5 minutes"}, 300_000, "2026 11 21 * 12 5 21"),
    ({"in_": "2 days"}, 2 * 24 * HOUR, "2026 11 23 * 12 0 21"),
]


@pytest.mark.parametrize(("when", "after", "cron"), LATER, ids=str)
def test_a_length_is_due_to_the_millisecond_and_stored_as_the_second_it_ends_in(
    when: dict[str, Any], after: int, cron: str
) -> None:
    new = row(**when)
    assert new.trigger is not None
    assert (new.due_ms, new.trigger.cron) == (NOW + after, cron)


@pytest.mark.parametrize("when", [{"at": "12:05"}, {"at": "tomorrow"}, {"when": "in 3 days at 9am"}], ids=str)
def test_what_names_a_time_of_day_is_due_at_a_whole_second(when: dict[str, Any]) -> None:
    due = row(**when).due_ms
    assert due is not None
    assert due % 1_000 == 0


@pytest.mark.parametrize("fn", ["#'your-app.cache/clear", "#'app/f", clojure("(fn [] 1)")])
def test_a_length_for_clojure_is_due_no_earlier_than_its_cron(fn: str) -> None:
    new = row(fn=fn, in_="2 seconds")  # that peer would run it again at a second that is yet to come
    assert new.trigger is not None
    assert (new.due_ms, new.trigger.cron) == (NOW + 2_500, "2026 11 21 * 12 0 23")


def test_the_same_length_within_a_second_has_one_plain_payload_and_a_variant_for_each_addition() -> None:
    codec = Codec("s")
    stored = [
        codec.encode(
            addition({"fn": "app:f", "in_": "2 seconds"}, s=NOWHERE, now_ms=lambda at=at: at),  # type: ignore[misc]
            now_ms=NOW,
            nonce=f"n{at}",
        )
        for at in (NOW - 499, NOW, NOW + 499)
    ]
    plain = {"args": [], "cron": "2026 11 21 * 12 0 23", "job": "#'app/f"}
    assert [json.loads(one.payload) for one in stored] == [plain] * 3
    assert len({one.id for one in stored}) == 1
    assert [json.loads(one.second)["nonce"] for one in stored] == [f"n{NOW - 499}", f"n{NOW}", f"n{NOW + 499}"]
    assert len({one.second_id for one in stored}) == 3


VECTORS = Path(__file__).parent.parent / "spec" / "vectors" / "additions.json"
OF_ITS_OWN = [(case["add"], case["own"]) for case in json.loads(VECTORS.read_text())["cases"]]


@pytest.mark.parametrize(("said", "is_own"), [*OF_ITS_OWN, ({"in_": timedelta(minutes=5)}, True)], ids=str)
def test_a_length_from_now_makes_each_addition_a_run_of_its_own(said: dict[str, Any], is_own: bool) -> None:
    stored = Codec("s").encode(row(**said), now_ms=NOW, nonce="n")
    assert bool(stored.second_id) is is_own


@pytest.mark.parametrize(
    ("period", "words"),
    [
        (timedelta(days=1), "day at 9:30"),
        (timedelta(days=3), "3 days at 9:30"),
        (timedelta(weeks=2), "14 days at 9:30"),
        (timedelta(hours=36), "36 hours"),
        (timedelta(seconds=90), "90 seconds"),
    ],
    ids=str,
)
def test_days_of_a_timedelta_take_the_hour_of_their_start(period: timedelta, words: str) -> None:
    said = {"start": "2026-11-23 9:30am", "tz": "Europe/Paris"}
    new = row(every=period, **said)
    assert new.trigger is not None
    assert new.trigger == row(every=words, **said).trigger
    assert new.due_ms == round(datetime(2026, 11, 23, 8, 30, tzinfo=UTC).timestamp() * 1000)


def test_an_instant_up_to_a_day_past_is_taken_where_late_says_so() -> None:
    past = datetime.fromtimestamp(NOW / 1000, UTC).replace(microsecond=0) - timedelta(hours=23)
    for given in ({"at": past}, {"at": past.isoformat()}, {"when": f"{past:%Y-%m-%d %H:%M:%S}"}):
        new = row(**given, name="part-1", late="run")
        assert new.due_ms == past.timestamp() * 1000
        assert new.trigger == row(at=past, late="run").trigger, "the same payload whenever it is added"
        with pytest.raises(Invalid):
            row(**given, name="part-1")
        with pytest.raises(Invalid):
            row(**given, late="refuse")
    coming = past + timedelta(days=2)
    assert row(at=coming, late="run").due_ms == row(at=coming).due_ms
    assert row(at="now", late="run").due_ms is None


@pytest.mark.parametrize(
    "given",
    [
        {"at": datetime.fromtimestamp(NOW / 1000, UTC) - timedelta(hours=25)},
        {"at": "2026-11-20 11:00 UTC"},
        {"at": "today at 9am"},
        {"in_": "5 minutes"},
        {"every": "minute"},
        {"when": "every minute"},
        {"when": "* * * * * 0 0"},
    ],
    ids=str,
)
def test_late_is_refused_where_no_instant_of_the_last_day_is_named(given: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        row(**given, late="run")


LENGTHS = ("5 minutes", "90s", "1h30m", "PT5M", "two hours", "in half an hour", "5 minutes from now", "now")


@pytest.mark.parametrize("kind", ["when", "at", "in_", "every"])
def test_a_time_that_was_read_before_is_what_it_would_be_if_it_was_read_again(kind: str) -> None:
    texts = {
        item["text"]
        for item in json.loads((Path(__file__).parents[1] / "spec/vectors/times.json").read_text())["items"]
    }
    for place, text in enumerate(sorted(texts.union(LENGTHS))):
        when = When(**{kind: text}, default_tz="Europe/Paris")
        for ms in (0, 1, 500, 999):
            now_ms = 1_795_262_400_000 + 7_919_000 * place + ms
            anew, before = _outcome(_read, when, now_ms), _outcome(_found, when, now_ms)
            assert before == anew, (kind, text, now_ms)


def _outcome(read: Any, when: When, now_ms: int) -> Any:
    try:
        trigger, due_ms = read(when, now_ms)
    except Invalid as error:
        return type(error)
    return trigger, trigger.exact, due_ms
