"""What a page is: an address, a template, and a function from what is asked to a frozen view value. And the frame of
every page: the rail, the bar, the pill; made anew for each request. `Looking` reads one page, and completes its frame.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from itertools import islice
from typing import Any, Final, Literal, Protocol

from workkit.contract.history import PastRun
from workkit.contract.inspector import Counts, Pulse
from workkit.errors import InvalidOptions, Unsupported
from workkit.jobs.job import Job
from workkit.text.glance import OtherZone
from workkit.text.wording import zone_name
from workkit.web.actions.action import Result
from workkit.web.actions.perform import ACTS, act_of
from workkit.web.auth import Role, Who, may
from workkit.web.cache import Served
from workkit.web.dead_jobs import KnownDead
from workkit.web.mask import Veil
from workkit.web.words import read_spelled, spelled, url_path, with_parameter
from workkit.web.works import Work, Works

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


THEMES: Final = ("auto", "light", "dark")
ZoneChoice = Literal["mine", "schedule", "UTC"]
COUNTED: Final = {"jobs": "jobs", "dead": "dead", "listeners": "listeners"}


def shown_zone(chosen: tzinfo | None, own: tzinfo) -> tzinfo:
    """Choose the zone in which the times of a schedule are shown; one that is not its own is named beside each."""
    is_own = chosen is None or zone_name(chosen) == zone_name(own)
    return own if chosen is None or is_own else OtherZone(zone_name(chosen))


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A line of the rail."""

    page: Page
    href: str
    n: int | None = None
    is_here: bool = False
    is_bad: bool = False
    is_odd: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedView:
    """A filter of a page, and its name. `path` is below the schedule."""

    page: str
    name: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The frame of one answer. `root` is the address under which we are mounted, without a final slash; `token` goes
    into every form; `feed` reads the calendar of the schedule; `away_ms` says for how long the server has not answered;
    `findings`: how many the last checkup has; `counted`: what else the rail counts, by page. `age_ms`: a part of the
    page was read so long ago. `live`: the address of the page's stream, and `polls`: it is asked for again and again in
    place of a stream. `is_shared`: several viewers get what is written. `zone`: that of the times that are shown;
    `did_work`: what goes on, or went on, since the asker's last act. `own_zone`: that of the schedule, in which typed
    times are read; `chosen`: the one that the asker wants. `views`: those of the
    asker.
    """

    root: str
    here: str
    title: str
    theme: str
    zone: tzinfo
    pages: Sequence[Page]
    schedule: str = ""
    several: bool = False
    env: str = ""
    brand: str = ""
    page: str = ""
    who: Who | None = None
    role: Role | None = None
    token: str = ""
    feed: str = ""
    has_login: bool = False
    now: datetime | None = None
    away_ms: int | None = None
    counts: Counts | None = None
    counted: Mapping[str, int] = field(default_factory=dict)
    findings: int | None = None
    did: Result | None = None
    did_number: str = ""
    did_work: Work | None = None
    works: Sequence[Work] = ()
    age_ms: float | None = None
    live: str = ""
    polls: bool = False
    is_shared: bool = False
    own_zone: tzinfo = UTC
    chosen: tzinfo | None = None
    views: Sequence[SavedView] = ()

    def may(self, verb: str) -> bool:
        """Say whether the asker may do something. Buttons for what is not allowed are absent."""
        return verb in ACTS and self.role is not None and may(self.role, ACTS[verb].role)

    @property
    def may_undo(self) -> bool:
        """Say whether the asker may undo what was done."""
        if self.did is None or self.role is None or not self.did.undo:
            return False
        return all(may(self.role, act_of(order).role) for order in self.did.undo)

    def typed(self, verb: str, which: str | None = None) -> Mapping[str, str]:
        """Give what was typed into the form of an act that was refused: that of a job, of the schedule (""), or of
        those that were chosen (None). Nothing else.
        """
        asked = None if self.did is None else self.did.asked
        if asked is None or asked.verb != verb:
            return {}
        is_it = bool(asked.which) if which is None else asked.which == ((which,) if which else ())
        return asked.fields if is_it else {}

    def is_chosen(self, which: str) -> bool:
        """Say whether a job is one of those for which an act was refused: it stays chosen."""
        return self.did is not None and self.did.asked is not None and which in self.did.asked.which

    @property
    def undid(self) -> str:
        """The address of this page without the line that says what was done."""
        return with_parameter(self.here, "did", None)

    @property
    def number(self) -> str:
        """A number for a form, so that it acts once. In what is shared there is none: the script makes one."""
        return "" if self.is_shared else secrets.token_hex(8)

    @property
    def offset_s(self) -> int:
        """By how much the shown zone is before UTC at this moment, in seconds."""
        offset = None if self.now is None else self.now.astimezone(self.zone).utcoffset()
        return int(offset.total_seconds()) if offset else 0

    @property
    def base(self) -> str:
        """The address of the schedule, with a final slash."""
        return self.schedule_href(self.schedule)

    def schedule_href(self, name: str) -> str:
        """Make the address of another schedule."""
        return f"{self.root}/s/{url_path(spelled(name))}/"

    @property
    def zone_name(self) -> str:
        """The zone of the times."""
        return zone_name(self.zone)

    @property
    def own_zone_name(self) -> str:
        """The zone in which typed times are read."""
        return zone_name(self.own_zone)

    @property
    def other_zone(self) -> str:
        """The zone of the times, where it is not the schedule's; else nothing."""
        return self.zone_name if isinstance(self.zone, OtherZone) else ""

    @property
    def zone_choice(self) -> ZoneChoice:
        """Which button of the switch is pressed."""
        if self.chosen is None:
            return "schedule"
        return "UTC" if zone_name(self.chosen) == "UTC" else "mine"

    def href(self, path: str) -> str | None:
        """Make the address of a path below the schedule; None where no page has it, or one that is of no use to the
        asker.
        """
        bare = path.partition("?")[0]
        found = next((page for page in self.pages if page.matches(bare) is not None), None)
        if found is None or (found.needs and not self.may(found.needs)):
            return None
        return self.base + url_path(path)

    def beside(self, schedule: str) -> Frame:
        """Make the frame that a schedule would have for the same asker."""
        return replace(self, schedule=schedule, role=self.who.role(schedule) if self.who is not None else None)

    def items(self, *, care: bool) -> list[Item]:
        """Make the lines of the rail: those of looking, or those of care."""
        return [
            Item(
                page=page,
                href=self.base + page.path,
                n=self._count(page),
                is_here=page.name == self.page,
                is_odd=page.name == "doctor",
                is_bad=page.name == "dead" and bool(self.counts and self.counts.dead > self.counts.known_dead),
            )
            for page in self.pages
            if page.icon and page.is_care == care
        ]

    def _count(self, page: Page) -> int | None:
        if page.name == "doctor":
            return self.findings or None
        if page.name in self.counted:
            return self.counted[page.name]
        if self.counts is None or page.name not in COUNTED or COUNTED[page.name] in self.counts.unknown:
            return None
        if page.name == "jobs":
            return self.counts.all
        n: int = getattr(self.counts, COUNTED[page.name])
        return n


