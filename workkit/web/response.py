"""Responses: HTML from templates, JSON and refusals, each with an `ETag`; the static files; and the threads for
blocking calls.

Every value that a template prints passes `_sound`: it spells out control, bidi and other characters that could hide
text, and autoescape does the rest. So no value on the server can change a page. At most 8 threads call servers at once,
and a request waits at most 2 s for a free thread.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from workkit._version import __version__
from workkit.contract.mask import hidden_paths
from workkit.contract.record import attempts_text, compact
from workkit.errors import (
    Ambiguous,
    ChangedMeanwhile,
    Invalid,
    NotFound,
    ServerError,
    ServerUnreachable,
    Unsupported,
    WorkkitError,
)
from workkit.jobs.job import Job, call_text
from workkit.jobs.names import shown
from workkit.jobs.terms import instant_of
from workkit.text.cells import shorten
from workkit.text.glance import away, bound_text, clock_at, full_moment, moment, towards
from workkit.text.wording import duration_text, plural, printable, progress
from workkit.triggers.zone import zone as read_zone
from workkit.triggers.zone import zone_names
from workkit.web import words
from workkit.web.actions.action import NotAllowed, Result
from workkit.web.cache import Served
from workkit.web.page import OWN, Frame
from workkit.web.sentences import away_sentence
from workkit.web.words import job_path, url_path

LONGEST_VALUE = 6_000  # characters of a parameter; a place in a list may be long


class Refused(Exception):
    """A refused request: its status, a sentence, and links to other pages (text, path below the root). `form`: the
    fields of a form that the user may send again, with another token.
    """

    def __init__(
        self,
        status: int,
        sentence: str,
        *,
        links: tuple[tuple[str, str], ...] = (),
        fields: Mapping[str, Any] | None = None,
        headline: str = "",
        form: Mapping[str, list[Any]] | None = None,
    ) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.links, self.fields = status, sentence, links, dict(fields or {})
        self.headline = headline or sentence  # the headline of an HTML page
        self.form = form

    @property
    def suggestion(self) -> str | None:
        """The path, below the schedule, of the job with the nearest name."""
        found = self.fields.get("suggestion")
        return job_path(found) if isinstance(found, str) else None

    @property
    def candidates(self) -> list[tuple[str, str]]:
        """The ids with the same beginning, each with the path of its page below the schedule."""
        return [(id, job_path(id)) for id in self.fields.get("ids", ())]

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        return {"error": self.sentence, **self.fields}


@dataclass(frozen=True, slots=True)
class Status:
    """The status of an error of ours."""

    kind: type[WorkkitError]
    code: int


STATUSES = (
    Status(NotFound, 404),
    Status(NotAllowed, 403),
    Status(ChangedMeanwhile, 409),
    Status(ServerError, 503),
    Status(Unsupported, 501),
    Status(Invalid, 400),
)


def refusal_of(error: WorkkitError) -> Refused:
    """Make the refusal for an error of ours: its sentence, and its fields for programs."""
    status = next((one.code for one in STATUSES if isinstance(error, one.kind)), 500)
    names = ("given", "position", "accepted", "suggestion")
    fields = {name: getattr(error, name) for name in names}
    if isinstance(error, Ambiguous):
        fields["ids"] = list(error.ids)
    headline = away_sentence(error) if isinstance(error, ServerError) and status == 503 else ""
    return Refused(status, str(error), fields=fields, headline=headline)


def html(request: Request, template: str, values: Mapping[str, Any], *, status: int = 200) -> Response:
    """Answer an HTML page."""
    return _tagged(request, render(template, values).encode("utf-8", "replace"), "text/html; charset=utf-8", status)


def json_answer(request: Request, record: Mapping[str, Any], *, status: int = 200) -> Response:
    """Answer a JSON object."""
    return _tagged(request, compact(record).encode() + b"\n", "application/json", status)


def calendar_answer(request: Request, text: bytes) -> Response:
    """Answer a calendar."""
    return _tagged(request, text, "text/calendar; charset=utf-8", 200)


def _tagged(request: Request, body: bytes, kind: str, status: int) -> Response:
    headers = {"content-type": kind, "vary": "Accept, Cookie", "cache-control": "no-store"}
    if status == 503:
        headers["retry-after"] = "2"
    if status in (408, 413):  # the rest of the request is still on its way
        headers["connection"] = "close"
    if status == 200:
        headers["etag"] = tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
    return Response(body, status_code=status, headers=headers)


def wants_json(request: Request) -> bool:
    """Return whether the request wants JSON, by its address or by `Accept`."""
    accepted = request.headers.get("accept", "")
    return request.url.path.endswith(".json") or ("application/json" in accepted and "text/html" not in accepted)


def last_values(request: Request) -> dict[str, str]:
    """Read the parameters of the address. Of a repeated one, the last value counts."""
    return {name: value for name, value in request.query_params.multi_items() if len(value) <= LONGEST_VALUE}


def result_record(result: Result | None, number: str) -> dict[str, Any]:
    """Return the result of an act as a JSON object, with the number that undoes it. None: the same form was sent twice,
    and the first act still runs.
    """
    if result is None:
        return {"error": "this act is being done already."}
    refused = [{"which": which, **refusal_of(error).record()} for which, error in result.refused]
    undo = number if result.undo else None
    return {
        "done": list(result.done),
        "line": result.line,
        "refused": refused,
        "undo": undo,
        "work": result.work or None,
    }


def result_status(result: Result | None) -> int:
    """Return the status of an act: 207 where a part failed, and that of the first error where all failed."""
    if result is None:
        return 409
    if not result.refused:
        return 200
    return 207 if result.done else refusal_of(result.refused[0][1]).status


THREADS: Final = 8
PATIENCE_S: Final = 2.0
LONGEST_S: Final = 10.0

T = TypeVar("T")


class Asking:
    """The threads that call servers. They start with the first call."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._busy = 0
        self._turns: list[asyncio.Future[None]] = []

    async def call(self, function: Callable[[], T]) -> T:
        """Call a function in a thread. Raises Refused (503) where no thread was free for 2 s; ServerUnreachable where
        the call takes longer than 15 s.
        """
        await self._turn()
        self._pool = self._pool or ThreadPoolExecutor(THREADS, thread_name_prefix="workkit-web")
        loop = asyncio.get_running_loop()
        asked = loop.run_in_executor(self._pool, function)
        asked.add_done_callback(self._free)
        asked.add_done_callback(lambda done: done.cancelled() or done.exception())  # the caller may have left
        try:
            return await asyncio.wait_for(asyncio.shield(asked), LONGEST_S)
        except TimeoutError:
            raise ServerUnreachable(f"the server has not answered within {LONGEST_S:g} s.") from None

    async def of(self, served: Served, function: Callable[[], T]) -> T:
        """Call the server of a schedule, and note whether it answers. Raises as `call`."""
        try:
            found = await self.call(function)
        except ServerError as error:
            served.lost(error)
            raise
        served.reached()
        return found

    async def _turn(self) -> None:
        if self._busy < THREADS:
            self._busy += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._turns.append(turn)
        try:
            await asyncio.wait_for(turn, PATIENCE_S)
        except TimeoutError:
            if turn in self._turns:
                self._turns.remove(turn)
            raise Refused(503, "Too many pages are asked for at once. Try again.") from None

    def _free(self, _: object) -> None:
        while self._turns:
            turn = self._turns.pop(0)
            if not turn.done():
                turn.set_result(None)
                return
        self._busy -= 1


