"""Completions of a shell from live data: schedules, batches, names and ids of jobs, functions. They never fail.

A request to a server takes a moment only, and comes at most every five seconds. A private server is not started for it.
Below: jobs of every state. Layouts that cannot list some states list the others, with a note.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from workkit.brokers.layout import Layout, chosen_layout
from workkit.cli import terminal
from workkit.cli.options import EMBEDDED_SCHEME, SCHEDULES_ENV, server_url
from workkit.cli.settings import read_settings
from workkit.jobs.job import call_text, spoken
from workkit.text import wording
from workkit.text.cells import shorten

if TYPE_CHECKING:
    from workkit.contract.where import Where
    from workkit.jobs.job import Job, JobState
    from workkit.schedule import Schedule

FRESH_SECONDS = 5.0
MOMENT_SECONDS = 0.8  # the most seconds that completion may take
MOST = 200
Found = dict[str, str]  # the text to type -> its description


class ScheduleName(StringParamType):
    """A schedule, completed from the settings, the environment and the server."""

    name = "schedule"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the known schedules."""
        known: Found = {}
        with suppress(Exception):
            known |= dict.fromkeys(read_settings().schedules, "")
        known |= dict.fromkeys(filter(None, map(str.strip, os.environ.get(SCHEDULES_ENV, "").split(","))), "")
        return _items(known | _live(ctx, "", _schedules), incomplete)


class Which(StringParamType):
    """A job, completed by the names and the beginnings of the ids of present jobs."""

    name = "which"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the jobs of the schedule before this word."""
        return _items(_live(ctx, _schedule_of(ctx), _jobs), incomplete)


class DeadWhich(StringParamType):
    """A dead job, completed by the beginnings of the ids in the dead set."""

    name = "which"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the dead jobs of the schedule before this word."""
        return _items(_live(ctx, _schedule_of(ctx), _dead), incomplete)


class FunctionOfJobs(StringParamType):
    """A function, completed by those of the present jobs."""

    name = "function"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the functions of the schedule before this word."""
        return _items(_live(ctx, _schedule_of(ctx), _functions), incomplete)


class TagOfJobs(StringParamType):
    """A tag, completed by those of the present jobs."""

    name = "tag"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the tags of the jobs of the schedule before this word."""
        return _items(_live(ctx, _schedule_of(ctx), _tags), incomplete)


class BatchName(StringParamType):
    """A batch, completed by the names of those that are there."""

    name = "name"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the batches of the schedule before this word."""
        return _items(_live(ctx, _schedule_of(ctx), _batches), incomplete)


def _items(found: Mapping[str, str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(word, help=text or None) for word, text in found.items() if word.startswith(incomplete)]


def _schedule_of(ctx: click.Context) -> str:
    """Return the schedule of the words before. While click completes the value of an option, it has not read them."""
    words = ctx.params.get("words") or (ctx.params.get("schedule"),)
    if words[0]:
        return str(words[0])
    with suppress(ValueError):
        return next((word for word in shlex.split(os.environ.get("COMP_WORDS", ""))[2:] if word[0] != "-"), "")
    return ""


def _live(ctx: click.Context, schedule: str, read: Callable[[str, str | None, str], Found]) -> Found:
    """Read completions from the server, or from the cache; nothing if the server does not answer in time."""
    found: Found = {}

    def look() -> None:
        with suppress(Exception):
            layout = chosen_layout(ctx.params.get("layout"))
            url = None if layout.place else _redis_url(ctx)
            if not (url or "").startswith(EMBEDDED_SCHEME):
                kept = url or "", read.__name__, schedule, layout.name, *_own(ctx, layout)
                found.update(_kept(kept, lambda: read(schedule, url, layout.name)))

    if not schedule and read is not _schedules:
        return {}
    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    looking.join(MOMENT_SECONDS)
    return dict(found)


def _redis_url(ctx: click.Context) -> str | None:
    url = server_url(ctx.params.get("redis"), ctx.params.get("embedded"))
    return url or os.environ.get("WORKKIT_REDIS_URL") or os.environ.get("REDIS_URL")


def _own(ctx: click.Context, layout: Layout) -> list[str]:
    """Put the options of this layout, from the words before, where `create` looks for them. Return their values."""
    for option in layout.own:
        if value := ctx.params.get(option.name):
            os.environ[option.variable] = value
    return [os.environ.get(option.variable, "") for option in layout.own]


def _kept(key: Iterable[str], read: Callable[[], Found]) -> Found:
    """Read at most every five seconds. A failed read is cached too."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "workkit"
    kept = home / f"{hashlib.sha256(chr(10).join(key).encode()).hexdigest()[:24]}.json"
    with suppress(OSError, ValueError):
        if time.time() - kept.stat().st_mtime < FRESH_SECONDS:
            return dict(json.loads(kept.read_text(encoding="utf-8")))
    found: Found = {}
    with suppress(Exception):
        found = read()
    with suppress(OSError):
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = kept.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(found), encoding="utf-8")
        part.replace(kept)
    return found


