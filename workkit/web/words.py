"""Words and addresses that pages share: names in paths, sentences with links, pauses, due times, clock changes.

Pure. How values read: `workkit.text.glance`. How names are spelled in addresses: spec/web.md, 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode

from workkit.contract.inspector import LimitUse
from workkit.jobs.admission import SCHEDULE, Control, Pause
from workkit.jobs.job import Job
from workkit.jobs.run_options import RunOptions
from workkit.text.glance import away, clock_at, moment
from workkit.text.wording import MILLISECOND, MONTH_NAMES, duration_text, listed, plural, time_text, weekday_name
from workkit.triggers import Trigger
from workkit.triggers.when import AHEAD, touched
from workkit.triggers.zone import ClockChange, clock_changes

JSON: Final = ".json"
_SPELLED: Final = re.compile(r"[/~%?#\s\x00-\x1f\x7f-\x9f]")
_READ: Final = re.compile(r"((?:~[0-9a-f]{2})+)")
_QUOTED: Final = re.compile(r"[^A-Za-z0-9/~%:@!$&'()*+,;=\-._?]+")


def spelled(name: str) -> str:
    """Write a name as one piece of a path that no proxy decodes and that has no suffix.

    ``/ ~ % ? #``, blanks, controls, and the dot of a final ``.json`` become ``~`` and two hex digits for each byte. A
    name of dots only is spelled whole, because browsers read it as a way up. Non-ASCII characters get the usual
    encoding of URLs.
    """
    text = _SPELLED.sub(_hex, name)
    if text.endswith(JSON):
        text = f"{text[: -len(JSON)]}~2ejson"
    return text.replace(".", "~2e") if set(text) == {"."} else text


def read_spelled(piece: str) -> str:
    """Read a piece of a path that `spelled` wrote. Other texts are returned unchanged."""

    def decoded(found: re.Match[str]) -> str:
        return bytes.fromhex(found[1].replace("~", "")).decode("utf-8", "replace")

    return _READ.sub(decoded, piece)


def job_path(which: str) -> str:
    """Return the path of a job's page, below its schedule's."""
    return f"jobs/{spelled(which)}"


def url_path(path: str) -> str:
    """Percent-encode the non-ASCII characters of a path for a link."""
    return _QUOTED.sub(lambda found: quote(found[0]), path)


def _hex(found: re.Match[str]) -> str:
    return "".join(f"~{byte:02x}" for byte in found[0].encode("utf-8", "surrogatepass"))


def with_parameter(address: str, name: str, value: str | None) -> str:
    """Set one parameter of an address, or remove it with None. The others stay."""
    path, _, query = address.partition("?")
    found = [(one, given) for one, given in parse_qsl(query, keep_blank_values=True) if one != name]
    if value is not None:
        found.append((name, value))
    return f"{path}?{urlencode(found)}" if found else path


LATE_MS = 1000
"""Lateness in ms from which a run counts as late, and a due job as overdue."""


STATE_WORDS = {"retrying": "to be tried again"}
"""States of jobs that have other words on pages."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A part of a sentence that links to a page: a path below that of the schedule."""

    text: str
    path: str


Sentence = tuple[str | Ref, ...]
"""A sentence: texts, and references to pages."""


def job_ref(job: Job) -> str:
    """Return the path of the page of a job, or of one dead record of it."""
    path = job_path(job.name or job.id)
    return path if job.dead_id is None else f"{job_path(job.id)}?dead={quote(job.dead_id, errors='replace')}"


def plain(said: Sentence) -> str:
    """Write a sentence without its links."""
    return "".join(part if isinstance(part, str) else part.text for part in said)


def joined(parts: Sequence[Ref], word: str = "and") -> Sentence:
    """Join references to a list in a sentence."""
    found: list[str | Ref] = []
    for number, part in enumerate(parts):
        if number:
            found.append(f" {word} " if number == len(parts) - 1 else ", ")
        found.append(part)
    return tuple(found)


def pause_of(job: Job, control: Control) -> Pause | None:
    """Return the pause that holds a job: its own, that of its function, or that of the schedule."""
    target = paused_by(job, control)
    return None if target is None else control.paused[target]


def paused_by(job: Job, control: Control) -> str | None:
    """Return the target of the pause that holds a job: see `pause_of`."""
    targets = (f"job:{job.name or job.id}", f"fn:{job.fn}", SCHEDULE)
    return next((target for target in targets if target in control.paused), None)


def pause_end(pause: Pause | None) -> datetime | None:
    """Return when a pause ends; None without a pause, and where it lasts until it is resumed."""
    return None if pause is None else pause.until


