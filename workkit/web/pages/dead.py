"""The pages of the dead jobs: how many errors are behind them, and the jobs that died of one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from workkit.contract.filters import accepted, read_filter, understood
from workkit.contract.record import dead_record
from workkit.errors import NotFound, Unsupported
from workkit.text.wording import iso
from workkit.web.dead.sentences import headline, spoken_rest
from workkit.web.dead.trial import Trial, trial
from workkit.web.dead_jobs import DeadJob, Group, Known, by_error
from workkit.web.page import Asked, Page
from workkit.web.pages.dead_rows import Row, Shown, page_of, row_of, shown_of, start_of

VIEWS: Final = ("error", "job")
MOST_GROUPS, MOST_ROWS, MOST_OPEN = 50, 50, 6
RATES: Final = (("10/second", "10 a second"), ("1/second", "1 a second"), ("100/second", "100 a second"), ("", "once"))


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadView:
    """What the page shows."""

    schedule: str
    now: datetime
    said: str
    rest: str
    by: str
    q: str
    understood: str
    accepted: str
    print: str
    count: int
    reading: int | None
    groups: tuple[Shown, ...]
    n_groups: int
    n_jobs: int
    rows: tuple[Row, ...]
    after: str
    trials: tuple[Trial, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)
    rates: tuple[tuple[str, str], ...] = RATES

    def record(self) -> dict[str, Any]:
        """Write it as JSON does."""
        rows = self.rows or tuple(row for shown in self.groups for row in shown.rows if self.print)
        return {
            "schedule": self.schedule,
            "as_of": iso(self.now),
            "sentence": self.said,
            "rest": self.rest,
            "dead": self.count,
            "read_percent": self.reading,
            "matching": self.n_jobs,
            "errors": self.n_groups,
            "groups": [shown.group.record() for shown in self.groups],
            "jobs": [dead_record(row.job) | {"dead": row.key} for row in rows],
            "next": self.after or None,
            "tried": [{"fingerprint": one.print, "sentence": one.said, "left": one.left} for one in self.trials],
            "unknown": dict(self.unknown),
        }


def look(asked: Asked) -> DeadView:
    """Look at the dead jobs, by their errors or one by one."""
    by = asked.one_of("by", VIEWS)
    known, graves, unknown = _graves(asked)
    groups = _groups(known, graves)
    rows, after = page_of(asked, graves, MOST_ROWS) if by == "job" else ((), "")
    shown: list[Shown] = []
    if by == "error":
        start = start_of([group.print for group in groups], asked.params.get("after", ""))
        for k, group in enumerate(groups[start : start + MOST_GROUPS], start):
            open_rows = tuple(row_of(grave) for grave in group.graves[:MOST_OPEN]) if k == 0 else ()
            shown.append(shown_of(group, asked, rows=open_rows, is_open=k == 0))
        after = shown[-1].group.print if start + MOST_GROUPS < len(groups) else ""
    return _view(asked, known, graves, groups, tuple(shown), by=by, rows=rows, after=after, unknown=unknown)


def look_at_one(asked: Asked) -> DeadView:
    """Look at the jobs that died of one error. Raises NotFound for what is no fingerprint."""
    wanted = asked.names["print"]
    if not re.fullmatch(r"[0-9a-f]{6,40}", wanted):
        raise NotFound.about(f'no error "{wanted[:100]}"', f"in {asked.served.name}", "All: dead.", given=wanted[:100])
    known, graves, unknown = _graves(asked)
    groups = [group for group in _groups(known, graves) if group.print.startswith(wanted)]
    shown: tuple[Shown, ...] = ()
    after = ""
    if groups:
        rows, after = page_of(asked, groups[0].graves, MOST_ROWS)
        one = shown_of(groups[0], asked, rows=rows, is_open=True, after=after)
        shown = (replace(one, message=groups[0].error.parts),)  # here it is whole
    mine = groups[0].graves if groups else ()
    return _view(asked, known, mine, groups[:1], shown, by="error", after=after, unknown=unknown, one=wanted)


def _graves(asked: Asked) -> tuple[Known, tuple[DeadJob, ...], dict[str, str]]:
    unknown: dict[str, str] = {}
    where = read_filter(asked.params.get("q", ""), "dead")
    try:
        known = asked.served.dead(asked.veil).look(asked.served.inspector(), count=asked.pulse.counts.dead)
    except Unsupported as error:
        unknown["dead"] = str(error)
        known = Known(graves=(), of=0, is_all=True)
    if known.trouble:
        unknown["dead"] = asked.veil.text(known.trouble)
    if where.is_everything:
        return known, known.graves, unknown
    return known, tuple(grave for grave in known.graves if where.job(grave.job, now=asked.now)), unknown


def _groups(known: Known, graves: tuple[DeadJob, ...]) -> list[Group]:
    return known.groups if graves is known.graves else by_error(graves)


def _view(
    asked: Asked, known: Known, graves: tuple[DeadJob, ...], groups: list[Group], shown: tuple[Shown, ...], *, by: str,
    after: str, unknown: dict[str, str], rows: tuple[Row, ...] = (), one: str = "",
) -> DeadView:  # fmt: skip
    q = asked.params.get("q", "").strip()
    reading = None if known.is_all else min(99, round(100 * len(known.graves) / max(1, known.of)))
    where = read_filter(q, "dead")
    tried = [work for work in asked.works if work.kind == "try"]
    inspector = asked.served.inspector()
    return DeadView(
        schedule=asked.served.name,
        now=asked.now,
        said=headline(
            known, len(graves), groups, reading=reading, has_filter=not where.is_everything, is_one=bool(one)
        ),
        rest=spoken_rest(known, groups, now=asked.now, zone=asked.zone, is_one=bool(one)),
        by=by,
        q=q,
        understood="" if where.is_everything else understood(where),
        accepted=accepted("dead"),
        print=one,
        count=known.of,
        reading=reading,
        groups=shown,
        n_groups=len(groups),
        n_jobs=len(graves),
        rows=rows,
        after=after,
        trials=tuple(trial(inspector, work, known.graves, now=asked.now) for work in tried),
        unknown=unknown,
    )


PAGE = Page(name="dead", path="dead", title="Dead", template="dead.html", look=look, icon="dead", key="d")
ONE = Page(name="dead-error", path="dead/{print}", title="Dead", template="dead.html", look=look_at_one, within="dead")
