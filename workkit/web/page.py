"""The type of a page: an address, a template, and a function that makes a frozen view. Also the frame of every page
(rail, bar, pill), made for each request. `Looking` reads one page, and completes its frame.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
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
    """The complete input of a template. Frozen; JSON has the same content."""

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object. Later versions only add keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The request of a page. `pulse` was read for this request, and is masked; `names`: the variable parts of the
    page's path; `params`: the last value of each parameter; `pages`: all pages; `works`: the background work of this
    schedule; `age_s`, set after the look: the age of the oldest part of the view.
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
        """Read the masked log of a past run, or of the last run of a job. Empty where the layout keeps no log."""
        try:
            return self.veil.log(of, self.served.inspector().history.log(of))
        except Unsupported:
            return ()

    def dead(self) -> KnownDead:
        """Return the dead jobs that this process keeps. No call is made where no job is dead."""
        count = self.pulse.counts.dead
        if not count:
            return KnownDead(dead_jobs=(), of=0, is_all=True)
        return self.served.dead(self.veil).look(self.served.inspector(), count=count, reads_whole=False)

    def retry_of(self, id: str | None) -> Job | None:
        """Find the run of a job that waits for a retry, unmasked, with its last error; None if it is not among the
        first 1,000. The recurring job itself waits beside it for its next time.
        """
        if not self.pulse.counts.retrying:
            return None
        waiting = islice(self.served.inspector().jobs(state="retrying"), MOST_RETRYING)
        return next((job for job in waiting if job.id == id and job.failure is not None), None)

    def one_of(self, name: str, accepted: Sequence[str]) -> str:
        """Read a parameter that accepts some words only; the first word is the default. Raises InvalidOptions."""
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

    `path`: below the schedule's address, with names in braces, ``jobs/{which}``. `title`: shown in the bar and, with an
    `icon`, in the rail. `look`: makes the view; it blocks, and runs in a thread. `key`: the letter after g.
    `takes_form`: the page accepts a form, which changes nothing; its fields come as parameters. `fragment`: the
    template that answers a request with the parameter `fragment`, in place of the page. `within`: the page of the rail
    that contains this page. `lines`: makes the whole content of the page as JSON Lines, at its path with `.jsonl`.
    `every_s`: how often an open page is made again while nothing changes; 30 for drawings, which cost more. `is_live`:
    an open page updates by itself; False for a page that is one long form. `needs`: the act of the page's form; users
    who may not act get no link.
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
    parts: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.path.split("/")))

    def matches(self, pieces: Sequence[str]) -> dict[str, str] | None:
        """Return the names in as many pieces of a path; None if the path is not this page's."""
        names: dict[str, str] = {}
        for part, piece in zip(self.parts, pieces, strict=True):
            if part.startswith("{"):
                if not piece:
                    return None
                names[part.strip("{}")] = read_spelled(piece)
            elif part != piece:
                return None
        return names


def found_page(pages: Sequence[Page], path: str) -> tuple[Page, dict[str, str]] | None:
    """Find the page of a path below a schedule, and the names in the path."""
    pieces = path.split("/")
    for page in pages:
        if len(page.parts) == len(pieces) and (names := page.matches(pieces)) is not None:
            return page, names
    return None


THEMES: Final = ("auto", "light", "dark")
ZoneChoice = Literal["mine", "schedule", "UTC"]
COUNTED: Final = {"jobs": "jobs", "dead": "dead", "listeners": "listeners"}


