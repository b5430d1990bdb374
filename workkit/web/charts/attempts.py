"""The attempts of a job that runs once: equal steps, the pause on the line between, attempts to come as outlines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Literal

from workkit.contract.history import PastRun
from workkit.jobs.run_options import RunOptions
from workkit.text.glance import away, moment
from workkit.text.wording import MILLISECOND, duration_text
from workkit.web.charts.bars import KINDS, STATES

WIDTH, HEIGHT = 160, 40
LINE_FROM = 26  # start of the pause, after the box
MOST = 12  # attempts drawn; earlier ones are left out


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptStep:
    """One attempt, and the pause after it.

    `kind`: "f" failed, "d" done, "r" running, "p" to come. `pause`: the text on the line, "" at the end; `soon`: the
    line is dashed because the pause is not over; `now_x`: the place of now on the line, None elsewhere.
    """

    number: int
    kind: Literal["f", "d", "r", "p"]
    at: str
    said: str
    on: str
    pause: str
    soon: bool
    now_x: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """All attempts, and the sentence that describes them. `more`: how many earlier ones are not drawn."""

    steps: tuple[AttemptStep, ...]
    label: str
    more: int
    width: int = WIDTH
    height: int = HEIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    number: int
    kind: Literal["f", "d", "r", "p"]
    start: datetime
    end: datetime
    said: str
    on: str = ""
    about: bool = False


def attempts(
    tried: Sequence[PastRun],
    *,
    options: RunOptions,
    now: datetime,
    zone: tzinfo,
    next_due: datetime | None = None,
    began: datetime | None = None,
    usual_ms: float = 0.0,
) -> Attempts:
    """Draw the attempts of one occurrence. `tried`: the ended ones, the first one first; `next_due`: when the next one
    is due; `began`: when the one in progress began. Later ones are placed by the back-off with half its jitter, and by
    `usual_ms`, so their times are "about".
    """
    points = [_past(run) for run in tried]
    following = tried[-1].attempt + 1 if tried else 0
    if began is not None:
        points.append(_Point(number=following + 1, kind="r", start=began, end=now, said=f"runs for {_for(began, now)}"))
    elif next_due is not None:
        said = f"in {away((next_due - now) / MILLISECOND)}" if next_due > now else "due"
        points.append(_Point(number=following + 1, kind="p", start=next_due, end=next_due, said=said))
    if began is not None or next_due is not None:
        points += _to_come(following, points[-1].start, options, usual_ms)
    shown = points[-MOST:]
    steps = tuple(
        _step(point, after, now=now, zone=zone) for point, after in zip(shown, [*shown[1:], None], strict=False)
    )
    label = ", then ".join(f"attempt {step.number} {_words(step)}" for step in steps) or "no attempt yet"
    return Attempts(steps=steps, label=f"{label[:1].upper()}{label[1:]}.", more=len(points) - len(shown))


def _past(run: PastRun) -> _Point:
    failed = KINDS[run.ending] == "fail"
    began = run.due + timedelta(milliseconds=run.late_ms)
    word = "failed" if failed else STATES[run.ending]
    said = f"{word} in {duration_text(run.took_ms)}" if run.ending in ("retried", "done") else word
    if run.ending == "dead":
        said = f"failed in {duration_text(run.took_ms)}, then dead"
    return _Point(
        number=run.attempt + 1,
        kind="f" if failed else "d",
        start=began,
        end=run.ended,
        said=said,
        on=run.listener or "",
    )


def _to_come(attempt: int, start: datetime, options: RunOptions, usual_ms: float) -> list[_Point]:
    """Place the attempts after number `attempt` (from 0), which starts at `start`."""
    found: list[_Point] = []
    last = options.retries or 0
    for k in range(attempt + 1, min(last, attempt + MOST) + 1):
        chance = 0.0 if options.jitter is False else 0.5
        start += timedelta(milliseconds=usual_ms + options.delay_ms(k - 1, chance=chance))
        said = "then dead" if k == last else ""
        found.append(_Point(number=k + 1, kind="p", start=start, end=start, said=said, about=True))
    return found


def _step(point: _Point, after: _Point | None, *, now: datetime, zone: tzinfo) -> AttemptStep:
    at = moment(point.start.replace(microsecond=0), now, zone)
    pause, now_x, soon = "", None, False
    if after is not None:
        length = max(timedelta(), after.start - point.end)
        pause = "" if point.kind == "r" else away(max(1000, round(length / MILLISECOND / 1000) * 1000))
        soon = after.kind == "p"
        if point.end <= now < after.start and point.kind in ("f", "d"):
            now_x = round(LINE_FROM + (WIDTH - LINE_FROM) * ((now - point.end) / length))
    return AttemptStep(
        number=point.number,
        kind=point.kind,
        at=f"about {at}" if point.about else at,
        said=point.said,
        on=point.on,
        pause=pause,
        soon=soon,
        now_x=now_x,
    )


def _words(step: AttemptStep) -> str:
    if step.kind == "p":
        said = f", {step.said}" if step.said else ""
        return f"at {step.at}{said}" if not step.at.startswith("about") else f"{step.at}{said}"
    return f"{step.said}, {step.at}"


def _for(began: datetime, now: datetime) -> str:
    return duration_text(max(0.0, (now - began) / MILLISECOND))
