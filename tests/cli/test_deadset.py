"""`retry` and `discard` on the command line: what they ask, say and answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cli.conftest import Run
from tests.servers import Server
from workkit import schedule
from workkit.schedule import Schedule

Dying = Callable[[int], Schedule]


@pytest.fixture
def dying(server: Server, name: str, monkeypatch: pytest.MonkeyPatch) -> Dying:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)

    def die(n: int) -> Schedule:
        s = schedule.create(name)
        for i in range(n):
            schedule.add_now(s, "tests.handlers:fail", args=[f"disk {i}"])
        schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
        return s

    return die


def test_one_is_retried_by_the_beginning_of_its_id(run: Run, dying: Dying) -> None:
    s = dying(2)
    dead = next(iter(schedule.jobs(s, state="dead")))
    ran = run("retry", s.name, dead.id[:8])
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(f"retried {dead.id[:8]}  tests.handlers.fail(")
    assert (schedule.counts(s).dead, schedule.counts(s).due) == (1, 1)


def test_other_arguments(run: Run, dying: Dying) -> None:
    s = dying(1)
    dead = next(iter(schedule.jobs(s, state="dead")))
    assert run("retry", s.name, dead.id, "--args", '["other"]').status == 0
    assert [job.args for job in schedule.jobs(s)] == [("other",)]


def test_many_are_asked_about(run: Run, dying: Dying) -> None:
    s = dying(3)
    ran = run("retry", s.name, "--all")
    assert ran.status == 4
    assert "3 dead jobs would be meant, and nobody is there to be asked. Add --yes." in ran.err
    ran = run("retry", s.name, "--where", "disk 1", "--yes")
    assert (ran.status, ran.out) == (0, "retried 1\n")
    ran = run("retry", s.name, "--all", "--yes", "--rate", "10/second")
    assert (ran.status, ran.out) == (0, "retried 2, 10/second\n")
    assert run("retry", s.name, "--all").err == f"no dead jobs in {s.name}.\n"


def test_discard(run: Run, dying: Dying) -> None:
    s = dying(3)
    dead = next(iter(schedule.jobs(s, state="dead")))
    assert run("discard", s.name, dead.id).out.startswith(f"discarded {dead.id[:8]}")
    assert run("discard", s.name, "--all").status == 4
    assert run("discard", s.name, "--all", "--yes").out == "discarded 2\n"
    assert schedule.counts(s).dead == 0


@pytest.mark.parametrize(
    ("words", "status", "trouble"),
    [
        ((), 2, "needs to know which: ids as printed by workkit dead"),
        (("--all", "abcdef"), 2, '"abcdef" and --all were both given. Keep one.'),
        (("abcdef",), 3, 'no dead job "abcdef" in'),
        (("--all", "--rate", "fast", "--yes"), 2, "rate='fast' is not a rate."),
        (("--all", "--args", "[1]", "--yes"), 2, "args= was given for 2 dead jobs; they belong to one."),
        (("abcdef", "--args", "{}"), 2, "not a list"),
        (("abcdef", "--args", "oops"), 2, "not JSON"),
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused(
    run: Run, dying: Dying, words: tuple[str, ...], status: int, trouble: str
) -> None:
    s = dying(2)
    ran = run("retry", s.name, *words)
    assert (ran.status, trouble in ran.err) == (status, True), ran.err
    assert schedule.counts(s).dead == 2