OLD_S: Final = 30.0  # what is older says so: the Timeline, the page that changes least, is written again so often
OWN: Final = ("page", "version", "did")
"""Parameters that are the stream's, or of one viewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looking:
    """A page of a schedule with its names and parameters, and what of it may be seen."""

    served: Served
    page: Page
    names: Mapping[str, str]
    params: Mapping[str, str]
    veil: Veil
    zone: tzinfo
    works: Works
    pages: Sequence[Page]

    def at(self, pulse: Pulse | None = None) -> tuple[Asked, View]:
        """Look, by a pulse that is known, or by a new one. It blocks. Raises WorkkitError."""
        pulse = self.veil.pulse(pulse or self.served.pulse())
        asked = Asked(
            served=self.served, pulse=pulse, veil=self.veil, zone=self.zone, names=self.names, params=self.params,
            pages=self.pages, works=self.works.of(self.served.name),
        )  # fmt: skip
        self.served.begin_look()
        view = self.page.look(asked)
        self.served.shown_age_s = age_s = self.served.oldest_s
        return replace(asked, age_s=age_s), view

    def keep(self, asked: Asked, view: View, frame: Frame) -> None:
        """Keep what was seen, to be shown while the server is away. What somebody has typed is not shown to others."""
        if self.page.takes_form or self.page.fragment:
            return
        self.served.keep(f"{self.page.name} {frame.role}", (asked.now, view))

    def framed(self, frame: Frame, asked: Asked) -> Frame:
        """Add to the frame what is known once the page was looked at."""
        checked = self.served.checkup.known()
        return replace(
            frame, title=self.page.title, page=self.page.within or self.page.name, now=asked.now,
            counts=asked.pulse.counts, findings=None if checked is None else len(checked.findings), works=asked.works,
            age_ms=asked.age_s * 1000 if asked.age_s > OLD_S else None, counted=self.served.rail.glance(),
        )  # fmt: skip
