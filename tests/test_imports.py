"""What a program imports, and when: each loads what it uses, and a listener has all before it takes jobs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.processes import ROOT
from tests.servers import Server

HEAVY = ("asyncio", "click", "dateutil", "inspect", "jinja2", "logging", "msgpack", "opentelemetry", "redis", "socket")
ROOMS = ("asgi", "cli", "django", "moving", "testing", "web", "worker")


def printed(program: str) -> set[str]:
    """Run a program in a new process; return the list that it prints as JSON in its last line."""
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return set(json.loads(ran.stdout.splitlines()[-1]))


def imported(program: str) -> set[str]:
    """Run a program in a new process; return the modules that it has imported then."""
    return printed(f"{program}import json, sys\nprint(json.dumps(sorted(sys.modules)))\n")


def beginning(modules: set[str], *names: str) -> list[str]:
    """Select the modules with these names, and those in their packages."""
    return sorted(one for one in modules if one in names or one.startswith(tuple(f"{name}." for name in names)))


def test_the_verbs_import_nothing_before_their_first_use() -> None:
    found = imported("from workkit import schedule\n")
    assert beginning(found, "workkit") == ["workkit", "workkit._version", "workkit.later", "workkit.schedule"]
    assert not beginning(found, *HEAVY, "dataclasses", "datetime")


def test_a_module_that_creates_a_schedule_and_marks_jobs_imports_no_server_and_no_grammar() -> None:
    found = imported(
        "from workkit import job, schedule\n"
        "s = schedule.create('x', redis='redis://:secret@localhost:6379/2', limit=3)\n"
        "@job(retries=3, timeout='5 minutes')\n"
        "def digest() -> None: ...\n"
    )
    assert not beginning(found, *(name for name in HEAVY if name != "inspect"))
    assert not beginning(found, *(f"workkit.{room}" for room in ROOMS), "workkit.brokers.redis_server.server")
    assert not beginning(found, "workkit.triggers.crons.cron", "workkit.triggers.trigger", "workkit.verbs.addition")
    assert len(beginning(found, "workkit")) <= 48


@pytest.mark.parametrize("server", ["redis"], indirect=True)
def test_an_addition_imports_no_listener_no_pages_and_no_other_verb(server: Server) -> None:
    found = imported(
        "from tests.handlers import note\nfrom workkit import schedule\n"
        f"s = schedule.create('imports', redis={server.url!r})\nschedule.add_now(s, note)\n"
    )
    assert "workkit.brokers.native.broker" in found
    assert not beginning(found, "click", "jinja2", *(f"workkit.{room}" for room in ROOMS if room != "worker"))
    assert not beginning(found, "workkit.brokers.native.change", "workkit.brokers.native.look", "getpass")
    assert not beginning(found, "workkit.worker.listener", "workkit.worker.loop", "workkit.worker.settle")
    assert not beginning(found, "workkit.brokers.gocraft", "workkit.brokers.hutch", "workkit.triggers.english.phrase")
    verbs = {"addition", "calling", "creation", "new_job", "opening"}
    assert {one.rpartition(".")[2] for one in beginning(found, "workkit.verbs")} == verbs | {"verbs"}


def test_the_help_imports_no_verb_and_no_server() -> None:
    found = imported("from workkit.cli import main\nmain(['--help'])\n")
    assert not beginning(found, *(name for name in HEAVY if name not in ("click", "inspect")))
    assert not beginning(
        found, "workkit.contract", "workkit.schedule", "workkit.verbs", "workkit.web", "workkit.worker"
    )


@pytest.mark.parametrize("server", ["redis"], indirect=True)
def test_a_listener_has_imported_all_before_it_takes_a_job(server: Server) -> None:
    adding = (
        "from tests.handlers import note\nfrom workkit import schedule\n"
        f"s = schedule.create('warm', redis={server.url!r})\n"
        "schedule.add_now(s, note)\nschedule.add(s, note, every='1 second', name='again', count=1)\n"
    )
    late = printed(
        "import json, subprocess, sys\nfrom tests.processes import until\nfrom workkit import schedule\n"
        f"s = schedule.create('warm', redis={server.url!r})\n"
        "listener = schedule.listener(s, imports=['tests.handlers'])\nlistener.start()\n"
        "until(lambda: len(schedule.listeners(s)) == 1 and not list(schedule.runs(s)))\n"
        "before = set(sys.modules)\n"
        f"subprocess.run([sys.executable, '-c', {adding!r}], check=True)\n"
        "until(lambda: len(list(schedule.runs(s))) == 2)\n"
        "late = set(sys.modules) - before\nlistener.stop()\nprint(json.dumps(sorted(late)))\n"
    )
    assert late == set()
