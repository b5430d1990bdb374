"""The Clojure code's dialect: against what was recorded from that code, and from our own triggers to it and back."""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.triggers.crons import crons
from workkit.errors import CronError
from workkit.triggers import Trigger, cron
from workkit.triggers.cuckoo import clojure_order, cuckoo
from workkit.triggers.dialect import from_fields
from workkit.triggers.trigger import once, published
from workkit.triggers.when import When, read_when

VECTORS = Path(__file__).parents[2] / "spec" / "vectors" / "clojure" / "cuckoo_cron_next.json"
END_OF_STARS = int(datetime(2100, 1, 1, tzinfo=UTC).timestamp() * 1000)


@cache
def vectors() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(VECTORS.read_text(encoding="utf-8"))
    return loaded


def at_or_after(text: str, ms: int) -> int | None:
    """Ask as the Clojure code answers: a start cut to the second, and that second counts."""
    return cuckoo(text).next_after_ms(ms // 1000 * 1000 - 1000)


def test_next_gives_what_the_clojure_code_gave() -> None:
    cases = vectors()["cases"]
    wrong = [case for case in cases if at_or_after(case["cron"], case["from"]) != case["next"]]
    assert not wrong
    assert len(cases) >= 917


def test_texts_that_hang_the_clojure_code_are_refused_or_never_fire() -> None:
    for case in vectors()["hangs"]:
        with suppress(CronError):
            assert at_or_after(case["cron"], case["from"]) is None


def test_texts_that_make_the_clojure_code_fail_are_refused_except_fifth_weekdays() -> None:
    """A fifth weekday fails there only in months that have four: here it is looked for in the next month."""
    for case in vectors()["throws"]:
        text = case["cron"]
        if not text.split(" ")[5:6] or not text.split(" ")[5].endswith("#5"):
            with pytest.raises(CronError):
                cuckoo(text)
            continue
        assert any("only four such days" in warning for warning in cuckoo(text).warnings)
        found = at_or_after(text, case["from"])
        assert found is not None
        day = datetime.fromtimestamp(found / 1000, UTC)
        assert day.day > 28
        assert day.strftime("%w") == text.split(" ")[5][0] or day.strftime("%a").upper() == text.split(" ")[5][:3]


@pytest.mark.parametrize(
    ("text", "rule", "warned"),
    [
        ("0 9 3 15 ?", "1970-2099 3 15 * 9 0 0", 0),
        ("0 0 9 * * MON-FRI", "1970-2099 * * 1-5 9 0 0", 0),
        ("0 0 9 3 15 ? 2027", "2027 3 15 * 9 0 0", 0),
        ("*/5 * * * * * */4", "1970-2098/4 * * * * * */5", 0),
        ("0 0 0 * ? 7 *", "1970-2099 * * 0 0 0 0", 0),
        ("0 0 0 * ? 5-8 *", "1970-2099 * * 0,1,5,6 0 0 0", 0),
        ("0 0 0 * ? -2 *", "1970-2099 * * 5 0 0 0", 0),
        ("0 0 0 * ? *L *", "1970-2099 * * =0-6L 0 0 0", 0),
        ("0 0 0 * ? 1,5L *", "1970-2099 * * =1,5L 0 0 0", 0),
        ("0 0 0 * ? 5,FRI#3 *", "1970-2099 * * 5#3 0 0 0", 0),
        ("0 0 0 * L ? *", "1970-2099 * L * 0 0 0", 0),
        ("0 0 0 * 0-L/10 ? *", "1970-2099 * 10-30/10 * 0 0 0", 0),
        ("0 0 0 * 32 MON *", "1970-2099 * * 1 0 0 0", 0),
        ("0 0 0 * 15 nonsense *", "1970-2099 * 15 * 0 0 0", 0),
        ("0 0 0 JAN1 1 ? *", "1970-2099 11 1 * 0 0 0", 0),
        ("50-70,+5 0 0 * * ? *", "1970-2099 * * * 0 0 50-59,5", 0),
        ("0/2,3 0 0 * * ? *", "1970-2099 * * * 0 0 3", 1),
        ("60,9-5,7 0 0 * * ? *", "1970-2099 * * * 0 0 7", 2),
        ("0 0 0 * ? MON#1,FRI#2 *", "1970-2099 * * 5#2 0 0 0", 1),
        ("0 0 9 * 13 FRI *", "1970-2099 * 13 5 9 0 0", 1),
        ("* * * * * * 2150", "2150 * * * * * *", 0),
    ],
)
def test_texts_are_read_as_the_clojure_code_reads_them(text: str, rule: str, warned: int) -> None:
    read = cuckoo(text)
    assert read.rules == (rule,)
    assert read.cron == (None if "=" in rule else rule)
    assert len(read.warnings) == warned
    assert all(text in warning and warning.isprintable() for warning in read.warnings)


@pytest.mark.parametrize(
    ("text", "said", "position"),
    [
        ("0 0 24 * * *", "24 (field 3, hour) names nothing", 4),
        ("0 24 * * *", "24 (field 2, hour) names nothing", 2),
        ("2027 * * 1 9 0 0", "The order of the Clojure code is second minute hour", 0),
        ("0 0 0 * ? L *", "L (field 6, day-of-week) names no weekday", 10),
        ("0 0 0 * L-5 ? *", "has an L where it has no meaning", 8),
        ("0 0 0 * 1* ? *", "has a star beside something else", 8),
        ("0 0 0 * 1-9/0 ? *", "has a step of zero", 8),
        ("0 0 0 * 1-2147483648 ? *", "has a number out of range", 8),
        ("0 0 0 * ٣ ? *", "has an odd character at column 9", 8),
        (" 0 0 0 * * *", "begins with a blank", 0),
        ("0 0 0", "has 3 fields", 0),
    ],
)
def test_refusals_say_what_and_where(text: str, said: str, position: int) -> None:
    with pytest.raises(CronError) as caught:
        cuckoo(text)
    assert said in str(caught.value)
    assert "Accepted: " in str(caught.value)
    assert caught.value.given == text
    assert caught.value.position == position


@pytest.mark.parametrize("value", [None, 7, b"* * * * * * *"])
def test_a_value_that_is_no_text_is_refused(value: Any) -> None:
    with pytest.raises(CronError, match="is not text"):
        cuckoo(value)


def test_a_trigger_of_this_dialect_stores_its_text_as_it_was_typed() -> None:
    for text in ("0 0  9 * ? MON *\t", "0 9 * * MON", "0 0 0 * ? 1,5L *"):
        trigger = cron(text, "cuckoo")
        assert trigger.fields() == {"cron": text}
        assert from_fields(trigger.fields(), dialect="cuckoo") == trigger


def test_stored_fields_are_bounded_by_the_published_ones_beside_them() -> None:
    read = from_fields({"cron": "0 0 9 * * ?", "until": 1_000}, dialect="cuckoo")
    assert read.next_after_ms(0) is None


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("2026 11 22 * 19 0 0", "0 0 19 11 22 ? 2026"),
        ("* * * 1-5 9 0 0", "0 0 9 * ? 1-5 *"),
        ("* * * * * */5 0", "0 */5 * * * ? *"),
        ("* * 13 5 9 0 0", "0 0 9 * 13 5 *"),
        ("* * 1,l * 9/1 0 0", "0 0 9 * 1,L ? *"),
        ("2027-9999 1-3 * fril 0,12 00 0", "0 0 0,12 1-3 ? 5L 2027-9999"),
        ("* * ? mon#2 0 0 0", "0 0 0 * ? 1#2 *"),
        ("*/4 jan-jun/2 10-L ? 0 0 0", "0 0 0 1-6/2 10-31 ? */4"),
    ],
)
def test_triggers_are_stored_in_clojure_order(text: str, stored: str) -> None:
    assert clojure_order(published(text)).fields() == {"cron": stored}


