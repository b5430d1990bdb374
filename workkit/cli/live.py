"""Words that a shell completes from what is there: schedules of the settings, ids of jobs. Never an error."""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress
from itertools import islice
from pathlib import Path

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from workkit.cli.options import EMBEDDED_SCHEME, server_url
from workkit.cli.printing import wording
from workkit.cli.settings import read_settings

FRESH_SECONDS = 5.0
MOST = 200


class ScheduleName(StringParamType):
    """A schedule, completed from the settings."""

    name = "schedule"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Name the schedules of the settings."""
        with suppress(Exception):
            return [CompletionItem(name) for name in read_settings().schedules if name.startswith(incomplete)]
        return []


class Which(StringParamType):
    """A job, completed by the beginnings of the ids that are there."""

    name = "which"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Name the jobs of the schedule that stands before; a private server is not started for that."""
        with suppress(Exception):
            words = ctx.params.get("words") or (ctx.params.get("schedule"),)
            url = server_url(ctx.params.get("redis"), ctx.params.get("embedded"))
            if words[0] and not (url or "").startswith(EMBEDDED_SCHEME):
                found = _jobs(words[0], url).items()
                return [CompletionItem(name, help=text) for name, text in found if name.startswith(incomplete)]
        return []


def _jobs(schedule: str, url: str | None) -> dict[str, str]:
    """Read beginnings of ids and what they call, at most every five seconds; also that nothing could be read."""
    server = url or os.environ.get("WORKKIT_REDIS_URL") or os.environ.get("REDIS_URL") or ""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "workkit"
    digest = hashlib.sha256("\n".join((server, schedule)).encode()).hexdigest()
    kept = home / f"{digest[:24]}.json"
    if kept.is_file() and time.time() - kept.stat().st_mtime < FRESH_SECONDS:
        return dict(json.loads(kept.read_text(encoding="utf-8")))
    found: dict[str, str] = {}
    with suppress(Exception):
        from workkit import schedule as verbs

        jobs = islice(verbs.jobs(verbs.create(schedule, redis=url)), MOST)
        found = {job.id[:8]: wording.shorten(wording.call_text(job), 60) for job in jobs}
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = kept.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps(found), encoding="utf-8")
    part.replace(kept)
    return found
