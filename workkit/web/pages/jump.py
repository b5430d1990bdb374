"""Jump: pages, names, beginnings of ids, functions, errors and arguments matching a text; and its meaning as a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final
from urllib.parse import quote

from workkit.contract.filters import read_filter
from workkit.contract.where import JobQuery
from workkit.errors import CorruptRecord, Invalid, NotFound, Unsupported
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.text.wording import iso, zone_name
from workkit.triggers import Trigger, explain
from workkit.web.job_form import fn_text
from workkit.web.page import Asked, Page
from workkit.web.pages.jobs import LOOK_MS
from workkit.web.pages.window import instant
from workkit.web.typed_time import read_text
from workkit.web.words import job_ref

MOST: Final = 8
LONGEST: Final = 200  # characters; longest text to search for
SHORTEST_ID: Final = 6
HEX: Final = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One match: its kind, its address below its schedule, and a text beside it. `until`: the end of a pause, in place
    of an address.
    """

    schedule: str
    text: str
    path: str = ""
    icon: str = "list"
    note: str = ""
    due: datetime | None = None
    until: str = ""

    def record(self) -> dict[str, Any]:
        """Return the match as a JSON object."""
        due = iso(self.due) if self.due else None
        known = {"schedule": self.schedule, "text": self.text, "path": self.path or None, "note": self.note or None}
        return known | {"next": due, "until": self.until or None}


@dataclass(frozen=True, slots=True, kw_only=True)
class JumpView:
    """The content of the page: the text, its meaning as a time, and the matches."""

    now: datetime
    q: str
    at: datetime | None
    words: str
    hits: tuple[Hit, ...]

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        return {
            "q": self.q,
            "at": iso(self.at) if self.at else None,
            "words": self.words or None,
            "hits": [hit.record() for hit in self.hits],
        }


def look(asked: Asked) -> JumpView:
    """Look for `q` in one schedule."""
    q = " ".join(asked.params.get("q", "")[:LONGEST].split())
    trigger = _time(q, asked)
    at = _past(q, asked) if trigger is None else trigger.next_after(asked.now - timedelta(seconds=1))
    return JumpView(
        now=asked.now,
        q=q,
        at=at,
        words=explain(trigger) if trigger is not None and trigger.recurs else "",
        hits=tuple(islice(_hits(asked, q, trigger, at), MOST)) if q else (),
    )


def joined(views: Sequence[JumpView], schedules: Sequence[str], q: str, now: datetime) -> JumpView:
    """Merge the matches of several schedules. Schedules with the text in their name come first."""
    named = [
        Hit(schedule=name, text=name, icon="now", note="schedule") for name in schedules if q.lower() in name.lower()
    ]
    rows = [hit for k in range(MOST) for view in views for hit in view.hits[k : k + 1]]
    first = views[0] if views else None
    hits = tuple([*named, *rows][:MOST]) if q else ()
    return JumpView(now=now, q=q, at=first.at if first else None, words=first.words if first else "", hits=hits)


def _time(q: str, asked: Asked) -> Trigger | None:
    if not q:
        return None
    try:
        return read_text(q, tz=zone_name(asked.served.zone), now=asked.now)
    except Invalid:
        return None


def _past(q: str, asked: Asked) -> datetime | None:
    """Read a past time: "yesterday 3am", "2 hours ago"; None where the text is no past time."""
    if not any(character.isalpha() for character in q) and "-" not in q:
        return None  # a number alone names no time
    try:
        at = instant(q, now=asked.now, zone=asked.served.zone, leans_back=True)
    except (Invalid, OverflowError, ValueError):
        return None
    return at if at is not None and at <= asked.now else None


def _hits(asked: Asked, q: str, trigger: Trigger | None, at: datetime | None) -> Iterator[Hit]:
    name = asked.served.name
    if trigger is None and at is not None:
        yield Hit(schedule=name, text="What ran then", path=f"timeline?at={quote(iso(at))}&span=2h", icon="line")
    if trigger is not None and at is not None:
        yield Hit(schedule=name, text="What is planned then", path=f"timeline?at={quote(iso(at))}", icon="line")
        add = f"new?when={quote(q)}&tz={quote(zone_name(asked.served.zone))}"
        yield Hit(schedule=name, text="Add a job at that time", path=add, icon="plus")
        if not trigger.recurs:
            yield Hit(schedule=name, text=f"Pause {name} until then…", icon="pause", until=at.isoformat())
    if (job := _by_id(asked, q)) is not None:
        yield _of_job(asked, job)
    low = q.lower()
    named = [one.job for key, one in asked.served.named().items() if low in key.lower()]
    for job in sorted(named, key=lambda one: (not str(one.name).lower().startswith(low), str(one.name))):
        yield _of_job(asked, job)
    for info in asked.pulse.listeners:
        if low in info.called.lower():
            yield Hit(schedule=name, text=info.called, path="listeners", icon="ear", note="listener")
    for page in asked.pages:
        if page.title.lower().startswith(low) and "{" not in page.path and (page.icon or page.name == "new"):
            yield Hit(schedule=name, text=page.title, path=page.path, icon=page.icon or "plus", note="page")
    for fn in _functions(asked):
        text = fn_text(fn)
        if low in text.lower() or low in shown(fn).lower():
            yield Hit(schedule=name, text=text, path=f"new?fn={quote(text)}", icon="plus", note="add a job of it")
    errors = list(_errors(asked, low))
    yield from errors
    for job in _searched(asked, q):
        is_known = low in (job.name or "").lower() or (errors and job.state == "dead")
        if not is_known and not job.id.startswith(low):
            yield _of_job(asked, job)


def _searched(asked: Asked, q: str) -> tuple[Job, ...]:
    """Look for a while for jobs by the texts that Jobs shows, with arguments. Masked values are not found."""
    try:
        where = read_filter(q, "jobs")
        query = JobQuery(where=where, limit=MOST, budget_ms=LOOK_MS, see=asked.veil.job)
        return tuple(asked.served.inspector().page(query).jobs)
    except (Invalid, Unsupported):
        return ()


def _errors(asked: Asked, low: str) -> Iterator[Hit]:
    """Find the errors of the dead jobs, as shown, by a part of their text."""
    try:
        known = asked.served.dead(asked.veil).look(asked.served.inspector(), count=asked.pulse.counts.dead)
    except Unsupported:
        return
    for group in known.groups:
        text = f"{group.error.type or ''}: {''.join(part for part, _ in group.error.parts)}".strip(": ")
        if low in text.lower():
            note = f"{group.n:,} dead"
            yield Hit(schedule=asked.served.name, text=text, path=f"dead/{group.print}", icon="dead", note=note)


def _of_job(asked: Asked, job: Job) -> Hit:
    path = job_ref(job)
    text = job.name or shown(job.fn)
    recurs = job.recurs
    note = "" if job.due else job.short_id
    icon = "loop" if recurs else "list"
    return Hit(schedule=asked.served.name, text=text, path=path, icon=icon, note=note, due=job.due)


def _by_id(asked: Asked, q: str) -> Job | None:
    if len(q) < SHORTEST_ID or not HEX.issuperset(q):
        return None
    try:
        return asked.served.inspector().job(q)
    except (NotFound, CorruptRecord, Unsupported):
        return None


def _functions(asked: Asked) -> list[str]:
    try:
        return sorted(asked.served.inspector().history.knows())
    except Unsupported:
        return []


PAGE = Page(
    name="jump", path="-/jump", title="Jump", template="jump.html", look=look, fragment="parts/jump.html", is_live=False
)
