"""The five time fields of a crontab, read as Vixie's cron does, from which those of Debian, Red Hat and the BSDs come.
What these read otherwise from each other is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from workkit.moving.refusal import NotCarried
from workkit.triggers.clock.lowering import field_text
from workkit.triggers.crons.field import DAY, HOUR, MINUTE, MONTH, WEEKDAY, Spec

NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_SPECS = (MINUTE, HOUR, DAY, MONTH, WEEKDAY)
_ITEM = re.compile(r"(\*|\w+)(?:-(\w+))?(?:/([0-9]+))?", re.ASCII)
_NAME_LENGTH = 3
SUNDAY_AGAIN = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class CronFields:
    """When a line of a crontab fires. `rule` has seven fields (spec/cron.md, 3). `is_wild`: the minute or the hour
    begins with a star, so that cron goes by the clock as it is shown, and not by times of the day.
    """

    text: str
    rule: str
    is_wild: bool


def read_fields(fields: list[str]) -> CronFields:
    """Read minute, hour, day of the month, month and day of the week. Raises NotCarried."""
    minute, hour, day, month, weekday = (
        _values(text, spec, place) for place, (text, spec) in enumerate(zip(fields, _SPECS, strict=True), 1)
    )
    weekday = {number % SUNDAY_AGAIN for number in weekday}
    # Either day is enough, unless one of the fields begins with a star: "*/2" counts as a star there.
    both = fields[2].startswith("*") or fields[4].startswith("*")
    days, weekdays = (_day_text(numbers, spec, both=both) for numbers, spec in ((day, DAY), (weekday, WEEKDAY)))
    sign = "&" if both and days != "*" and weekdays != "*" else ""
    clock = f"{field_text(hour, HOUR)} {field_text(minute, MINUTE)} 0"
    return CronFields(
        text=" ".join(fields),
        rule=f"* {field_text(month, MONTH)} {sign}{days} {weekdays} {clock}",
        is_wild=fields[0].startswith("*") or fields[1].startswith("*"),
    )


def _day_text(numbers: set[int], spec: Spec, *, both: bool) -> str:
    """Write a day field. Where either is enough, one that names all days is a range: a star would not count as set."""
    text = field_text(numbers, spec)
    return f"{spec.low}-{spec.high}" if text == "*" and not both else text


def _values(text: str, spec: Spec, place: int) -> set[int]:
    where = f'"{text}" (field {place}, {spec.name})'
    if "~" in text:
        raise NotCarried(f"{where} is a random time, which cron chooses anew at each start.", 'Use spread = "1h".')
    found: set[int] = set()
    for item in text.split(","):
        match = _ITEM.fullmatch(item)
        if match is None or (match[1] == "*" and match[2]):
            raise NotCarried(f"{where} is not understood: cron has values, ranges, steps and lists.")
        first, last, step = match.groups()
        high = SUNDAY_AGAIN if spec is WEEKDAY else spec.high
        if first == "*":
            low = spec.low
        else:
            low = _value(first, spec, where)
            if last is None and step is not None:
                raise NotCarried(
                    f"{where} has a step after one value: some crons read {first}, others {first}-{high}/{step}.",
                    f"Write {first}, or {first}-{high}/{step}.",
                )
            high = low if last is None else _value(last, spec, where)
        if low > high:
            raise NotCarried(f"{where} runs backwards, which cron does not read.", "Write two ranges.")
        if step is not None and low == high:
            raise NotCarried(f"{where} has a step in a range of one value, which crons read in different ways.")
        if step is not None and not int(step[:9]):
            raise NotCarried(f"{where} has a step of zero.")
        found.update(range(low, high + 1, int(step[:9]) if step else 1))
    return found


def _value(text: str, spec: Spec, where: str) -> int:
    high = SUNDAY_AGAIN if spec is WEEKDAY else spec.high
    if text.isdigit() and len(text) <= 4 and spec.low <= int(text) <= high:
        return int(text)
    if len(text) == _NAME_LENGTH and text.lower() in spec.names:
        return spec.names[text.lower()]
    names = f", or {' '.join(name for name in spec.names if len(name) == _NAME_LENGTH)}" if spec.names else ""
    raise NotCarried(f"{where}: {text} is none of {spec.low}-{high}{names}.")
