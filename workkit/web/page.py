"""What a page is: an address, a template, and a function from what is asked to a frozen view value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import islice
from typing import Any, Final, Protocol

from workkit.contract.history import PastRun
from workkit.contract.inspector import Pulse
from workkit.errors import InvalidOptions, Unsupported
from workkit.jobs.job import Job
from workkit.web.cache import Served
from workkit.web.dead_jobs import KnownDead
from workkit.web.mask import Veil
from workkit.web.words import read_spelled
from workkit.web.works import Work

MOST_RETRYING: Final = 1_000


class View(Protocol):
    """What a template sees, and all that it sees. Frozen; JSON is the same value."""

    def record(self) -> dict[str, Any]:
        """Write the view as JSON does: keys are only ever added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a page is asked. `pulse` was read for this request, and is masked; `names` are the parts of the address that
    the page's path leaves open; `params` the last value of each parameter; `pages` those that there are; `works` what
    the process does in the background for this schedule; `age_s`, known after the look: how long ago the oldest part of
    the view was read.
    """

    served: Served
    pulse: Pulse
    veil: Veil
    zone: tzinfo
    names: Mapping[str, str]
    params: Mapping[str, str]
    pages: Sequence[Page] = ()
    works: Sequence[Work] = ()
    age_s: float = 0.0

    @property
    def now(self) -> datetime:
        """The present, by the server's clock."""
        return self.pulse.now

    def log(self, of: Job | PastRun) -> tuple[str, ...]:
        """Read what a run has logged, masked: that of a past run, or the last one of a job. Nothing where the layout
        keeps none.
        """
        try:
            return self.veil.log(of, self.served.inspector().history.log(of))
        except Unsupported:
            return ()

    def dead(self) -> KnownDead:
        """Give the dead jobs that this process keeps. Nothing is asked where none are dead."""
        count = self.pulse.counts.dead
        if not count:
            return KnownDead(dead_jobs=(), of=0, is_all=True)
        return self.served.dead(self.veil).look(self.served.inspector(), count=count, reads_whole=False)

    def retry_of(self, id: str | None) -> Job | None:
        """Find the run of a job that is to be tried again, as it is, with its last error; None where none is among the
        first 1,000. One that recurs waits beside it for its next time.
        """
        if not self.pulse.counts.retrying:
            return None
        waiting = islice(self.served.inspector().jobs(state="retrying"), MOST_RETRYING)
        return next((job for job in waiting if job.id == id and job.failure is not None), None)

    def one_of(self, name: str, accepted: Sequence[str]) -> str:
        """Read a parameter that is one of some words; the first where it is not there. Raises InvalidOptions."""
        given = self.params.get(name) or accepted[0]
        if given not in accepted:
            raise InvalidOptions.about(
                f'{name}="{given}"', "is not accepted", f"Accepted: {', '.join(accepted)}.",
                given=given, accepted=", ".join(accepted),
            )  # fmt: skip
        return given


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of a schedule.

    `path`: below the schedule's address, with names in braces, ``jobs/{which}``. `title` stands in the bar and, with an
    `icon`, in the rail. `look` makes the view; it blocks, and runs in a thread. `key`: the letter after g.
    `takes_form`: a form may be sent to it, which changes nothing; its fields come as parameters. `fragment`: the
    template that is answered with the parameter `fragment`, in place of the page.
    `within`: the page of the rail of which it is a part. `lines`: what the page has at its path
    with `.jsonl`, all of it, as JSON Lines.
    `every_s`: how often an open page is made again while nothing changes; 30 for drawings, which cost more.
    `is_live`: an open one stays fresh by itself; not where somebody fills in a form as long as a page. `needs`: the act
    for which it is the form; no link leads there for who may not.
    """

    name: str
    path: str
    title: str
    template: str
    look: Callable[[Asked], View]
    icon: str = ""
    key: str = ""
    is_care: bool = False
    takes_form: bool = False
    fragment: str = ""
    within: str = ""
    lines: Callable[[Asked], Iterator[Mapping[str, Any]]] | None = None
    every_s: float = 5.0
    is_live: bool = True
    needs: str = ""

    def matches(self, path: str) -> dict[str, str] | None:
        """Read the names in a path; None if it is not this page's."""
        mine, given = self.path.split("/"), path.split("/")
        if len(mine) != len(given):
            return None
        names: dict[str, str] = {}
        for part, piece in zip(mine, given, strict=True):
            if part.startswith("{"):
                if not piece:
                    return None
                names[part.strip("{}")] = read_spelled(piece)
            elif part != piece:
                return None
        return names


def found_page(pages: Sequence[Page], path: str) -> tuple[Page, dict[str, str]] | None:
    """Find the page of a path below a schedule, and the names in it."""
    return next(((page, names) for page in pages if (names := page.matches(path)) is not None), None)
