"""The page Batches and the page of one batch (spec/groups.md): how many of its jobs have ended and how, and the jobs
that run after it. Also the jobs before and after one job, for the page of that job.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, cast
from urllib.parse import quote

from workkit.contract.groups import Ending, Group, Groups, Member
from workkit.contract.record import group_record
from workkit.errors import NotFound, Unsupported
from workkit.jobs.job import Job
from workkit.jobs.terms import instant_of
from workkit.text.wording import iso, listed, plural
from workkit.verbs.opening import groups_of
from workkit.web.page import Asked, Page
from workkit.web.words import Ref, job_path, spelled

ROWS: Final = 50
ORDER: Final[tuple[Ending, ...]] = (
    "dead", "lost", "waiting", "cancelled", "expired", "missed", "discarded", "replaced", "removed", "done",
)  # fmt: skip
"""The endings of members, in the order in which pages show them."""

WORDS: Final = {"waiting": "not ended"}  # "waiting" is also the state of a job, and some of these run
SIGNS: Final = {
    "abandoned": "late", "running": "run", "cancelling": "pause", "cancelled": "pause", "done": "done", "dead": "fail",
    "lost": "fail", "expired": "late", "missed": "late", "over": "done",
}  # fmt: skip
RESTS: Final = {
    "open": "Its producer still adds jobs. They start when it is closed.",
    "abandoned": "Nothing is added any more, so its producer may have died. Run that again, or cancel the batch.",
    "cancelling": "It is cancelled. Jobs that run end first; the others do not start.",
    "cancelled": "It was cancelled.",
}
VERBS: Final = {"abandoned": ("show", "resume", "cancel"), "open": ("show", "cancel"), "running": ("show", "cancel")}
"""The commands for a batch, by its state."""


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A batch as it is now."""

    group: Group
    now_ms: int

    @property
    def ref(self) -> Ref:
        """Its name, and the path of its page."""
        return batch_ref(self.group.name or self.group.id)

    @property
    def state(self) -> str:
        """Its state in a word."""
        return self.group.state_at(self.now_ms)

    @property
    def sign(self) -> str:
        """The sign of its state."""
        return "fail" if self.state == "done" and self.group.endings.get("dead") else SIGNS.get(self.state, "wait")

    @property
    def ended(self) -> int:
        """How many of its jobs have ended."""
        return self.group.total - self.group.endings.get("waiting", 0)

    @property
    def text(self) -> str:
        """How many of its jobs have ended, and how many of them are not done: ``12 of 40 ended, 2 dead``."""
        return ", ".join([f"{self.ended:,} of {self.group.total:,} ended", *_counted(self.group, "waiting", "done")])

    def record(self, schedule: str) -> dict[str, Any]:
        """Return the batch as a JSON object."""
        return group_record(self.group, schedule=schedule, now_ms=self.now_ms)


def batch_ref(name: str) -> Ref:
    """Refer to the page of a batch."""
    return Ref(name, f"batches/{spelled(name)}")


def _counted(group: Group, *without: Ending) -> list[str]:
    """Count the members of each ending that there is: ``2 dead``, ``1 done``."""
    counts = ((group.endings.get(one, 0), one) for one in ORDER if one not in without)
    return [f"{n:,} {WORDS.get(one, one)}" for n, one in counts if n]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """A job in a list. `ref`: its page, and its short id or the name of a batch. `word`: its state. `note`: its error,
    or how it follows. `due`: the time of the run, where the row is one run of a recurring job.
    """

    id: str
    ref: Ref
    word: str
    job: Job | None = None
    note: str = ""
    due: datetime | None = None

    @property
    def sign(self) -> str:
        """The sign of its state."""
        return SIGNS.get(self.word, "wait")

    def record(self, schedule: str) -> dict[str, Any]:
        """Return the row as a JSON object."""
        found = {"id": self.id, "schedule": schedule, "state": self.word, "note": self.note}
        return found | {"fn": self.job.fn if self.job else None}


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchesView:
    """The content of both pages; `more` leads to the next page. Of one batch, the `row`: its jobs that ended as `ended`
    tells, the endings that there are, the jobs that run after it, and the commands for it.
    """

    schedule: str
    now: datetime
    said: str
    rows: tuple[BatchRow | MemberRow, ...]
    more: str | None
    unknown: str = ""
    row: BatchRow | None = None
    ended: str = ""
    endings: tuple[str, ...] = ()
    follow: tuple[MemberRow, ...] = ()
    by_hand: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        rows, more = [one.record(self.schedule) for one in self.rows], self.more and self.more.replace("?", ".json?", 1)
        found = {"schedule": self.schedule, "as_of": iso(self.now), "sentence": self.said, "next": more}
        if self.row is None:
            return found | {"batches": rows, "unknown": self.unknown}
        follow = [one.record(self.schedule) for one in self.follow]
        return found | {"batch": self.row.record(self.schedule), "members": rows, "follow": follow}