HERE: Final = Path(__file__).parent
STATIC: Final = HERE / "static"
TYPES: Final = {"workkit.css": "text/css; charset=utf-8", "workkit.js": "text/javascript; charset=utf-8"}
TEXTS: Final = re.compile(rb"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)""")
BLANKS: Final = re.compile(rb"\s*([=<>?:;,{}()\[\]&|!*%]+|(?<= )[+/-]=?(?= ))\s*")
LONGEST_LINE, LONGEST_TEXT = 200, 64_000
SIGNS: Final[Mapping[str, str]] = {
    "running": "run", "cancelling": "run", "retrying": "fail", "dead": "fail", "paused": "pause", "done": "done",
}  # fmt: skip


@cache
def environment() -> Environment:
    """Prepare the templates, once."""
    env = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_sound,
        auto_reload=False,
        cache_size=-1,
    )
    env.filters |= {
        "age": away,
        "at": instant_of,
        "brief": lambda text: shorten(printable(text), LONGEST_LINE),
        "count": lambda n: f"{n:,}",
        "plural": plural,
        "took": duration_text,
        "under": bound_text,
        "progress": progress,
        "percent": _percent,
        "args": _args,
        "hidden_paths": hidden_paths,
        "shown": shown,
        "fn": lambda job: shown(job.fn),
        "job_path": lambda job: job_path(job.name or job.id),
        "which_path": job_path,
        "url_path": url_path,
        "said": words.plain,
        "clock_at": clock_at,
        "zone_of": lambda trigger: read_zone(trigger.tz),
        "attempts": attempts_text,
        "sign": lambda state: SIGNS.get(state, "wait"),
        "state_word": lambda state: words.STATE_WORDS.get(state, state),
    }
    env.globals |= {"static": static_name, "zones": lambda: zone_names().values()}
    return env


