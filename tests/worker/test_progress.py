"""Progress of runs: written at once, then once a second; visible to others; removed with the run and its listener."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.metronome import Metronome
from tests.processes import ROOT, Processes, until
from tests.servers import Server, program
from workkit import current_job, errors, schedule
from workkit.brokers.native.broker import NativeBroker
from workkit.brokers.redis_server.connecting import connect
from workkit.brokers.redis_server.control import read_said
from workkit.cli import main
from workkit.contract.listener import Claim, ListenerInfo
from workkit.jobs.outcome import Done

HOW: dict[str, Any] = {"imports": [__name__], "folder": None}
INFO = ListenerInfo(listener="", host="here", pid=1, version="0", schedules={}, threads=1)
gate = threading.Event()
enough = threading.Event()


def say_and_wait(*said: Any) -> None:
    current_job().checkin(*said) if len(said) == 1 else current_job().progress(*said)
    gate.wait(20)


def count_up() -> None:
    run, n = current_job(), 0
    while not enough.wait(0.001):
        n += 1
        run.progress(n, 10)
    run.checkin("all done")
    gate.wait(20)


async def say_async(text: str) -> None:
    current_job().checkin(text)


@pytest.fixture
def s(server: Server, name: str) -> Iterator[schedule.Schedule]:
    gate.clear()
    yield schedule.create(name, redis=server.url)
    gate.set()


Told = list[tuple[float, list[str | None]]]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """When something was written, and what."""
    seen: Told = []
    tell = NativeBroker.tell

    def noted(self: NativeBroker, said: Mapping[Any, str | None]) -> None:
        seen.append((time.monotonic(), list(said.values())))
        tell(self, said)

    monkeypatch.setattr(NativeBroker, "tell", noted)
    return seen


def progress(s: schedule.Schedule) -> Any:
    return [job.progress for job in schedule.jobs(s, state="running")]


def listening(server: Server, name: str) -> NativeBroker:
    made = NativeBroker(connect(server.url), schedule=name)
    made.register(INFO)
    return made


def claim_one(server: Server, name: str, b: NativeBroker) -> Claim:
    schedule.add_now(schedule.create(name, redis=server.url), "app:note")
    (claim,) = b.claim(1).claims
    return claim


def shown(server: Server, b: NativeBroker) -> dict[bytes, bytes]:
    return dict(server.client().hgetall(f"{b.schedule}:progress:{b.listener}"))


@pytest.mark.parametrize("said", [(340, 1000), ("i=335000 \n ü",), (0.5, 1)], ids=str)
def test_a_report_of_progress_is_visible_at_once(
    s: schedule.Schedule, said: tuple[Any, ...], machine: Metronome
) -> None:
    seen = said if len(said) == 2 else said[0]
    with schedule.listener(s, **HOW):
        began = time.monotonic()
        schedule.add_now(s, say_and_wait, args=said)
        until(lambda: progress(s) == [seen])
        assert time.monotonic() - began < 0.9 + machine.slack
        assert [job.progress for info in schedule.listeners(s) for job in info.running] == [seen]
        gate.set()


def test_more_is_written_once_a_second_and_the_last_words_win(s: schedule.Schedule, told: Told) -> None:
    enough.clear()
    with schedule.listener(s, threads=1, **HOW):
        schedule.add_now(s, count_up)
        until(lambda: len(told) >= 2, what="a second write")
        enough.set()
        until(lambda: progress(s) == ["all done"], what="the last words")
        gate.set()
    written = [(at, json.loads(words)) for at, (words,) in told if words is not None]
    *counts, last = [words for _, words in written]
    assert last == "all done"
    assert all(before[0] < after[0] for before, after in pairwise(counts))
    apart = [after[0] - before[0] for before, after in pairwise(written)]
    assert min(apart) >= 1.0
    assert min(apart) < 2.0, "a busy machine may lengthen some, not all"


def test_many_short_runs_share_few_writes(s: schedule.Schedule, told: Told) -> None:
    began = time.monotonic()
    schedule.add_many(s, [{"fn": say_async, "at": "now", "args": [f"n={n}"]} for n in range(500)])
    with schedule.listener(s, **HOW):
        until(lambda: schedule.counts(s).totals.get("done") == 500)
    assert len(told) <= 2 + (time.monotonic() - began) / 0.05


def test_the_words_go_with_the_run_and_the_key_with_the_listener(
    s: schedule.Schedule, server: Server, name: str
) -> None:
    client = server.client()
    with schedule.listener(s, **HOW):
        (listener,) = schedule.listeners(s)
        key = f"{name}:progress:{listener.listener}"
        for n in range(2):
            schedule.add_now(s, say_and_wait, args=[f"n={n}"])
        until(lambda: client.hlen(key) == 2)
        gate.set()
        until(lambda: not client.exists(key))
        gate.clear()
        schedule.add_now(s, say_and_wait, args=["once more"])
        until(lambda: client.hlen(key) == 1)
        gate.set()
    assert not client.keys(f"{name}:progress:*")


def test_only_progress_of_held_claims_is_shown(server: Server, name: str) -> None:
    b = listening(server, name)
    held, over = claim_one(server, name, b), claim_one(server, name, b)
    b.tell({held.receipt: '"one"', over.receipt: "[1, 2]"})
    assert sorted(shown(server, b).values()) == [b'"one"', b"[1, 2]"]
    b.claim(0, ends=[(over, Done())])
    b.tell({over.receipt: "[2, 2]"})
    b.tell({over.receipt: None, held.receipt: '"two"'})
    assert list(shown(server, b).values()) == [b'"two"']
    b.claim(0, ends=[(held, Done())])
    b.leave()
    assert shown(server, b) == {}


def test_a_fenced_listener_leaves_no_words_behind(server: Server, name: str) -> None:
    fenced, other = listening(server, name), listening(server, name)
    claim = claim_one(server, name, fenced)
    fenced.tell({claim.receipt: '"one"'})
    before = fenced.listener
    server.client().zadd(f"{name}:listeners", {before: 1})
    assert other._session.reap(before, 1) == (1, 0)
    assert shown(server, fenced) == {}
    fenced.tell({claim.receipt: '"two"'})
    assert shown(server, fenced) == {}
    assert fenced.beating()().fenced == [claim]
    fenced.tell({claim.receipt: '"three"'})
    assert not server.client().keys(f"{name}:progress:*")


def test_a_full_server_does_not_refuse_words(own_server: Server, name: str) -> None:
    b = listening(own_server, name)
    claim = claim_one(own_server, name, b)
    own_server.client().config_set("maxmemory", 1)
    b.tell({claim.receipt: '"one"'})
    assert list(shown(own_server, b).values()) == [b'"one"']


def test_the_command_line_shows_them(
    s: schedule.Schedule, server: Server, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", server.url)

    def printed(*words: str) -> str:
        capsys.readouterr()
        assert main(list(words)) == 0
        return capsys.readouterr().out

    schedule.add(s, "app:note", at="2050-01-01 09:00")
    with schedule.listener(s, **HOW):
        assert "PROGRESS" not in printed("list", name)
        job = schedule.add_now(s, say_and_wait, args=[340, 1000])
        until(lambda: progress(s) == [(340, 1000)])
        call = "tests.worker.test_progress.say_and_wait(340, 1000)"
        assert f"{call} 340 of 1,000" in printed("listeners", name)
        assert printed("list", name).splitlines()[1].split()[-2:] == ["STATE", "PROGRESS"]
        running, waiting = printed("list", name).splitlines()[2:]
        assert (running.split()[-4:], waiting.split()[-2:]) == (["running", "340", "of", "1,000"], ["waiting", "-"])
        assert "progress  340 of 1,000" in printed("show", name, job.id)
        assert [job["progress"] for job in json.loads(printed("list", name, "--json"))] == [[340, 1000], None]
        (listener,) = json.loads(printed("listeners", name, "--json"))
        assert [job["progress"] for job in listener["running"]] == [[340, 1000]]
        gate.set()


@pytest.mark.parametrize(
    ("verb", "given", "message"),
    [
        (
            "checkin",
            [5],
            "checkin cannot show a value of type int. Give a text; for numbers there is progress(done, total).",
        ),
        ("checkin", ["x" * 1204], "a check-in of 1,204 characters is too long. Accepted: up to 1,000."),
        ("progress", ["3", 10], "progress cannot show a value of type str. "),
        ("progress", [3, None], "progress cannot show a value of type NoneType. "),
        ("progress", [True, 10], "progress cannot show a value of type bool. "),
        ("progress", [1, float("nan")], "progress cannot show nan. "),
        ("progress", [float("-inf"), 1], "progress cannot show -inf. "),
        ("progress", [1, 10**5000], "progress cannot show a number so great. "),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_report_that_cannot_be_shown_is_refused(verb: str, given: list[Any], message: str) -> None:
    with pytest.raises(errors.InvalidArguments) as caught:
        getattr(current_job(), verb)(*given)
    assert str(caught.value).startswith(message)
    words = "Give two numbers, as in progress(340, 1000); for words there is checkin."
    assert str(caught.value).endswith(words) == (verb == "progress")


def test_outside_a_run_nothing_happens() -> None:
    current_job().checkin("x" * 1000)
    current_job().progress(Fraction(1, 3), 2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (b"[340, 1000]", (340, 1000)), (b"[0.5, 1]", (0.5, 1)), (b'"\\ud83d"', "\ud83d"), (b'""', ""), (None, None),
        (b"[1]", None), (b"[true, 2]", None), (b"{}", None), (b"7", None), (b"\xff", None), (b"[1, 2", None),
    ],
)  # fmt: skip
def test_words_are_read_back(kept: bytes | None, said: Any) -> None:
    assert read_said(kept) == said


def test_an_example_is_watched_and_cancelled(processes: Processes, tmp_path: Path) -> None:
    program("valkey")
    shutil.copy(ROOT / "examples" / "progress.py", tmp_path)
    example = processes.run(sys.executable, "progress.py")
    assert example.wait() == 0, example.transcript()
    example.wait_for(r"^it is at \d+ 1000000$")
    example.wait_for("^cancelled, and tidied up$")
