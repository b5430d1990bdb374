"""The time of an addition: which keyword says it, and the Trigger that it means. Pure: the present is passed in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from workkit.errors import InvalidOptions, PhraseError, TriggerError
from workkit.triggers import Trigger
from workkit.triggers.when import When, read_when
from workkit.verbs.add_options import TIMES

_ALIAS = re.compile(r"@[A-Za-z_-]+")
_CRON_FIELD = re.compile(
    r"(?i)(?:[\d*?/,#L-]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat)+"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What `when=` was given: words or a cron string, once or recurring. `tz` is the zone given in the call,
    `default_tz` the schedule's.
    """

    text: str
    tz: str | ZoneInfo | None = None
    default_tz: str = "UTC"
    dialect: str = "published"

    @property
    def zone(self) -> str:
        """The zone in which words are read."""
        return str(self.tz or self.default_tz)

    @property
    def is_now(self) -> bool:
        """Whether the text is "now"."""
        return self.text.strip().lower() == "now"


Moment = When | Words


def moment_of(given: Mapping[str, Any], *, default_tz: str, dialect: str) -> Moment:
    """Take the time from the keywords of `add`. Raises InvalidOptions for two times or none, TriggerError."""
    text, tz = given.get("when"), given.get("tz")
    if text is None:
        at, in_, every, cron = map(given.get, TIMES[1:])
        return When(at=at, in_=in_, every=every, cron=cron, tz=tz, default_tz=default_tz, dialect=dialect)
    names = [name for name in TIMES if given.get(name) is not None]
    if len(names) > 1:
        trouble = f"were {'both' if len(names) == 2 else 'all'} given; a job has one time"
        remedy = f"Keep one of {' '.join(f'{name}=' for name in TIMES)}, or add two jobs."
        subject = " and ".join(f"{name}=" for name in names)
        raise InvalidOptions.about(subject, trouble, remedy, where="when", given=text)
    if not isinstance(text, str):
        trouble = "is neither words nor a cron string"
        remedy = 'Write when="every weekday at 9am"; a datetime goes into at=, a timedelta into in_= or every=.'
        raise TriggerError.about(f"when={text!r}", trouble, remedy, where="when", given=text)
    return Words(text=text, tz=tz, default_tz=default_tz, dialect=dialect)


def read_moment(moment: Moment, *, now: datetime) -> Trigger:
    """Read a time. Raises InvalidOptions, PhraseError, CronError or TriggerError."""
    return read_when(moment, now=now) if isinstance(moment, When) else _when(moment, now=now)


def _when(words: Words, *, now: datetime) -> Trigger:
    """Read words or a cron string, once; the text itself says whether the time recurs."""
    if is_cron(words.text):
        cron = When(cron=words.text, tz=words.tz, default_tz=words.default_tz, dialect=words.dialect)
        return read_when(cron, now=now)
    from workkit.triggers import parse
    from workkit.triggers.clock.skipped import with_skipped

    trigger = parse(words.text, now=now, tz=words.zone)
    if trigger.next_after(now - timedelta(seconds=1)) is None:
        raise PhraseError(f'when="{words.text}": {trigger.why_never()}.', given=words.text, where="when")
    return trigger if trigger.cron is not None else with_skipped(trigger, after=now)


def is_cron(text: str) -> bool:
    """Tell whether a text is a cron string: an @alias, or nothing but cron fields, of whatever number."""
    words = text.split()
    return bool(_ALIAS.fullmatch(text.strip())) or (
        len(words) > 3 and all(_CRON_FIELD.fullmatch(word) for word in words)
    )
