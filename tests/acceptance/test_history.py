"""The judges of the crash suite and the soak, shown histories that break the promise: each must complain."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance import faulty, history, soak_verdict
from tests.acceptance.history import Promise
from tests.acceptance.leftovers import Key, check_groups, check_keys
from tests.acceptance.soak_verdict import Incident
from tests.servers import Server
from workkit import schedule

ONE = "a" * 40
Lines = list[Mapping[str, Any]]


def ack(label: str, at: float = 0.0) -> Mapping[str, Any]:
    return {"what": "ack", "label": label, "id": ONE, "at": at}


def ran(
    label: str, at: float, *, due: int = 0, attempt: int = 0, pid: int = 7, how: str = "returned", took: float = 0.1
) -> Lines:
    run = {"label": label, "id": ONE, "due": due, "attempt": attempt, "pid": pid}
    return [{"what": "start", "at": at, **run}, {"what": "end", "how": how, "at": at + took, **run}]


def judged(lines: Lines, **promises: Promise) -> history.Verdict:
    ordered = sorted(lines, key=lambda line: line["at"])
    return history.check(history.read(json.dumps(line) for line in ordered), promises)


TICK = Promise(dues=(1000, 2000, 3000))
KILLED = {"what": "killed", "pid": 7, "at": 1.05}
FENCED = {**KILLED, "what": "fenced"}


@pytest.mark.parametrize(
    ("lines", "promise", "complaint"),
    [
        ([ack("x")], Promise(), "is lost"),
        ([ack("x"), ran("x", 1.0)[0]], Promise(), "1 runs begun, none to its end"),
        ([ack("x"), *ran("x", 1.0), *ran("x", 2.0)], Promise(), "ran twice, and nothing had happened"),
        ([ack("x"), *ran("x", 1.0), {**KILLED, "at": 3.0}, *ran("x", 8.0, pid=8)], Promise(), "ran twice"),
        ([ack("x"), *ran("x", 1.0), {**KILLED, "pid": 9}, *ran("x", 8.0, pid=8)], Promise(), "ran twice"),
        ([ack("x"), *ran("x", 1.0, how="OSError")], Promise(), "ended as OSError"),
        ([ack("x"), *ran("x", 1.0, how="JobCancelled")], Promise(), "ended as JobCancelled"),
        ([ack("x"), FENCED, *ran("x", 1.0, how="JobCancelled")], Promise(), "is lost"),
        ([ack("x"), *ran("x", 1.0), *ran("x", 2.0, attempt=1)], Promise(), "had attempt 1"),
        ([ack("x"), *ran("x", 1.0), *ran("x", 2.0, attempt=2)], Promise(attempts=3), "left attempts out"),
        ([ack("x"), *ran("x", 1.0)], Promise(runs=False), "nobody can run it"),
        ([ack("x"), *ran("x", 1.0, due=1000), *ran("x", 3.0, due=3000)], TICK, "did not run for 2000"),
        ([ack("x"), *ran("x", 1.0, due=1000), *ran("x", 2.0, due=2000)], TICK, "did not run for 3000"),
        ([ack("x", 0.5), *ran("x", 2.0, due=2000), *ran("x", 3.0, due=3000)], TICK, "did not run for 1000"),
        ([ack("x"), *(line for n in (1, 2, 3, 4) for line in ran("x", n, due=n * 1000))], TICK, "not due"),
        ([ack("x"), *(line for n in (1, 2, 3) for line in ran("x", 5 - n, due=n * 1000))], TICK, "out of order"),
        ([{"what": "cancelled", "id": ONE, "at": 1.0}, *ran("x", 3.0)], Promise(is_cancelled=True), "2.0 s after"),
    ],
)
def test_a_broken_history_is_complained_of(lines: Lines, promise: Promise, complaint: str) -> None:
    assert complaint in " ".join(judged(lines, x=promise).complaints)


@pytest.mark.parametrize(
    ("lines", "promise"),
    [
        ([ack("x"), *ran("x", 1.0)], Promise()),
        ([], Promise()),  # never acknowledged
        ([ack("x"), FENCED, *ran("x", 1.0, took=3.0), *ran("x", 2.0, took=3.0)], Promise()),  # a listener took it again
        ([ack("x"), FENCED, *ran("x", 1.0, how="JobCancelled"), *ran("x", 8.0, pid=8)], Promise()),
        ([ack("x"), *ran("x", 1.0, how="OSError"), *ran("x", 2.0, attempt=1)], Promise(attempts=2)),
        ([ack("x")], Promise(is_cancelled=True)),
        ([ack("x"), *(line for n in (1, 2, 3) for line in ran("x", n, due=n * 1000))], TICK),
        ([ack("x"), *ran("x", 2.5, due=1000), *ran("x", 3.0, due=3000)], TICK),  # one late run for two times
        ([ack("x", 1.5), *ran("x", 2.0, due=2000), *ran("x", 3.0, due=3000)], TICK),  # added late
        ([ack("x"), *ran("x", 1.0, due=1000), *ran("x", 4.0, due=2000), *ran("x", 3.0, due=3000)], TICK),  # held up
    ],
)
def test_a_history_that_keeps_the_promise_is_not(lines: Lines, promise: Promise) -> None:
    assert judged(lines, x=promise).complaints == ()


@pytest.mark.parametrize(
    ("incident", "cause"),
    [
        ([KILLED], "killed"),
        ([{"what": "fenced", "pid": 7, "at": 1.05}], "fenced"),
        ([{"what": "resumed", "pid": 8, "at": 8.0}], "fenced"),
        ([{"what": "given_back", "pid": 7, "id": ONE, "at": 1.05}], "given back"),
        ([{"what": "rewound", "at": 5.0}], "rewound"),
    ],
)
def test_a_run_that_was_in_flight_may_be_run_again(incident: Lines, cause: str) -> None:
    verdict = judged([ack("x"), *ran("x", 1.0), *incident, *ran("x", 8.0, pid=8)], x=Promise())
    assert verdict.complaints == ()
    assert verdict.twice == {cause: 1}


@pytest.mark.parametrize(
    ("before", "complaints"),
    [
        ([*ran("y", 1.0)], []),
        ([*ran("y", 1.0, took=2.0)], ["x began before y had ended"]),
        ([ran("y", 1.0)[0]], ["x began before y had ended"]),
        ([*ran("y", 3.0)], ["x began before y had ended"]),
        ([*ran("y", 3.0), {"what": "rewound", "at": 2.5}], []),
    ],
)
def test_what_runs_after_others_does_not_begin_before_they_have_ended(before: Lines, complaints: list[str]) -> None:
    found = judged([*before, *ran("x", 2.0, due=1)], x=Promise(after=("y",)), y=Promise())
    assert list(found.complaints) == complaints


def test_a_group_that_is_left_waiting_is_complained_of(server: Server, name: str) -> None:
    s, client = schedule.create(name, redis=server.url), server.client()
    a = schedule.add_now(s, "app:note")
    b = schedule.add_now(s, "app:note", after=a)
    assert list(check_groups(client, name)) == [
        f"group {b.id[:16]} is not settled: r",
        f"group {b.id[:16]} waits for {a.id}",
    ]
    client.delete(f"{name}:groups", f"{name}:members")
    assert "feeds a group that is gone" in next(check_groups(client, name))
    schedule.cancel(s, b)
    client.delete(f"{name}:feeds")
    assert list(check_groups(client, name)) == []


def test_what_nobody_added_is_complained_of() -> None:
    assert "nobody had added it" in judged(ran("y", 1.0), x=Promise()).complaints[0]


@pytest.mark.parametrize(
    ("left", "complaint"),
    [
        ({"jobs": Key(members=frozenset({ONE}))}, "jobs is left"),
        ({"slots": Key(members=frozenset({"run:x"}))}, "slots is left"),
        ({"running:host:1:ab": Key(members=frozenset({"@"}))}, "running:host:1:ab is left"),
        ({"producer:ab": Key(members=frozenset())}, "without an expiry"),
        ({"cancelled": Key(members=frozenset({"b" * 40}))}, "nobody cancelled"),
        ({"dead": Key(members=frozenset({"x"}))}, "dead and graves differ"),
        ({name: Key(members=frozenset({"x", "y"})) for name in ("dead", "graves")}, "are dead, where [] died"),
        ({"invented": Key(members=frozenset())}, "invented is left"),
    ],
)
def test_a_key_without_an_owner_is_complained_of(left: dict[str, Key], complaint: str) -> None:
    assert complaint in " ".join(check_keys(left, cancelled=[ONE], dead=()))


def test_keys_with_an_owner_or_an_expiry_may_be_left() -> None:
    left = {
        "stats": Key(members=frozenset({"done:1"})),
        "producer:ab": Key(members=frozenset(), life=600_000),
        "watch": Key(members=frozenset(), life=100),
        "cancelled": Key(members=frozenset({ONE})),
    }
    assert list(check_keys(left, cancelled=[ONE], dead=())) == []


# The soak's files.


def soaked(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("_", "-")).write_text(text)
    return folder


def test_the_soak_finds_what_is_lost(tmp_path: Path) -> None:
    begun = "b 1 ab 0 0 1.0\ne 1 ab 0 0 1.1\nb 2 cd 0 0 1.0\n"
    folder = soaked(tmp_path, runs_7=begun, acks_1="1 3\n")
    assert soak_verdict.lost(soak_verdict.read_acknowledged(folder), soak_verdict.read_runs(folder)) == [2, 3]


@pytest.mark.parametrize(
    ("incident", "causes"),
    [
        (Incident(kind="killed", pid=7, at=1.5, until=1.5), {"killed": 1}),
        (Incident(kind="frozen", pid=7, at=0.5, until=6.0), {"frozen": 1}),
        (Incident(kind="frozen", pid=8, at=1.5, until=8.5), {"frozen": 1}),
        (Incident(kind="killed", pid=7, at=5.0, until=5.0), {}),
        (Incident(kind="killed", pid=8, at=9.0, until=9.0), {}),
    ],
)
def test_the_soak_explains_what_ran_twice(tmp_path: Path, incident: Incident, causes: dict[str, int]) -> None:
    folder = soaked(tmp_path, runs_7="b 1 ab 0 0 1.0\ne 1 ab 0 0 1.1\n", runs_8="b 1 ab 0 0 9.0\ne 1 ab 0 0 9.1\n")
    found, unexplained = soak_verdict.repeated(soak_verdict.read_runs(folder), [incident])
    assert (found, len(unexplained)) == (causes, 0 if causes else 1)


def test_what_ended_while_the_server_was_away_may_be_settled_later(tmp_path: Path) -> None:
    folder = soaked(tmp_path, runs_7="b 1 ab 0 0 1.0\ne 1 ab 0 0 1.1\n", runs_8="b 1 ab 0 0 9.0\ne 1 ab 0 0 9.1\n")
    (folder / "incidents").write_text("killed 0 1.050 3.000\nkilled 7 5.000 5.000\n")
    incidents = soak_verdict.read_incidents(folder)
    assert soak_verdict.repeated(soak_verdict.read_runs(folder), incidents) == ({"killed": 1}, [])
    assert soak_verdict.repeated(soak_verdict.read_runs(folder), incidents[1:])[0] == {}


def test_the_soak_finds_a_broken_chain(tmp_path: Path) -> None:
    lines = [f"b t ab {due} 0 {at}\n" for due, at in ((1000, 1.0), (2000, 4.5), (5000, 5.0), (7000, 7.0))]
    runs = soak_verdict.read_runs(soaked(tmp_path, runs_7="".join(lines)))
    (found,) = soak_verdict.broken_chains(runs, ["t"], until=8.0)
    assert "the next run was for 7000" in found
    assert list(soak_verdict.broken_chains(runs, ["t", "u"], until=20.0))[1:] == [
        "t: 7000 began at 7.000, and the next run was for 20000",
        "u never ran",
    ]


def test_the_soak_sees_memory_grow() -> None:
    assert soak_verdict.slope([(float(t), 40 + t / 60) for t in range(300)]) == pytest.approx(1.0)
    assert soak_verdict.slope([(float(t), 40 + (t < 60) * t) for t in range(300)]) == pytest.approx(0.0)


# The faults.


def test_every_hook_in_the_sources_becomes_a_call_in_its_place() -> None:
    assert len(list(faulty.hooks())) >= 10
    for hook in faulty.hooks():
        lines = faulty.rewritten(hook.file.read_text()).split("\n")
        assert len(lines) == len(hook.file.read_text().split("\n"))
        assert ".hit(f'''" in lines[hook.line - 1]
        compile("\n".join(lines), str(hook.file), "exec")


def test_a_hook_of_an_unknown_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    hook = faulty.Hook(file=Path("x.py"), line=1, text="{weather} today")
    monkeypatch.setattr(faulty, "hooks", lambda layout: iter([hook]))
    with pytest.raises(ValueError, match=r"x\.py:1: nobody knows what \{weather\} may say"):
        faulty.points()
