"""The page Timeline: what ran and will run, what overlaps, when it gets tight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast

from workkit.contract.record import run_record
from workkit.text.glance import moment
from workkit.text.wording import iso
from workkit.web.ahead.remarks import Remark, nothing
from workkit.web.drawing.axis import WORDS, Axis, Span
from workkit.web.drawing.labels import Label, above, lines
from workkit.web.drawing.load import Load
from workkit.web.page import Asked, Page
from workkit.web.planning import coming, lanes, strands
from workkit.web.planning.coming import Once
from workkit.web.planning.happened import Happened, read_happened
from workkit.web.planning.lanes import Drawn
from workkit.web.planning.past_runs import Seen, read_seen
from workkit.web.planning.recurring import Row, read_rows
from workkit.web.planning.strands import GROUPS, Group, Strand
from workkit.web.planning.window import ACCEPTED, Links, links, local_text, read_axis, timeline_path

NOUNS: Final[dict[Group, str]] = {"job": "recurring job", "fn": "function", "listener": "listener"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineView:
    """What the page shows. `total`: how many lanes there are without the filter; `once`: the lane of jobs that run
    once, which is the last one; `more`: the address of further lanes; `paused`: jobs with a pause of their own.
    """

    schedule: str
    now: datetime
    axis: Axis
    by: Group
    q: str
    links: Links
    load: Load
    threads: int
    lanes: tuple[Drawn, ...]
    total: int
    once: Once | None
    happened: tuple[Happened, ...]
    labels: tuple[Label, ...]
    lines: tuple[float, ...]
    ahead: tuple[tuple[Remark, str], ...]
    paused: frozenset[str]
    is_paused: bool
    is_part: str
    after: str
    more: str
    unknown: Mapping[str, str]

    @property
    def title(self) -> str:
        """What the page shows, as a sentence."""
        words = WORDS[self.axis.span]
        middle = self.axis.start + (self.axis.end - self.axis.start) / 2
        if middle == self.now:
            return f"Timeline of {self.schedule}, {words} back and {words} ahead"
        at = moment(middle.replace(microsecond=0), self.now, self.axis.zone)
        return f"Timeline of {self.schedule}, {words} before and {words} after {at}"

    @property
    def span_words(self) -> str:
        """How far the sentences look ahead."""
        return WORDS[self.axis.span]

    @property
    def nothing_ahead(self) -> str:
        """The sentence where nothing is worth one."""
        if self.is_paused:
            return f"{self.schedule} is paused: nothing starts until it is resumed."
        return nothing(WORDS[self.axis.span])

    @property
    def empty(self) -> str:
        """Why there is no lane."""
        if self.q:
            return f'No {NOUNS[self.by]} matches "{self.q}".'
        return {"job": "No job recurs.", "fn": "No function ran, and none is planned.", "listener": "Nobody listens."}[
            self.by
        ]

    def record(self) -> dict[str, Any]:
        """Write it as JSON does."""
        return {
            "schedule": self.schedule,
            "as_of": iso(self.now),
            "span": self.axis.span,
            "from": iso(self.axis.start),
            "to": iso(self.axis.end),
            "by": self.by,
            "lanes": [
                {
                    "name": one.name,
                    "words": one.words,
                    "runs": [run_record(run) for run in one.runs],
                    "planned": [iso(at) for at in one.planned],
                    "says": one.drawing.label,
                }
                for one in self.lanes
            ],
            "total": self.total,
            "load": self.load.label,
            "one_time": None if self.once is None else self.once.lane.label,
            "marks": [one.record() for one in self.happened],
            "ahead": [
                {"at": iso(one.at), "kind": one.kind, "says": one.says, "names": list(one.names)}
                for one, _ in self.ahead
            ],
            "next": self.after or None,
            "unknown": dict(self.unknown),
        }


def look(asked: Asked) -> TimelineView:
    """Look at a window of time. Raises InvalidOptions, PhraseError, CronError for what the address asks wrongly."""
    by = cast(Group, asked.one_of("by", GROUPS))
    span = cast(Span, asked.one_of("span", ACCEPTED))
    axis = read_axis(asked.params, span, now=asked.now, zone=asked.zone, typed_zone=asked.served.zone)
    q, at = (asked.params.get(name, "").strip() for name in ("q", "at"))
    unknown = dict(asked.pulse.unknown)
    found = read_rows(asked.served, asked.pulse.control, unknown, now=asked.now)
    seen = Seen() if by == "job" and axis.span == "90d" else read_seen(asked, axis, unknown)
    shown, following, total = _strands(asked, by, q, found, seen, axis)
    threads = sum(info.threads for info in asked.pulse.listeners)
    seconds, stays = asked.served.spans(len(found), seconds=PAGE.every_s)
    ahead = asked.served.fresh(
        f"timeline {axis.span} {at} {asked.zone}",
        lambda: coming.read_coming(asked, axis, found),
        seconds=seconds, stays=stays, given=(asked.pulse.control, threads, len(found)),
    )  # fmt: skip
    unknown |= ahead.unknown
    happened = tuple(read_happened(asked, axis.start, axis.end, unknown))
    return TimelineView(
        schedule=asked.served.name,
        now=asked.now,
        axis=axis,
        by=by,
        q=q,
        links=links(axis, by=by, q=q, at=bool(at)),
        load=ahead.load,
        threads=threads,
        lanes=tuple(lanes.draw(asked, axis, one, ahead.paused_since, by=by) for one in shown),
        total=total,
        once=ahead.once if by == "job" and not q and not following else None,
        happened=happened,
        labels=above(
            axis,
            [(one.at, one.mark, one.says) for one in ahead.remarks],
            [(one.at, one.says, one.sentence) for one in sorted(happened, key=lambda one: one.kind != "mark")],
        ),
        lines=lines(axis, (one.at for one in happened)),
        ahead=tuple((one, timeline_path(span="2h", at=local_text(one.at, asked.zone))) for one in ahead.remarks),
        paused=found.paused,
        is_paused=coming.is_stopped(asked),
        is_part=_part(ahead.looked, len(found)),
        after=following,
        more=timeline_path(span=axis.span, at=at, by=by, q=q, after=following) if following else "",
        unknown=unknown,
    )


def _part(looked: int, of: int) -> str:
    return f"Of {of:,} recurring jobs, {looked:,} were looked at." if looked < of else ""


def _strands(
    asked: Asked, by: Group, q: str, found: Sequence[Row], seen: Seen, axis: Axis
) -> tuple[list[Strand], str, int]:
    """Choose the lanes that a filter means, those of this page; say what follows them, and count all there are."""
    listeners, after = asked.pulse.listeners, asked.params.get("after", "")
    if by == "job":
        chosen, following = strands.page(strands.chosen(found, q, asked.now), after)
        return list(strands.of_jobs(chosen, seen, axis, listeners)), following, len(found)
    every = strands.of_functions(found, seen, listeners) if by == "fn" else strands.of_listeners(seen, listeners)
    shown, following = strands.page([one for one in every if q.casefold() in one.name.casefold()], after)
    return shown, following, len(every)


PAGE = Page(
    name="timeline", path="timeline", title="Timeline", template="timeline.html", look=look, icon="line", key="t",
    every_s=30.0,
)  # fmt: skip