def look(asked: Asked) -> BatchesView:
    """Read a page of the batches. Raises InvalidOptions."""
    rows, place, unknown = list[BatchRow](), "", ""
    try:
        page = groups_of(asked.served.s).groups(after=asked.params.get("after", ""), limit=ROWS)
        rows, place = [BatchRow(group, asked.pulse.now_ms) for group in page.groups], page.next
    except Unsupported as error:
        unknown = str(error)
    states = [row.state for row in rows]
    said = f"The batches here: {listed([f'{states.count(one):,} {one}' for one in dict.fromkeys(states)])}."
    return BatchesView(
        schedule=asked.served.name, now=asked.now, rows=tuple(rows), unknown=unknown,
        said=said if rows else "No batch is here.", more=f"batches?after={quote(place)}" if place else None,
    )  # fmt: skip


def look_at_one(asked: Asked) -> BatchesView:
    """Read the batch, and a page of its jobs of one ending, dead ones first. Raises NotFound, InvalidOptions."""
    groups = groups_of(asked.served.s)
    group = groups.group(asked.names["batch"])
    row, counts = BatchRow(group, asked.pulse.now_ms), listed(_counted(group))
    endings = [one for one in ORDER if group.endings.get(one)]
    ended = cast("Ending", asked.one_of("ended", list(dict.fromkeys((*endings, *ORDER)))))
    page = groups.members(group, ending=ended, after=asked.params.get("after", ""), limit=ROWS)
    said = f"{plural(group.total, 'job')}: {counts}." if counts else "It has no job yet."
    commands = (["workkit", "batch", verb, asked.served.name, row.ref.text] for verb in VERBS.get(row.state, ("show",)))
    return BatchesView(
        schedule=asked.served.name, now=asked.now, said=f"{said} {RESTS.get(row.state, '')}".strip(),
        rows=tuple(_rows(asked, groups, page.members)), row=row, ended=ended, endings=tuple(endings),
        more=f"{row.ref.path}?ended={ended}&after={quote(page.next)}" if page.next else None,
        follow=tuple(_follow(asked, groups, group)), by_hand=tuple(map(shlex.join, commands)),
    )  # fmt: skip


def _follow(asked: Asked, groups: Groups, group: Group) -> list[MemberRow]:
    """List the jobs that run after a batch: its own, then those that were added with `after`."""
    own = [(id, note) for id, note in ((group.then, "then"), (group.on_success, "on_success")) if id]
    found = []
    for (_, note), one in zip(own, _rows(asked, groups, [Member(id, "waiting") for id, _ in own]), strict=True):
        is_let_go = group.is_settled and not (note == "on_success" and group.endings.get("dead"))
        word = "cancelled" if group.state == "cancelled" else ("due" if one.job else "over") if is_let_go else "waiting"
        found.append(replace(one, note=note, word=word if one.word == "waiting" else one.word))
    return found + _waiting_for(asked, groups, [f"={group.id}", *([group.then] if group.then else [])])


def _waiting_for(asked: Asked, groups: Groups, members: Iterable[str]) -> list[MemberRow]:
    ids = dict.fromkeys(id for member in members for id in groups.followers(member))
    return [replace(row, note="after") for row in _rows(asked, groups, [Member(id, "waiting") for id in ids])]


def _rows(asked: Asked, groups: Groups, members: Sequence[Member]) -> list[MemberRow]:
    """Make the rows of members. A job that is over has its id only."""
    ids = [one.name.partition("@")[0] for one in members if not one.name.startswith("=")]
    jobs = {job.id: asked.veil.job(job) for job in groups.jobs(ids) if job is not None} if ids else {}
    running = {job.id: job for info in asked.pulse.listeners for job in info.running}
    dead = asked.dead() if any(one.ending == "dead" for one in members) else None
    found = []
    for name, ending in members:
        if name.startswith("="):
            with suppress(NotFound):
                ref = batch_ref(groups.group(name[1:]).name or name[1:])
                found.append(MemberRow(id=name, ref=replace(ref, text=f"batch {ref.text}"), word=ending))
            continue
        id, _, due = name.partition("@")
        at = instant_of(int(due)) if due.isdecimal() else None
        row = MemberRow(id=id, ref=Ref(id[:8], job_path(id)), word=ending, job=jobs.get(id), due=at)
        if ending == "waiting" and id in running:
            row = replace(row, job=running[id], word=running[id].state)
        elif ending == "dead" and dead is not None and (records := dead.of_job(id)):
            job = records[0].job
            row = replace(row, job=job, ref=Ref(id[:8], records[0].path), note=job.error or "")
        found.append(row)
    return found


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The batch of a job, the jobs that it runs after, and those that run after it."""

    batch: tuple[Ref, ...] = ()
    after: tuple[MemberRow, ...] = ()
    next: tuple[MemberRow, ...] = ()


def around(asked: Asked, job: Job) -> Neighbours:
    """Read the jobs before and after a job, as far as the server has them. Only its batch where it keeps no groups."""
    name = job.terms.batch or job.terms.then_of
    found = Neighbours((batch_ref(name),) if name else ())
    with suppress(Unsupported, NotFound):
        groups = groups_of(asked.served.s)
        found = replace(found, next=tuple(_waiting_for(asked, groups, [job.id])))
        if job.terms.after is not None:
            page = groups.members(groups.group(job.id), limit=ROWS)
            found = replace(found, after=tuple(_rows(asked, groups, page.members)))
    return found


PAGE = Page(name="batches", path="batches", title="Batches", template="batches.html", look=look, icon="stack", key="b")
ONE = Page(name="batch", path="batches/{batch}", title="Batch", template="batches.html", look=look_at_one)