def make_ready() -> None:
    """Compile all templates before the first request."""
    for name in environment().list_templates():
        environment().get_template(name)


def render(template: str, values: Mapping[str, Any]) -> str:
    """Write one page."""
    frame, now = values["frame"], values["frame"].now
    zone = frame.zone

    def clock(at: datetime) -> str:
        return moment(at, now, zone)

    def instant(at: datetime) -> str:
        return full_moment(at, now, zone)

    def until(at: datetime) -> str:
        return words.until(at, now)

    def ago(at: datetime) -> str:
        return towards(at, now)

    return environment().get_template(template).render(**values, clock=clock, instant=instant, until=until, ago=ago)


@cache
def static_files() -> dict[str, bytes]:
    """Read the static files, once."""
    found = {name: (STATIC / name).read_bytes() for name in TYPES}
    return found | {name: _lean(found[name]) for name in found if name.endswith(".js")}


def _lean(script: bytes) -> bytes:
    """Shorten our script: without indents, comment lines, and blanks beside signs outside of strings."""
    lines = (line.strip() for line in script.splitlines())
    parts = TEXTS.split(b"\n".join(line for line in lines if line and not line.startswith(b"//")))
    return b"".join(
        part if k % 2 else BLANKS.sub(rb"\1", part).replace(b"const ", b"let ").replace(b";}", b"}")
        for k, part in enumerate(parts)
    )


@cache
def static_name(name: str) -> str:
    """Name a static file by its content, so that browsers may cache it forever."""
    return f"{hashlib.sha256(static_files()[name]).hexdigest()[:16]}/{name}"


@cache
def static_version() -> str:
    """Return the version that an open page must match: of the script, the stylesheet and workkit."""
    names = "".join(static_name(name) for name in TYPES)
    return hashlib.sha256(f"{names}{__version__}".encode()).hexdigest()[:16]


def write(template: str, **values: Any) -> str:
    """Render a part of a page."""
    return environment().get_template(template).render(**values)


def _sound(value: Any) -> Any:
    if isinstance(value, str) and not isinstance(value, Markup):
        text = value if value.isprintable() else "\n".join(map(printable, value.split("\n")))
        return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "…"
    return value


def _args(job: Job) -> str:
    """Write the arguments of a call, with their brackets."""
    return call_text(job).removeprefix(printable(shown(job.fn)))


def _percent(value: tuple[float, float]) -> int:
    done, of = value
    return max(0, min(100, round(100 * done / of))) if of > 0 else 0


def live_address(frame: Frame, path: str, params: Mapping[str, str]) -> str:
    """Return the address of a page's stream: that of its schedule, with the page, its parameters, and our version."""
    known = {name: value for name, value in params.items() if name not in OWN}
    return f"{frame.base}live?{urlencode({'page': path, 'version': static_version(), **known})}"