@pytest.mark.parametrize(
    "trigger",
    [
        published("* * * 3/2 9 0 0"),
        published("* * * 5#5 9 0 0"),
        published("* * * 1#1,1#3 9 0 0"),
        published("* * * 1,5L 9 0 0"),
        Trigger(cron=None, tz="Europe/Paris", recurs=True, rules=("* * * * 9 0 0",)),
        Trigger(cron=None, recurs=True, rules=("* * * * 9 0 0", "* * * * 17 30 0")),
        Trigger(cron=None, recurs=True, rules=("* * &13 5 0 0 0",)),
        Trigger(cron="* * * * 9 0 0", recurs=True, rules=("* * * * 9 0 0",), end=datetime(2027, 1, 1, tzinfo=UTC)),
    ],
)
def test_triggers_that_the_clojure_code_cannot_express_are_refused(trigger: Trigger) -> None:
    with pytest.raises(CronError, match="Clojure code"):
        clojure_order(trigger)


@settings(deadline=None)
@given(crons(), st.integers(0, END_OF_STARS))
def test_triggers_stored_in_clojure_order_fire_at_the_same_times(text: str, ms: int) -> None:
    trigger = published(text)
    try:
        stored = clojure_order(trigger).fields()
    except CronError:
        assume(False)
    found = trigger.next_after_ms(ms)
    assume(found is None or found < END_OF_STARS)
    assert from_fields(stored, dialect="cuckoo").next_after_ms(ms) == found


