"""The page Now: is all well, what needs me, what runs, what is next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any, Final

from workkit.contract.inspector import Counts
from workkit.contract.listener import ListenerInfo
from workkit.contract.record import counts_record, job_record
from workkit.jobs.job import Job
from workkit.text.wording import iso
from workkit.web.page import Asked, Page
from workkit.web.planning import recurring, trouble
from workkit.web.planning.around import Around, read_around
from workkit.web.planning.running import Running, running_jobs
from workkit.web.recurring.overlapping import left_out
from workkit.web.sentences import MOST_NEEDS, Facts, Need, needs, rest, sentence
from workkit.web.words import Said, plain

MOST_RUNNING: Final = 5
MOST_NEXT: Final = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A count that leads to its list. None: the layout does not tell, and `why` not."""

    n: int | None
    text: str
    path: str
    is_bad: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NowView:
    """What the page shows. `asks`: by name, the question before a run by hand that would be left out."""

    schedule: str
    now: datetime
    said: Said
    rest: Said
    counts: Counts
    figures: tuple[Figure, ...]
    needs: tuple[Need, ...]
    running: tuple[Running, ...]
    asks: Mapping[str, str]
    around: Around
    next: tuple[Job, ...]
    is_empty: bool
    is_paused: bool
    unknown: Mapping[str, str]

    def record(self) -> dict[str, Any]:
        """Write it as JSON does."""
        late, strip = self.around.lateness, self.around.strip
        return {
            "schedule": self.schedule,
            "as_of": iso(self.now),
            "sentence": plain(self.said),
            "rest": plain(self.rest),
            "counts": counts_record(self.schedule, self.counts),
            "needs": [{"sentence": plain(n.said), "why": n.why, "tone": n.tone, "job": n.job} for n in self.needs],
            "running": [one.record() for one in self.running],
            "lateness": late and {"half_ms": late.half_ms, "p95_ms": late.most_ms, "latest_ms": late.latest_ms},
            "strip": [
                {"start": iso(one.start), "ran": one.ran, "failed": one.failed, "planned": one.planned}
                for one in self.around.minutes
            ],
            "ran": None if strip is None else strip.ran,
            "planned": None if strip is None else strip.planned,
            "next": [job_record(job) for job in self.next],
            "unknown": dict(self.unknown),
        }


def look(asked: Asked) -> NowView:
    """Look at a schedule now: its pulse, the last runs of its named recurring jobs, and the time around now."""
    pulse, counts, unknown = asked.pulse, asked.pulse.counts, dict(asked.pulse.unknown)
    rows = recurring.read_rows(asked.served, pulse.control, unknown, now=asked.now)
    around = read_around(asked, unknown)
    running = running_jobs(pulse.listeners, rows.runs, now=asked.now, most=MOST_RUNNING)
    facts = trouble.facts(asked, rows, around.last_hour, around.crowds)
    found = () if facts.is_empty else tuple(islice(needs(facts), MOST_NEEDS))
    waiting = [job for job in pulse.soon if job.state != "paused"]
    return NowView(
        schedule=asked.served.name,
        now=asked.now,
        said=sentence(facts),
        rest=rest(facts),
        counts=counts,
        figures=tuple(_figures(counts, facts)),
        needs=found,
        running=tuple(running),
        asks=dict(_asks(found, rows, pulse.listeners)),
        around=around,
        next=tuple(waiting[:MOST_NEXT]),
        is_empty=facts.is_empty,
        is_paused=facts.paused is not None,
        unknown=unknown,
    )


def _asks(found: Sequence[Need], rows: recurring.Rows, listeners: Sequence[ListenerInfo]) -> Iterator[tuple[str, str]]:
    """Ask before a run by hand of a job that needs somebody, where an earlier run of it does not let it start."""
    ids = {job.id for info in listeners for job in info.running}
    for row in (rows.named[need.job] for need in found if need.job is not None and need.job in rows.named):
        job = replace(row.job, state="running" if row.job.id in ids else row.recurs.state)
        if question := left_out(job):
            yield row.key, question


def _figures(counts: Counts, facts: Facts) -> Iterator[Figure]:
    for field, text in (
        ("running", "running"), ("due", "due"), ("waiting", "waiting"), ("retrying", "to be tried again"),
        ("held", "held by a limit or a rate"), ("paused", "paused"), ("dead", "dead"),
    ):  # fmt: skip
        n: int = getattr(counts, field)
        why = counts.unknown.get(field, "")
        path = "dead" if field == "dead" else f"jobs?state={field}"
        is_bad = field == "dead" and n > counts.known_dead
        yield Figure(n=None if why else n, text=text, path=path, is_bad=is_bad, why=why)
    threads = f", {facts.threads:,} threads" if facts.threads else ""
    why = counts.unknown.get("listeners", "")
    text = ("listener" if counts.listeners == 1 else "listeners") + threads
    yield Figure(n=None if why else counts.listeners, text=text, path="listeners", why=why)


PAGE = Page(name="now", path="", title="Now", template="now.html", look=look, icon="now", key="n")
