"""`manage.py workkit`: the whole command line of workkit, on the schedules and the server that the settings name."""

from __future__ import annotations

import os
import sys
from argparse import REMAINDER, ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from workkit.brokers.redis_server.address import masked
from workkit.cli import main
from workkit.cli.options import SCHEDULES_ENV
from workkit.cli.settings import Host
from workkit.django.apps import schedules
from workkit.text.wording import listed
from workkit.verbs.creation import Schedule

OURS = ("--settings", "--pythonpath")  # read by manage.py already
PROJECT = "workkit.django.project"
OFFLINE = ("help", "next", "explain", "schema", "completion", "demo")
SERVER = ("--redis", "--embedded")


class Command(BaseCommand):  # type: ignore[misc]  # untyped
    """``manage.py workkit COMMAND ...``."""

    help = "Listen, add, look and all else of workkit: manage.py workkit --help"
    requires_system_checks = ()

    def run_from_argv(self, argv: Sequence[str]) -> None:
        """Pass all words on, also ``--help``."""
        try:
            status = run(own_words(argv[2:]))
        except ImproperlyConfigured as error:
            self.stderr.write(f"error: {error}")
            status = 2
        sys.exit(status)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take any words, from `call_command`."""
        parser.add_argument("words", nargs=REMAINDER)

    def handle(self, *_: Any, words: Sequence[str], **__: Any) -> None:
        """Run a command line for `call_command`. Raises CommandError; the error is on stderr."""
        try:
            status = run(words)
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error
        if status:
            raise CommandError(f"workkit {' '.join(words[:1])} ended with status {status}", returncode=status)


def run(words: Sequence[str]) -> int:
    """Run a command line of workkit in this project; return its exit status. Raises ImproperlyConfigured."""
    found = schedules()
    servers = _servers([s for s in found if s.name in words] or found)
    if found:
        os.environ.setdefault(SCHEDULES_ENV, ",".join(dict.fromkeys(s.name for s in found)))
        os.environ["WORKKIT_TZ"] = found[0].tz  # the zone in which the project reads words
    if len(servers) == 1:
        os.environ["WORKKIT_REDIS_URL"] = servers[0]  # the settings decide for the project, so here too
    elif servers and _needs_server(words):
        shown = listed([masked(url) for url in servers])
        raise ImproperlyConfigured(f"the settings name schedules on several servers, {shown}. Add --redis URL.")
    status = main(words, host=Host(command=started_as(), imports=(PROJECT,)))
    if list(words) in (["--help"], ["-h"], ["help"]):
        print(about([s.name for s in found], _servers(found)))
    return status


def _needs_server(words: Sequence[str]) -> bool:
    """Return whether a command line needs a server and names none."""
    is_offline = not words or words[0] in OFFLINE or words[0].startswith("-")
    return not is_offline and not any(word.partition("=")[0] in SERVER for word in words)


def _servers(found: Sequence[Schedule]) -> list[str]:
    return list(dict.fromkeys(s.redis for s in found if isinstance(s.redis, str)))


def own_words(words: Sequence[str]) -> list[str]:
    """Leave out the options that manage.py has read."""
    kept: list[str] = []
    given = iter(words)
    for word in given:
        if word in OURS:
            next(given, None)
        elif not word.startswith(tuple(f"{option}=" for option in OURS)):
            kept.append(word)
    return kept


def started_as() -> tuple[str, ...]:
    """Return the words that start this program again, up to the words of workkit; `listen --processes` uses them."""
    words = sys.argv[1:]
    if words[:1] == ["workkit"] and sys.orig_argv[-len(words) :] == words:
        return (sys.executable, *sys.orig_argv[1 : -len(words)], "workkit")
    return (sys.executable, "-m", "django", "workkit")  # called by a program; DJANGO_SETTINGS_MODULE names the project


def about(names: Sequence[str], servers: Sequence[str]) -> str:
    """Describe the differences of the command line in a project."""
    if not names:
        said = 'Its settings name no schedule yet: WORKKIT = {"schedule": "shop", "redis": "redis://127.0.0.1:6379/"}.'
    else:
        said = f"Its settings name {listed(names)} on {listed([masked(url) for url in servers])}."
    return f"""
  In this project write: manage.py workkit COMMAND. {said}
  A SCHEDULE may be left out in listen and the Look commands; --redis wins over the settings.
  Listeners import jobs.py of the installed apps, and tasks.py where TASKS has a backend of workkit."""