def _schedules(_: str, url: str | None, layout: str) -> Found:
    from workkit.brokers.connect import find_schedules

    found = find_schedules(redis=url, layout=layout, seconds=MOMENT_SECONDS)
    return dict.fromkeys(found.names[:MOST], "")


def _jobs(schedule: str, url: str | None, layout: str) -> Found:
    from workkit import schedule as verbs

    s = verbs.create(schedule, redis=url, layout=layout)
    jobs = list(islice(listed_jobs(s, state=None), MOST))
    called = [(job, shorten(call_text(job), 60)) for job in jobs]
    return {job.name: text for job, text in called if job.name} | {job.short_id: text for job, text in called}


def _dead(schedule: str, url: str | None, layout: str) -> Found:
    from workkit import schedule as verbs

    jobs = islice(verbs.jobs(verbs.create(schedule, redis=url, layout=layout), state="dead"), MOST)
    return {job.short_id: shorten(f"{call_text(job)} {job.error or ''}", 60) for job in jobs}


def _functions(schedule: str, url: str | None, layout: str) -> Found:
    from workkit import schedule as verbs

    s = verbs.create(schedule, redis=url, layout=layout)
    jobs = islice(listed_jobs(s, state=None), MOST)
    return {spoken(job.fn): "" for job in jobs}


def _tags(schedule: str, url: str | None, layout: str) -> Found:
    from workkit import schedule as verbs

    s = verbs.create(schedule, redis=url, layout=layout)
    return dict.fromkeys((tag for job in islice(listed_jobs(s, state=None), MOST) for tag in job.tags), "")


def _batches(schedule: str, url: str | None, layout: str) -> Found:
    from workkit import schedule as verbs
    from workkit.verbs.opening import groups_of

    page = groups_of(verbs.create(schedule, redis=url, layout=layout)).groups(limit=MOST)
    return {group.name: group.state for group in page.groups if group.name}


def listed_jobs(s: Schedule, *, state: JobState | None, where: Where | None = None) -> Iterator[Job]:
    """Read the matching jobs of a state, or of every state that the layout can list."""
    from workkit.contract.composed import listable
    from workkit.contract.where import Where, looked_up, meant_jobs
    from workkit.verbs.opening import present, producer_of

    inspector, where = producer_of(s).inspector, where or Where()
    named = looked_up(where, inspector.job, state=state, now=present(s)) if where.lookup else None
    if named is not None:
        return iter(named)
    return meant_jobs(partial(listable, inspector, state), where, now=lambda: present(s))


def unlisted_notes(s: Schedule, state: JobState | None) -> list[str]:
    """Name the jobs that a list of every state omits, because the layout cannot list them."""
    from workkit.verbs.opening import producer_of

    return [] if state is not None else [*producer_of(s).inspector.unlisted().values()]


def talk_once(sentences: Iterable[str]) -> None:
    """Print each sentence once, beside the output."""
    for sentence in dict.fromkeys(sentences):
        terminal.talk(wording.printable(sentence))