def shown_zone(chosen: tzinfo | None, own: tzinfo) -> tzinfo:
    """Return the zone in which the times of a schedule are shown. A zone other than the schedule's is named beside each
    time.
    """
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
    """A saved filter of a page, with its name. `path` is below the schedule."""

    page: str
    name: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The frame of one answer. `root`: the address under which we are mounted, without a final slash; `token`: goes
    into every form; `feed`: the token to read the schedule's calendar; `away_ms`: for how long the server has not
    answered; `findings`: the number of faults in the last checkup; `counted`: other counts of the rail, by page.
    `age_ms`: the age of the oldest part of the page, where it is old. `live`: the address of the page's stream;
    `polls`: the browser polls that address and opens no stream. `is_shared`: several viewers get the same HTML. `zone`:
    of the shown times; `did_work`: the work in the background since the user's last act. `own_zone`: the schedule's
    zone, in which typed times are read; `chosen`: the zone that the user chose. `views`: those of the user.
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
        """Return whether the user may do an act. Buttons of acts that are not allowed are absent."""
        return verb in ACTS and self.role is not None and may(self.role, ACTS[verb].role)

    @property
    def may_undo(self) -> bool:
        """Return whether the user may undo the last act."""
        if self.did is None or self.role is None or not self.did.undo:
            return False
        return all(may(self.role, act_of(order).role) for order in self.did.undo)

    def typed(self, verb: str, which: str | None = None) -> Mapping[str, str]:
        """Return the typed fields of a refused act: of a job, of the schedule (""), or of the chosen jobs (None)."""
        asked = None if self.did is None else self.did.asked
        if asked is None or asked.verb != verb:
            return {}
        is_it = bool(asked.which) if which is None else asked.which == ((which,) if which else ())
        return asked.fields if is_it else {}

    def is_chosen(self, which: str) -> bool:
        """Return whether a job was chosen for a refused act. It stays chosen."""
        return self.did is not None and self.did.asked is not None and which in self.did.asked.which

    @property
    def undid(self) -> str:
        """The address of this page without the line about the last act."""
        return with_parameter(self.here, "did", None)

    @property
    def number(self) -> str:
        """Return a number for a form, so that the form acts once. Shared HTML has none: the script makes one."""
        return "" if self.is_shared else secrets.token_hex(8)

    @property
    def offset_s(self) -> int:
        """By how much the shown zone is ahead of UTC now, in seconds."""
        offset = None if self.now is None else self.now.astimezone(self.zone).utcoffset()
        return int(offset.total_seconds()) if offset else 0

    @property
    def base(self) -> str:
        """The address of the schedule, with a final slash."""
        return self.schedule_href(self.schedule)

    def schedule_href(self, name: str) -> str:
        """Make the address of another schedule."""
        return _address(self.root, name)

    @property
    def zone_name(self) -> str:
        """The zone of the shown times."""
        return zone_name(self.zone)

    @property
    def own_zone_name(self) -> str:
        """The zone in which typed times are read."""
        return zone_name(self.own_zone)

    @property
    def other_zone(self) -> str:
        """The zone of the shown times, where it is not the schedule's; else ""."""
        return self.zone_name if isinstance(self.zone, OtherZone) else ""

    @property
    def zone_choice(self) -> ZoneChoice:
        """The pressed button of the zone switch."""
        if self.chosen is None:
            return "schedule"
        return "UTC" if zone_name(self.chosen) == "UTC" else "mine"

    def href(self, path: str) -> str | None:
        """Return the address of a path below the schedule; None where no page has the path, or where the page is of no
        use to the user.
        """
        found = found_page(self.pages, path.partition("?")[0])
        if found is None or (found[0].needs and not self.may(found[0].needs)):
            return None
        return self.base + url_path(path)

    def beside(self, schedule: str) -> Frame:
        """Return the frame of another schedule for the same user."""
        return replace(self, schedule=schedule, role=self.who.role(schedule) if self.who is not None else None)

    def items(self, *, care: bool) -> list[Item]:
        """Return the lines of the rail: the pages to look at, or with `care` the pages for maintenance."""
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


@lru_cache(maxsize=1024)
def _address(root: str, schedule: str) -> str:
    return f"{root}/s/{url_path(spelled(schedule))}/"


OLD_S: Final = 30.0  # s; an older view shows its age; the Timeline, which changes least, is written this often
OWN: Final = ("page", "version", "did")
"""Parameters that belong to the stream, or to one viewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looking:
    """A page of a schedule with its names and parameters, and the veil for it."""

    served: Served
    page: Page
    names: Mapping[str, str]
    params: Mapping[str, str]
    veil: Veil
    zone: tzinfo
    works: Works
    pages: Sequence[Page]

    def at(self, pulse: Pulse | None = None) -> tuple[Asked, View]:
        """Make the view, by a known pulse or by a new one. It blocks. Raises WorkkitError."""
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
        """Keep the view, to show it while the server is away. Views with typed text are not kept for other users."""
        if self.page.takes_form or self.page.fragment:
            return
        self.served.keep(f"{self.page.name} {frame.role}", (asked.now, view))

    def framed(self, frame: Frame, asked: Asked) -> Frame:
        """Add the facts to the frame that are known after the look."""
        checked = self.served.checkup.known()
        return replace(
            frame, title=self.page.title, page=self.page.within or self.page.name, now=asked.now,
            counts=asked.pulse.counts, findings=None if checked is None else len(checked.findings), works=asked.works,
            age_ms=asked.age_s * 1000 if asked.age_s > OLD_S else None, counted=self.served.rail.glance(),
        )  # fmt: skip