def pauses_text(options: RunOptions, *, most: int) -> str:
    """Say how long a job waits before its attempts, without jitter: ``1 s, 2 s and 4 s``. `most`: how many pauses are
    named.
    """
    count = options.retries or 0
    said = [duration_text(options.delay_ms(k, chance=0.0)) for k in range(min(count, most))]
    return listed(said) if count <= most else f"{', '.join(said)} and so on"


def why_paused(pause: Pause, now: datetime, zone: tzinfo) -> str:
    """Say until when a pause lasts, on the clock of a zone, and why: ``paused until 14:00: the mail server moves``."""
    end = pause_end(pause)
    till = "" if end is None else f" until {moment(end, now, zone)}"
    return f"paused{till}" + (f": {pause.reason}" if pause.reason else "")


def until(due: datetime, now: datetime) -> str:
    """Say when a job is due, from now on: a distance, or that it is overdue. It never says "next" for a past time."""
    if due > now:
        return away((due - now) / MILLISECOND)
    behind = now - due
    return "due" if behind < timedelta(milliseconds=LATE_MS) else f"overdue {away(behind / MILLISECOND)}"


HELD_BY: Final[Mapping[str, str]] = {
    "running": "A run of it has not ended",
    "cancelling": "A run of it has not ended",
    "retrying": "A run of it waits for another attempt",
    "held": "A run of it waits to start",
}
"""By the state of a job: the run of it that prevents a new one."""


def overlap_key(job: Job) -> str:
    """Return the limit key under which the runs of a recurring job exclude each other: see `workkit.jobs.admission`."""
    return f"over:{job.terms.name or job.id}"


def may_wait(job: Job) -> bool:
    """Return whether a run now would wait behind an earlier one, unless one waits there already: `LimitUse.waiting`."""
    return job.terms.overlap in ("queue", "cancel") and job.state in HELD_BY


def left_out(job: Job, uses: Iterable[LimitUse] = ()) -> str:
    """Ask whether to run a job anyway, where its `overlap` would leave that run out; "" where it would not."""
    overlap = job.terms.overlap
    if overlap == "skip" and job.state in HELD_BY:
        because = HELD_BY[job.state]
    elif may_wait(job) and any(use.key == overlap_key(job) and use.waiting for use in uses):
        because = "One run of it waits already until the one before it has ended"
    else:
        return ""
    return f'{because}. With overlap "{overlap}", a run now is left out. Run it all the same?'


MOST_RUNS: Final = 5_000  # most runs counted until a change


@dataclass(frozen=True, slots=True, kw_only=True)
class NextChange:
    """The next change of the clock that touches a job: its day, and the sentence about it."""

    change: ClockChange
    day: str
    says: str


def city(tz: str) -> str:
    """Return the place name of a zone: ``Paris``, ``New York``."""
    return tz.rpartition("/")[2].replace("_", " ")


def moves(change: ClockChange) -> str:
    """Say how the clock changes: ``clocks go from 2:00 to 3:00``."""
    back = "" if change.skips else " back"
    return f"clocks go{back} from {time_text(change.wall_from)} to {time_text(change.wall_to)}"


def what_came(trigger: Trigger, change: ClockChange) -> str | None:
    """Describe the effect of a past clock change, for its day: ``02:30 did not exist; ran at 03:00``; None for no
    effect.
    """
    wall = touched(trigger, change)
    if wall is None:
        return None
    if change.skips:
        return f"{clock_at(wall)} did not exist; ran at {clock_at(change.wall_to)}"
    return f"{clock_at(wall)} came twice; ran the first time"


def next_change(trigger: Trigger, *, now: datetime) -> NextChange | None:
    """Return the next change of the clock that touches a recurring job, within two years."""
    for change in clock_changes(trigger.tz, now, now + AHEAD) if trigger.tz != "UTC" else ():
        if (wall := touched(trigger, change)) is None:
            continue
        day = f"{weekday_name(wall)[:3]} {wall.day} {MONTH_NAMES[wall.month - 1]} {wall.year}"
        count = _runs_before(trigger, now=now, change=change)
        place = f"in {city(change.tz)}"
        after = "" if count is None else f", in {plural(count, 'run')}"
        if change.skips:
            said = f"{time_text(wall)} does not exist {place}, {moves(change)}. It runs at {time_text(change.wall_to)}."
        else:
            said = f"{time_text(wall)} comes twice {place}, {moves(change)}. It runs the first time."
        return NextChange(change=change, day=day, says=f"{day}{after}: {said}")
    return None


def _runs_before(trigger: Trigger, *, now: datetime, change: ClockChange) -> int | None:
    """Count the runs up to and including the one that a change touches; None where there are too many to count."""
    at, until = now, change.at - timedelta(seconds=max(0, change.before - change.after))
    for count in range(MOST_RUNS):
        following = trigger.next_after(at)
        if following is None or following >= until:
            return count + (following is not None)
        at = following
    return None
