"""A program that the warm process forks is a process like any other: what a test sees of it is as if it had started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes import Process, Processes, is_alive, parent_of, until
from tests.warm import ROOT, Program, clean_environ

SEEN = """
import json, os, signal, sys
print(json.dumps({
    "argv": sys.argv, "orig_argv": sys.orig_argv, "path": sys.path[:2], "name": __name__,
    "main": sys.modules["__main__"].__name__,
    "folder": os.getcwd(), "environ": dict(os.environ), "streams": [os.isatty(n) for n in range(3)],
    "interrupt": signal.getsignal(signal.SIGINT) is signal.default_int_handler, "group": os.getpgid(0),
    "open": sorted(int(n) for n in os.listdir("/dev/fd") if os.path.exists(f"/dev/fd/{n}")),
    "encoding": [sys.stdin.encoding, sys.stdout.encoding, sys.stderr.errors], "hash": sys.flags.hash_randomization,
    "foreign": sorted({name.partition(".")[0] for name in sys.modules} & {"tests", "pytest", "django", "flask"}),
}))
"""
WAYS = {
    "text": lambda folder: ["-c", SEEN],
    "module": lambda folder: ["-m", "seen"],
    "script": lambda folder: ["seen.py"],
}
Look = Callable[..., object]
is_forked = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")


def of_warm(process: Process) -> bool:
    return parent_of(process.pid) != os.getpid()


@pytest.mark.parametrize("way", WAYS)
def test_a_forked_program_finds_what_a_started_one_finds(processes: Processes, way: str) -> None:
    (processes.folder / "seen.py").write_text(SEEN)
    words = [*WAYS[way](processes.folder), "one", "--two"]
    forked, started = (
        processes.run(sys.executable, *words, env={"MARK": "x", "TZ": "Asia/Tokyo"}, is_warm=warm)
        for warm in (True, False)
    )
    assert (forked.wait(), started.wait()) == (0, 0), forked.transcript()
    assert json.loads(forked.out[0]) == json.loads(started.out[0])


@is_forked
def test_it_is_forked_unless_it_is_to_start_or_its_interpreter_is_another(processes: Processes) -> None:
    wait = "import sys; sys.stdin.readline()"
    assert of_warm(processes.python(wait))
    assert of_warm(processes.python(wait, env={"PYTHONPATH": str(processes.folder)}))
    assert not of_warm(processes.run(sys.executable, "-c", wait, is_warm=False))
    assert not of_warm(processes.run(sys.executable, "-I", "-c", wait))
    assert not of_warm(processes.python(wait, env={"PYTHONHASHSEED": "1"}))


@pytest.mark.parametrize(
    ("source", "status", "last"),
    [
        ("import sys; sys.exit(3)", 3, None),
        ("import sys; sys.exit('so')", 1, "so"),
        ("import sys; sys.exit(300)", 44, None),
        ("def f():\n    1/0\nf()", 1, "ZeroDivisionError: division by zero"),
        ("import os; os.kill(os.getpid(), 9)", -9, None),
        ("import os; os._exit(7)", 7, None),
        ("raise KeyboardInterrupt", -2, "KeyboardInterrupt"),
        ("import atexit; atexit.register(print, 'bye'); raise SystemExit", 0, "bye"),
        (
            "import threading, time; threading.Thread(target=lambda: (time.sleep(0.05), print('late'))).start()",
            0,
            "late",
        ),
        ("import workkit.cli, sys; sys.exit(workkit.cli.main(['bogus']))", 2, None),
    ],
)
def test_its_status_and_its_last_words_are_those_of_a_started_one(
    processes: Processes, source: str, status: int, last: str | None
) -> None:
    forked, started = (processes.run(sys.executable, "-c", source, is_warm=warm) for warm in (True, False))
    assert (forked.wait(), started.wait()) == (status, status), forked.transcript()
    assert forked.lines[-1:] == started.lines[-1:]
    assert last is None or forked.lines[-1] == last


def test_a_traceback_begins_in_the_program(processes: Processes) -> None:
    (processes.folder / "broken.py").write_text("def f():\n    1/0\nf()\n")
    forked, started = (processes.run(sys.executable, "broken.py", is_warm=warm) for warm in (True, False))
    assert (forked.wait(), started.wait()) == (1, 1)
    assert forked.lines == started.lines


def test_it_reads_what_it_is_told_and_ends_by_a_signal(processes: Processes) -> None:
    program = processes.python("import sys, time\nfor line in sys.stdin: print(line.upper(), end='')")
    program.tell("so")
    program.wait_for("SO")
    assert program.is_running
    program.send(signal.SIGTERM)
    assert program.wait() == -signal.SIGTERM
    assert not program.is_running


@is_forked
def test_it_stays_until_its_status_is_taken(processes: Processes) -> None:
    """Nobody else gets its pid before."""
    program = Program([sys.executable, "-c", ""], cwd=ROOT, env=clean_environ())
    stat = Path(f"/proc/{program.pid}/stat")
    until(lambda: not is_alive(program.pid))
    assert stat.exists()
    assert program.wait() == 0
    until(lambda: not stat.exists())


@is_forked
def test_all_of_popen_works_on_it(tmp_path: Path) -> None:
    with open(tmp_path / "said", "wb") as said:
        to_file = Program([sys.executable, "-c", "print(1)"], cwd=tmp_path, env=clean_environ(), stdout=said)
        assert to_file.wait(10) == 0
    assert (tmp_path / "said").read_text() == "1\n"
    pipe = subprocess.PIPE
    with Program([sys.executable, "-c", "print(input()*2)"], env=clean_environ(), stdin=pipe, stdout=pipe) as piped:
        assert piped.communicate(b"ab", timeout=10) == (b"abab\n", None)
    with Program([sys.executable, "-c", "input()"], env=clean_environ(), stdin=pipe, start_new_session=True) as waits:
        assert os.getsid(waits.pid) == waits.pid
        with pytest.raises(subprocess.TimeoutExpired):
            waits.wait(0.01)
        waits.kill()
        assert (waits.wait(10), waits.poll()) == (-9, -9)
