"""Hold the phrases of a family against `workkit.triggers.parse`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from zoneinfo import ZoneInfo

from tests.triggers.oracle import days, hours, mixed, spans
from tests.triggers.oracle.evaluator import RUNS, Unclear
from tests.triggers.oracle.phrases import Phrase
from workkit.errors import PhraseError
from workkit.triggers import parse

FAMILIES: dict[str, Callable[[], Iterator[Phrase]]] = {
    family.__name__: family
    for family in (
        hours.every_part,
        hours.parts_of_weekdays,
        hours.parts_of_one_day,
        hours.several_hours,
        hours.parts_beside_the_rest,
        hours.orders_of_parts,
        hours.spoken_hours,
        days.weekdays_of_months,
        days.weekdays_of_every_month,
        days.every_nth_weekday,
        days.days_of_the_week,
        days.exceptions,
        days.dates,
        days.relative_days,
        spans.lengths,
        spans.intervals,
        spans.windows,
        spans.phases,
        spans.bounds,
        mixed.mixtures,
        mixed.groups,
        mixed.parts_of_dates,
        mixed.each_word_in_its_place,
    )
}
SCENES = [  # now, and the zone
    ("2026-11-18T10:15:30Z", "UTC"),
    ("2027-01-31T09:00:00Z", "Europe/Paris"),
    ("2026-12-31T13:30:00Z", "UTC"),
    ("2027-06-30T15:45:10Z", "America/New_York"),
    ("2028-02-29T06:10:00Z", "Asia/Kolkata"),
]


@dataclass
class Judged:
    """What became of the phrases of one family; a text names the phrase, the answer and what is right."""

    read: int = 0  # rightly, of those that must be read
    also_read: int = 0  # rightly, of those that may be refused
    wrong: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)  # must be read
    may_be_refused: list[str] = field(default_factory=list)
    rightly_refused: int = 0


@cache
def written(family: str) -> list[Phrase]:
    """Give the phrases of a family as it writes them, some more than once."""
    return list(FAMILIES[family]())


def _other_spellings() -> Iterator[Phrase]:
    return mixed.other_spellings(phrase for family in list(FAMILIES)[:-1] for phrase in phrases(family))


FAMILIES["other_spellings"] = _other_spellings


def phrases(family: str) -> list[Phrase]:
    """Give the phrases of a family, each once. The first one counts."""
    return list({phrase.text: phrase for phrase in reversed(written(family))}.values())[::-1]


@cache
def right(phrase: Phrase, scene: int = 0) -> list[datetime] | None:
    """Give the instants that are right in a scene, none for a refusal; None where the specification leaves it open."""
    moment, tz = SCENES[scene]
    try:
        return [] if phrase.reading is None else phrase.reading.instants(datetime.fromisoformat(moment), ZoneInfo(tz))
    except Unclear:
        return None


def judged(family: str) -> Judged:
    """Read each phrase of a family in UTC, and one in six also in another zone or at another time."""
    result = Judged()
    for number, phrase in enumerate(phrases(family)):
        _judge(phrase, 0, result)
        if number % 6 == 0:
            _judge(phrase, 1 + number // 6 % (len(SCENES) - 1), result)
    return result


def _judge(phrase: Phrase, scene: int, result: Judged) -> None:
    expected = right(phrase, scene)
    if expected is None:
        return
    moment, tz = SCENES[scene]
    now = datetime.fromisoformat(moment)
    named = f"{phrase.text!r} [{moment}, {tz}]" if scene else repr(phrase.text)
    try:
        answer = parse(phrase.text, now=now, tz=tz).upcoming(now, RUNS)
    except PhraseError as error:
        if not expected:
            result.rightly_refused += 1
        elif phrase.sure:
            result.refused.append(f"{named}: {error}")
        else:
            result.may_be_refused.append(f"{named}: {error}")
        return
    if expected and answer == expected:
        result.read += phrase.sure
        result.also_read += not phrase.sure
    else:
        result.wrong.append(f"{named}: expected {_shown(expected)}, got {_shown(answer)}")


def _shown(instants: list[datetime]) -> str:
    return ", ".join(f"{at:%a %Y-%m-%d %H:%M:%S}" for at in instants) or "a refusal"


def main(names: list[str]) -> int:
    """Print the answers of the families; 1 if one is wrong."""
    wrong = 0
    for family in names or FAMILIES:
        result = judged(family)
        wrong += len(result.wrong)
        print(f"\n== {family}: {len(phrases(family))} phrases; {len(result.wrong)} wrong, {result.read} read,", end=" ")
        print(f"{len(result.refused)} refused that must be read; of the others {result.also_read} read,", end=" ")
        print(f"{len(result.may_be_refused)} refused; {result.rightly_refused} rightly refused")
        for label, texts in (("wrong", result.wrong), ("refused", result.refused)):
            for text in texts:
                print(f"  {label}: {text}")
    return int(wrong > 0)
