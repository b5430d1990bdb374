"""The engine against a slow reading of the same rules, and against croniter where both can say a string."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import get_args

from croniter import croniter
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tests.triggers import slow_cron
from workkit.errors import CronError
from workkit.triggers import cron
from workkit.triggers.crons.cron import Cron, parse_cron
from workkit.triggers.dialect import Dialect, from_fields

# Beyond this many days the slow reading gives up; the engine may then say what it likes, so long as it is later.
DAYS = 1_500
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
START = datetime(1970, 1, 1, tzinfo=UTC)

instants = st.integers(min_value=0, max_value=4_102_444_800)


def items(low: int, high: int, *, most: int, counted: bool = True) -> st.SearchStrategy[str]:
    """Draw one item: a value, a range, a step, or a v/n up to n = `most`."""
    value = st.integers(low, high)
    pair = st.tuples(value, value).map(sorted)
    forms = [
        value.map(str),
        pair.map(lambda ends: f"{ends[0]}-{ends[1]}"),
        st.integers(1, 20).map(lambda step: f"*/{step}"),
        st.tuples(pair, st.integers(1, 9)).map(lambda drawn: f"{drawn[0][0]}-{drawn[0][1]}/{drawn[1]}"),
    ]
    if counted:
        forms.append(st.tuples(value, st.integers(1, most)).map(lambda drawn: f"{drawn[0]}/{drawn[1]}"))
    return st.one_of(forms)


def fields(low: int, high: int, *, most: int, extra: tuple[str, ...] = ()) -> st.SearchStrategy[str]:
    """Draw a field: a star half of the time, else up to three items."""
    item = items(low, high, most=most)
    if extra:
        item = st.one_of(item, st.sampled_from(extra))
    return st.one_of(st.just("*"), st.lists(item, min_size=1, max_size=3).map(",".join))


OF_MONTH = tuple(f"{day}{suffix}" for day in range(7) for suffix in ("L", "#1", "#2", "#3", "#4", "#5"))
days = st.tuples(st.sampled_from(["", "&"]), fields(1, 31, most=6, extra=("L",))).map("".join)
years = st.sampled_from(["*", "*", "*", "*/3", "2030,2035-2040", "1999-2080/7"])
strings = st.tuples(
    years,
    fields(1, 12, most=4),
    days.map(lambda text: "*" if text == "&*" else text),
    fields(0, 6, most=9, extra=OF_MONTH),
    fields(0, 23, most=30),
    fields(0, 59, most=40),
    fields(0, 59, most=90),
).map(" ".join)


def read_rule(text: str) -> Cron:
    """Read a string that is in the grammar; leave out those that combine too many v/n."""
    try:
        return parse_cron(text, rule=True)
    except CronError as error:
        if "combines too many v/n" not in str(error):
            raise
    return reject()


def refusal(text: str, dialect: Dialect) -> CronError | None:
    """Read any text, and ask it for a time; give the error if it is refused."""
    try:
        cron(text, dialect).next_after(START)
    except CronError as error:
        return error
    return None


@settings(max_examples=300, deadline=None)
@given(strings, instants)
def test_next_is_the_first_that_a_slow_search_finds(text: str, after: int) -> None:
    read = read_rule(text)
    expected = slow_cron.next_second(text, after, days=DAYS)
    found = read.next(after)
    if expected is None:
        assert found is None or found >= after + (DAYS - 1) * slow_cron.DAY_SECONDS
    else:
        assert found == expected


@settings(max_examples=150, deadline=None)
@given(strings, instants)
def test_firings_increase_and_hold_from_anywhere_before_them(text: str, after: int) -> None:
    read = read_rule(text)
    found = [after]
    while len(found) < 6 and (later := read.next(found[-1])) is not None:
        found.append(later)
    assert found == sorted(set(found))
    for earlier, later in pairwise(found):
        assert read.next((earlier + later) // 2 if later - earlier > 1 else earlier) == later
        assert read.next(later - 1) == later


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=60), st.text(alphabet="0123456789*/-,#L?&=@ \t", max_size=60)))
def test_any_text_is_read_or_refused_with_a_cron_error(text: str) -> None:
    for dialect in DIALECTS:
        error = refusal(text, dialect)
        assert error is None or (str(error).isprintable() and error.given == text)


@settings(max_examples=150, deadline=None)
@given(strings)
def test_a_trigger_is_read_back_from_its_fields(text: str) -> None:
    text = read_rule(text.replace("&", "")).text
    trigger = cron(text)
    assert trigger.cron == text
    again = from_fields(trigger.fields())
    assert (again.cron, again.rules, again.recurs) == (trigger.cron, trigger.rules, trigger.recurs)


def crontab_fields() -> st.SearchStrategy[str]:
    """Draw what croniter and crontabs read alike: no range of one value, which croniter takes for the whole field."""

    def field(low: int, high: int) -> st.SearchStrategy[str]:
        value = st.integers(low, high)
        span = st.tuples(value, value).filter(lambda ends: ends[0] < ends[1]).map(lambda ends: f"{ends[0]}-{ends[1]}")
        item = st.one_of(value.map(str), span, st.integers(2, 9).map(lambda n: f"*/{n}"))
        return st.one_of(st.just("*"), st.lists(item, min_size=1, max_size=3).map(",".join))

    # One day field at most: croniter takes a full list beside the other for a star, decisions of ours do not.
    both = st.one_of(
        st.tuples(field(1, 28), st.just("*")),
        st.tuples(st.just("*"), field(0, 7)),
    )
    return st.tuples(field(0, 59), field(0, 23), both, field(1, 12)).map(
        lambda drawn: f"{drawn[0]} {drawn[1]} {drawn[2][0]} {drawn[3]} {drawn[2][1]}"
    )


@settings(max_examples=150, deadline=None)
@given(crontab_fields(), instants)
def test_crontab_lines_fire_when_croniter_says(text: str, after: int) -> None:
    moment = START + timedelta(seconds=after)
    oracle = croniter(text, moment)
    expected = [oracle.get_next(datetime) for _ in range(3)]
    assert cron(text, "standard").upcoming(moment, 3) == expected
