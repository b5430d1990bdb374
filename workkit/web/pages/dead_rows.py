"""Lists of dead jobs, and of the errors they died of, a page at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from workkit.contract.record import attempts_text
from workkit.errors import InvalidOptions
from workkit.jobs.job import Job, argument_text
from workkit.web.address import job_path
from workkit.web.dead.grave import Grave
from workkit.web.dead.groups import Group
from workkit.web.drawing.columns import burst
from workkit.web.drawing.shape import Drawing
from workkit.web.masked_text import MASK
from workkit.web.page import Asked

MOST_MESSAGE: Final = 200  # characters of a message in a list


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A dead job in a list. `args`: its arguments as JSON, to be changed; empty where they are not all there."""

    key: str
    job: Job
    attempts: str
    path: str
    args: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An error in the list, and when its jobs died. `message`: in pieces, each with whether it varies; `rows` are there
    where it is open; `after`: the following ones.
    """

    group: Group
    drawing: Drawing
    message: tuple[tuple[str, bool], ...]
    rows: tuple[Row, ...] = ()
    is_open: bool = False
    after: str = ""


def shown_of(group: Group, asked: Asked, *, rows: tuple[Row, ...], is_open: bool, after: str = "") -> Shown:
    """Draw one error of a list, with the beginning of its message."""
    message = tuple(beginning(group.error.parts, MOST_MESSAGE))
    drawing = burst(group.died, now=asked.now)
    return Shown(group=group, drawing=drawing, message=message, rows=rows, is_open=is_open, after=after)


def beginning(parts: Iterable[tuple[str, bool]], most: int) -> Iterator[tuple[str, bool]]:
    """Cut a message in pieces to `most` characters, ending in an ellipsis where something was cut."""
    for text, varies in parts:
        if len(text) > most:
            yield f"{text[:most]}…", varies
            return
        most -= len(text)
        yield text, varies


def page_of(asked: Asked, graves: tuple[Grave, ...], most: int) -> tuple[tuple[Row, ...], str]:
    """Take a page of dead jobs, and where the following one begins, if there is one."""
    start = start_of([grave.key for grave in graves], asked.params.get("after", ""))
    page = graves[start : start + most]
    return tuple(row_of(grave) for grave in page), page[-1].key if start + most < len(graves) else ""


def start_of(keys: list[str], after: str) -> int:
    """Find where the following page begins. Raises InvalidOptions where its place has left."""
    if not after:
        return 0
    if after not in keys:
        remedy = "Begin again without after."
        raise InvalidOptions.about("after", "names none of them any more", remedy, where="after", given=after[:100])
    return keys.index(after) + 1


def row_of(grave: Grave) -> Row:
    """Show one dead job."""
    job = grave.job
    path = f"{job_path(job.id)}?dead={quote(grave.key, safe='@:')}"
    return Row(
        key=grave.key, job=job, attempts=attempts_text(job), path=path, args=given_json(job) if grave.is_whole else ""
    )


def given_json(job: Job) -> str:
    """Write the arguments of a job as a form takes others for them; nothing where it has both kinds, or hidden ones."""
    given = [*job.args] if job.args or not job.kwargs else dict(job.kwargs)
    written = "" if job.args and job.kwargs else argument_text(given)
    return "" if MASK in written else written
