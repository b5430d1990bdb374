"""A phrase with its answer, and the ways in which the families are written down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import permutations
from typing import NamedTuple

from tests.triggers.oracle.evaluator import HOUR, MINUTE, Calendar, Days, Reading


class Phrase(NamedTuple):
    """A phrase and what it means. `reading` None must be refused; one that is not `sure` may be refused as well."""

    text: str
    reading: Reading | None
    sure: bool = True


ONE_HOUR: Mapping[str, tuple[int, ...]] = {  # how an hour is written, and its second of the day
    "at 9am": (9 * HOUR,),
    "at 18:00": (18 * HOUR,),
    "at 7:30": (7 * HOUR + 30 * MINUTE,),
}
HOURS: Mapping[str, tuple[int, ...]] = {
    **ONE_HOUR,
    "at noon": (12 * HOUR,),
    "at 9am and 5:30pm": (9 * HOUR, 17 * HOUR + 30 * MINUTE),
}
NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def listed(table: str) -> Iterator[tuple[str, bool]]:
    """Give the texts of a table, and whether each must be read: a "?" in front says that it may be refused."""
    for text in table.replace("\n", " | ").strip(" |").split(" | "):
        yield text.strip().removeprefix("?").strip(), not text.strip().startswith("?")


def refused(table: str) -> Iterator[Phrase]:
    """Give the phrases of a table that must be refused."""
    for text, _ in listed(table):
        yield Phrase(text, None)


def ordered(reading: Reading | None, *parts: str, sure: int = 24) -> Iterator[Phrase]:
    """Give the clauses in every order. The first `sure` orders must be read, the others mean that or are refused."""
    for number, order in enumerate(permutations(parts)):
        yield Phrase(" ".join(order), reading, number < sure)


def hourly(
    days: Days, *texts: str, hours: Mapping[str, tuple[int, ...]] = HOURS, sure: bool = True
) -> Iterator[Phrase]:
    """Give each text of what recurs alone, for the beginning of the day, and with an hour behind or in front of it."""
    for text in texts:
        yield Phrase(text, Calendar(days, (0,)), sure)
        for at, seconds in hours.items():
            yield Phrase(f"{text} {at}", Calendar(days, seconds), sure)
            yield Phrase(f"{at} {text}", Calendar(days, seconds), sure)


def once(days: Days, *texts: str, sure: bool = True) -> Iterator[Phrase]:
    """Give each text of one time alone, at the beginning of the day, and with an hour behind it or in front of it."""
    for phrase in hourly(days, *texts, hours=ONE_HOUR, sure=sure):
        assert isinstance(phrase.reading, Calendar)
        yield phrase._replace(reading=replace(phrase.reading, once=True))
