"""Values to HTML: the templates, the filters they use, and the static files by their hashes.

Whatever a template prints passes `_sound`: control, bidi and other characters that could hide text are spelled out, and
autoescape does the rest. So nothing that the server holds can steer a page.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from workkit._version import __version__
from workkit.contract.mask import hidden_paths
from workkit.contract.record import attempts_text
from workkit.jobs.job import Job, call_text
from workkit.jobs.names import shown
from workkit.text.cells import shorten
from workkit.text.glance import away, bound_text, clock_at, full_moment, moment, towards
from workkit.text.wording import duration_text, plural, printable, progress
from workkit.triggers.zone import zone as read_zone
from workkit.triggers.zone import zone_names
from workkit.web import words
from workkit.web.address import job_path, url_path

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
    """Make the templates ready, once."""
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
    """Compile all templates, before somebody waits for one."""
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
    """Leave out what a browser does not need of our script: indents, lines that are comments, and blanks beside signs
    outside of texts.
    """
    lines = (line.strip() for line in script.splitlines())
    parts = TEXTS.split(b"\n".join(line for line in lines if line and not line.startswith(b"//")))
    return b"".join(
        part if k % 2 else BLANKS.sub(rb"\1", part).replace(b"const ", b"let ").replace(b";}", b"}")
        for k, part in enumerate(parts)
    )


@cache
def static_name(name: str) -> str:
    """Name a static file by its content, so that browsers may keep it for ever."""
    return f"{hashlib.sha256(static_files()[name]).hexdigest()[:16]}/{name}"


@cache
def static_version() -> str:
    """Name what a page that is open must fit: the script, the stylesheet and this version of workkit."""
    names = "".join(static_name(name) for name in TYPES)
    return hashlib.sha256(f"{names}{__version__}".encode()).hexdigest()[:16]


def write(template: str, **values: Any) -> str:
    """Write a part of a page."""
    return environment().get_template(template).render(**values)


def _sound(value: Any) -> Any:
    if isinstance(value, str) and not isinstance(value, Markup):
        text = value if value.isprintable() else "".join(c if c == "\n" else printable(c) for c in value)
        return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "…"
    return value


def _args(job: Job) -> str:
    """Write the arguments of a call, with their brackets."""
    return call_text(job).removeprefix(printable(shown(job.fn)))


def _percent(value: tuple[float, float]) -> int:
    done, of = value
    return max(0, min(100, round(100 * done / of))) if of > 0 else 0