def test_one_instant_is_stored_as_the_clojure_code_computes_it() -> None:
    moment = datetime(2026, 11, 22, 19, 30, 5, tzinfo=UTC)
    stored = clojure_order(once(moment)).fields()
    again = from_fields(stored, dialect="cuckoo")
    assert again.cron == "2026 11 22 * 19 30 5"
    assert not again.recurs
    assert again.upcoming(datetime(2026, 1, 1, tzinfo=UTC), 2) == [moment]


@settings(deadline=None, max_examples=300)
@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(st.text(alphabet="*/,-+0123459L#?SUNmonjan", max_size=7), min_size=5, max_size=7).map(" ".join),
    )
)
def test_any_text_is_read_or_refused_with_one_sentence(text: str) -> None:
    refusal = None
    try:
        found = cuckoo(text).next_after_ms(0)
        assert found is None or found < 253_402_300_800_000
    except CronError as error:
        refusal = error
    assert refusal is None or (str(refusal).isprintable() and refusal.given == text and len(str(refusal)) < 500)


@pytest.mark.parametrize(
    "text",
    [
        "1,x" * 3_000 + " * * * * *",
        "* * * * ? " + "L" * 5_000 + " *",
        "* * * * ? 1-2147483647/2 *",
        "1-2147483647/3 * * * * ? *",
        "1-2147483647/999999999 * * * * ? 0-2147483647/7",
        "* * * * * " + "sunmon" * 150 + " *",
        "9" * 900 + " * * * * * *",
    ],
)
def test_hostile_texts_cost_little(text: str) -> None:
    began = time.process_time()
    with suppress(CronError):
        cuckoo(text).next_after_ms(1_795_237_200_000)
    assert time.process_time() - began < 0.2


SAID = re.findall(
    r'^\| `every="(.+)"` \| `(.+)` \|$',
    (Path(__file__).parents[2] / "spec" / "cron.md").read_text(),
    re.MULTILINE,
)


@pytest.mark.parametrize(("words", "stored"), SAID)
def test_words_are_stored_in_clojure_order_as_the_page_says(words: str, stored: str) -> None:
    trigger = read_when(When(every=words, dialect="cuckoo"), now=datetime(2026, 11, 22, tzinfo=UTC))
    assert clojure_order(trigger).fields() == {"cron": stored}


def test_the_spec_page_has_the_words() -> None:
    assert len(SAID) == 3
