"""An addition that a module makes while a listener imports it is refused: each listener would make it again."""

from __future__ import annotations

import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import handlers
from tests.processes import Processes, until
from tests.servers import Server
from tests.worker.observation import named
from workkit import schedule
from workkit.errors import InvalidFunction
from workkit.events import Event
from workkit.schedule import Schedule

Write = Callable[..., str]
HEAD = """
import asyncio
from workkit import aio, job, schedule
s = schedule.create({name!r}, redis={url!r})
def hello(): print("hello from", __name__, flush=True)
@job(cpu=True)
def square(): print("squared in", __name__, flush=True)
"""
LINE = len(HEAD.splitlines()) + 1  # of the first line behind it
TWO = """schedule.add_now(s, hello)
schedule.add(s, in_="1 hour", fn=hello)
"""
GUARDED = 'if __name__ == "__main__":\n    schedule.add_now(s, hello)\n    schedule.add_now(s, square)\n'
REMEDY = r'Put additions below if __name__ == "__main__":, or into a function\.'


@pytest.fixture
def write(tmp_path: Path, server: Server, name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Write a module that this program can import; return its name."""
    stem = "adds_" + re.sub(r"\W", "_", name)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def write(text: str, module: str = "") -> str:
        (tmp_path / f"{stem}{module}.py").write_text(HEAD.format(name=name, url=server.url) + text.format(stem=stem))
        return f"{stem}{module}"

    yield write
    for module in [module for module in sys.modules if module.startswith(stem)]:
        del sys.modules[module]


def listening(s: Schedule, **how: Any) -> None:
    schedule.listener(s, folder=None, **how).start().stop()


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        (TWO, "add_now"),
        ('schedule.add(s, "app:f", every="day at 9am", name="digest")', "add"),
        ('schedule.add_many(s, ({{"fn": hello, "at": "now"}} for _ in range(2)))', "add_many"),
        ("schedule.add_many(s, [])", "add_many"),
        ('schedule.sync(s, {{"digest": {{"fn": hello, "every": "day at 9am"}}}})', "sync"),
        ('@s.every("day at 9am")\ndef digest(): ...\nschedule.sync(s)', "sync"),
        ("asyncio.run(aio.add_now(s, hello))", "add_now"),
        ("asyncio.run(aio.add_many(s, [{{'fn': hello, 'at': 'now'}}]))", "add_many"),
        ("async def main():\n    await aio.add(s, hello, in_='1 hour')\nasyncio.run(main())", "add"),
        ("class Shop:\n    first = schedule.add_now(s, hello)", "add_now"),
    ],
    ids=lambda value: value.partition("(")[0],
)
def test_every_verb_that_adds_is_refused_with_its_line(
    s: Schedule, server: Server, write: Write, text: str, verb: str
) -> None:
    module = write(text)
    with pytest.raises(InvalidFunction) as raised:
        listening(s, imports=[module])
    place = rf"{module}\.py:\d+( \(from {module}\.py:\d+\))?"
    assert re.fullmatch(
        rf'imports=\["{module}"\]: importing it failed: schedule\.{verb} was called at {place} while a listener '
        rf"imported {module}\. {REMEDY}",
        str(raised.value),
    )
    number = LINE + next(n for n, line in enumerate(text.splitlines()) if f"{verb}(" in line or "run(" in line)
    assert f"{module}.py:{number}" in str(raised.value) or "main()" in text
    assert not server.client().keys(f"{s.name}:*")


def test_an_addition_within_a_function_of_another_module_names_both_lines(s: Schedule, write: Write) -> None:
    seeds = write("def seed():\n    schedule.add_now(s, hello)\n", "_seeds")
    module = write("from {stem}_seeds import seed\n\nseed()\n")
    called = rf"at {seeds}\.py:{LINE + 1} \(from {module}\.py:{LINE + 2}\) while a listener imported {module}\. "
    with pytest.raises(InvalidFunction, match=called):
        listening(s, imports=[module])


def test_a_module_within_a_package_is_named_itself(s: Schedule, write: Write) -> None:
    inner = write("schedule.add_now(s, hello)", "_inner")
    with pytest.raises(InvalidFunction, match=rf"{inner}\.py:{LINE} while a listener imported {inner}\. {REMEDY}$"):
        listening(s, imports=[write("import {stem}_inner")])


def test_plans_and_dry_runs_only_collect(s: Schedule, write: Write) -> None:
    text = '@s.every("day at 9am", name="digest")\ndef digest(): ...\nplan = schedule.sync(s, dry_run=True)'
    listening(s, imports=[write(text)], sync=True)
    assert [job.name for job in schedule.jobs(s)] == ["digest"]


def test_an_addition_after_the_import_has_ended_is_made(s: Schedule, write: Write) -> None:
    text = """
import threading
import contextvars
def later():
    ready.wait(20)
    schedule.add_now(s, hello, name="later")
ready = threading.Event()
thread = threading.Thread(target=contextvars.copy_context().run, args=[later])
thread.start()
"""
    module = write(text)
    listening(s, imports=[module])
    sys.modules[module].ready.set()
    sys.modules[module].thread.join(20)
    assert "later" in [job.name for job in schedule.jobs(s)]


def test_a_job_of_another_thread_adds_while_a_module_is_imported(s: Schedule, seen: list[Event], write: Write) -> None:
    module = write("from tests.worker import test_additions_while_importing as here\nhere.hold()\n")
    with schedule.listener(s, imports=["tests.handlers", __name__], folder=Path(".")):
        schedule.add_now(s, f"{module}:hello")
        until(HELD.is_set, what="the import")
        schedule.add_now(s, add_one)
        until(lambda: handlers.calls == [("added",)], what="the addition of the job")
        assert len(named(seen, "done")) <= 2
        GO.set()
        until(lambda: len(named(seen, "done")) == 3)
    assert not named(seen, "cannot_run")


HELD, GO = threading.Event(), threading.Event()


def hold() -> None:
    HELD.set()
    assert GO.wait(20)


def add_one() -> None:
    from workkit import current_job

    on = current_job().schedule
    assert on is not None
    server = next(job for job in OPEN if job.name == on)
    schedule.add_now(server, handlers.note, args=["added"])


OPEN: list[Schedule] = []


@pytest.fixture(autouse=True)
def known(s: Schedule) -> Iterator[None]:
    OPEN.append(s)
    yield
    OPEN.clear()
    HELD.clear()
    GO.clear()


def test_a_program_that_also_holds_its_functions_adds_once(
    s: Schedule, server: Server, processes: Processes, tmp_path: Path, write: Write
) -> None:
    module = write(TWO)
    program = processes.run(sys.executable, f"{module}.py")
    assert program.wait() == 0
    before = {job.id for job in schedule.jobs(s)}
    assert len(before) == 2
    listener = processes.workkit("listen", s.name, "--redis", server.url)
    listener.wait_for(
        rf"cannot run .*importing {module} failed: schedule\.add_now was called at {module}\.py:{LINE} "
        rf"while a listener imported {module}\. {REMEDY}"
    )
    listener.send(signal.SIGTERM)
    assert listener.wait() == 0
    assert {job.id for job in schedule.jobs(s)} == before  # nothing is added, and nothing is lost


def test_a_function_of_a_module_whose_import_failed_does_not_run_half_made(
    s: Schedule, seen: list[Event], write: Write
) -> None:
    module = write("@job\ndef first(): ...\n@job\ndef second(): return WITHIN\n" + TWO + "WITHIN = 1\n")
    schedule.add_now(s, f"{module}:first")
    with schedule.listener(s, folder=Path(".")):
        until(lambda: len(named(seen, "cannot_run")) == 1)
        schedule.add_now(s, f"{module}:second")
        until(lambda: len(named(seen, "cannot_run")) == 2 or named(seen, "dead"))
    assert not named(seen, "dead")
    assert len(list(schedule.jobs(s, state="due"))) == 2


def test_guarded_additions_run_in_threads_and_worker_processes(
    s: Schedule, server: Server, processes: Processes, write: Write
) -> None:
    module = write(GUARDED)
    assert processes.run(sys.executable, f"{module}.py").wait() == 0
    listener = processes.workkit("listen", s.name, "--redis", server.url)
    listener.wait_for(f"hello from {module}")
    listener.wait_for(f"squared in {module}")
    until(lambda: not list(schedule.jobs(s)))


def test_a_worker_process_says_why_it_cannot_import_the_program(
    s: Schedule, server: Server, processes: Processes, write: Write
) -> None:
    module = write(
        "schedule.add_now(s, square)\nfrom workkit import events\n"
        "events.subscribe(lambda event: print(event.fields.get('reason'), flush=True))\n"
        "if __name__ == '__main__':\n    schedule.listen(s)\n"
    )
    program = processes.run(sys.executable, f"{module}.py")
    program.wait_for(
        rf"importing {module} there failed: schedule\.add_now was called at {module}\.py:{LINE} .*{REMEDY}"
    )
    program.send(signal.SIGTERM)
    assert program.wait() == 0
    assert len(list(schedule.jobs(s))) == 1


@pytest.mark.parametrize("more", [(), ("--processes", "2"), ("--sync",)], ids=["alone", "processes", "sync"])
def test_listen_ends_with_status_2_and_one_sentence(
    s: Schedule, server: Server, processes: Processes, write: Write, more: tuple[str, ...]
) -> None:
    module = write('@s.every("day at 9am", name="digest")\ndef digest(): ...\n' + TWO)
    listener = processes.workkit("listen", s.name, "--redis", server.url, "--import", module, *more)
    assert listener.wait() == 2
    listener.wait_for(
        rf"^error: --import {module}: importing it failed: schedule\.add_now was called at {module}\.py:{LINE + 2} .*"
        rf"{REMEDY}$"
    )
    assert len([line for line in listener.lines if line.startswith("error")]) == 1, listener.transcript()
    assert not list(schedule.jobs(s))
