"""`retry` and `discard` on the command line: what they ask, say and answer."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.servers import Server
from workkit import schedule, wire
from workkit.errors import InvalidArguments
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


def test_other_arguments_by_name(run: Run, dying: Dying) -> None:
    s = dying(1)
    positional = next(iter(schedule.jobs(s, state="dead")))
    ran = run("retry", s.name, positional.id, "--args", '{"text": "other"}')
    assert (ran.status, "multiple values for argument 'text'" in ran.err) == (2, True)
    schedule.discard(s)
    schedule.add_now(s, "tests.handlers:fail", kwargs={"text": "disk"})
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    dead = next(iter(schedule.jobs(s, state="dead")))
    assert run("retry", s.name, dead.id, "--args", '{"text": "other"}').status == 0
    assert [(job.args, job.kwargs) for job in schedule.jobs(s)] == [((), {"text": "other"})]


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


@pytest.mark.parametrize("verb", ["retry", "discard"])
def test_a_dry_run_prints_those_that_are_meant(run: Run, dying: Dying, verb: str) -> None:
    s = dying(3)
    ran = run(verb, s.name, "--where", "disk 1", "--dry-run")
    assert ran.status == 0
    (line,) = ran.out.splitlines()
    assert re.fullmatch(r'[0-9a-f]{8}  tests\.handlers\.fail\("disk 1"\)  OSError: disk 1 \(handlers\.py:\d+\)', line)
    assert ran.err == "1 dead job would be meant. Nothing was changed.\n"
    ran = run(verb, s.name, line[:8], "--dry-run")
    assert ran.out.splitlines() == [line]
    assert schedule.counts(s).dead == 3


def test_several_are_named(run: Run, dying: Dying, server: Server) -> None:
    s = dying(3)
    latest, middle, first = schedule.jobs(s, state="dead")
    ran = run("retry", s.name, latest.id, first.id[:8], latest.id[:10], "--rate", "1/minute")
    assert ran.status == 0
    assert [line[:16] for line in ran.out.splitlines()] == [f"retried {first.id[:8]}", f"retried {latest.id[:8]}"]
    due = dict(server.client().zrange(f"{s.name}:next", 0, -1, withscores=True))
    assert due[wire.item(latest.id)] - due[wire.item(first.id)] == 60_000
    assert [job.id for job in schedule.jobs(s, state="dead")] == [middle.id]
    ran = run("retry", s.name, first.id)
    assert (ran.status, ran.out) == (3, "")


@pytest.mark.parametrize("verb", ["retry", "discard"])
def test_none_is_touched_where_one_word_names_no_dead_job(run: Run, dying: Dying, verb: str) -> None:
    s = dying(2)
    latest, first = schedule.jobs(s, state="dead")
    ran = run(verb, s.name, latest.id, "abcdef", first.id[:8])
    assert (ran.status, ran.out) == (3, "")
    assert ran.err.startswith('error: no dead job "abcdef" in')
    assert ran.err.endswith("\nNothing was changed.\n")
    assert schedule.counts(s).dead == 2


def test_arguments_that_the_function_refuses_leave_the_dead_job(
    run: Run, server: Server, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    (folder / "refusing.py").write_text("def one(text):\n    raise OSError(text)\n")
    s = schedule.create(name)
    schedule.add_now(s, "refusing:one", args=["disk"])
    monkeypatch.syspath_prepend(folder)
    schedule.drain(s, imports=["refusing"], folder=None, raise_errors=False)
    monkeypatch.delitem(sys.modules, "refusing")  # as in a process that reads the file only
    (dead,) = schedule.dead(s)
    for args, said in (("[7, 8]", "takes 1 argument; 2 given"), ('{"size": 7}', "cannot be called so")):
        ran = run("retry", name, dead.id, "--args", args)
        assert ran.status == 2
        assert said in ran.err
    assert schedule.counts(s).dead == 1


def test_other_arguments_for_all_of_an_error_are_checked_one_by_one(
    run: Run, server: Server, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    (folder / "grown.py").write_text("def one(user: int, day):\n    pass\n")
    s = schedule.create(name)
    for args, kwargs in (([1], {}), ([2], {}), ([], {"user": 3}), ([4, "monday", 5], {}), ([6, "monday"], {})):
        schedule.add_now(s, "grown:one", args=args, kwargs=kwargs)
    schedule.add_now(s, "tests.handlers:fail", args=["disk"])
    monkeypatch.syspath_prepend(folder)
    schedule.drain(s, imports=["grown", "tests.handlers"], folder=None, raise_errors=False)
    monkeypatch.delitem(sys.modules, "grown")  # as in a process that reads the file only
    assert len(schedule.dead(s)) == 5
    bare = run("retry", name, "--where", "InvalidArguments", "--dry-run")
    assert (bare.status, bare.out.count("does not fit: ")) == (1, 4), "those that it had"
    words = ("--where", "InvalidArguments", "--kwargs", '{"day": "tuesday"}')
    tried = run("retry", name, *words, "--dry-run")
    assert (tried.status, len(tried.out.splitlines()), tried.out.count("does not fit: ")) == (1, 4, 1)
    assert 'grown.one(user=3, day="tuesday")' in tried.out
    assert tried.err == "4 dead jobs would be meant. 1 of them would not fit. Nothing was changed.\n"
    refused = run("retry", name, *words, "--yes")
    assert (refused.status, "1 of 4 do not fit. All: --dry-run." in refused.err) == (2, True)
    assert len(schedule.dead(s)) == 5
    (wrong,) = (one for one in schedule.dead(s) if len(one.args) == 3)
    assert run("discard", name, wrong.id).status == 0
    assert run("retry", name, *words, "--dry-run").status == 0
    assert run("retry", name, *words, "--yes").out == "retried 3\n"
    found = sorted((one.args, one.kwargs) for one in schedule.jobs(s) if one.state == "due")
    day = {"day": "tuesday"}
    assert found == [((), {"user": 3} | day), ((1,), day), ((2,), day)]
    (left,) = schedule.dead(s)
    with pytest.raises(InvalidArguments):
        schedule.retry(s, left, args=[{1}])


def test_what_dies_while_somebody_is_asked_is_not_discarded(
    run: Run, dying: Dying, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = dying(2)
    asked: list[str] = []

    def confirm(text: str, **_: object) -> bool:
        asked.append(text)
        dying_too = schedule.add_now(s, "tests.handlers:fail", args=["disk new"])
        schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
        assert dying_too.new
        return True

    monkeypatch.setattr("workkit.cli.terminal.is_terminal", lambda _: True)
    monkeypatch.setattr("click.confirm", confirm)
    ran = run("discard", s.name, "--all")
    assert (ran.status, ran.out, asked) == (0, "discarded 2\n", ["Discard 2 dead jobs?"])
    assert [job.args for job in schedule.jobs(s, state="dead")] == [("disk new",)]


def test_an_answer_of_no_changes_nothing(run: Run, dying: Dying, monkeypatch: pytest.MonkeyPatch) -> None:
    s = dying(7)
    monkeypatch.setattr("workkit.cli.terminal.is_terminal", lambda _: True)
    monkeypatch.setattr("click.confirm", lambda *_, **__: False)
    ran = run("retry", s.name, "--all")
    assert (ran.status, ran.out) == (0, "")
    assert ran.err.splitlines()[-2:] == ["  and 2 more", "nothing was changed."]
    assert len(ran.err.splitlines()) == 7
    assert schedule.counts(s).dead == 7


def test_what_cannot_be_run_again_is_said_of_each(run: Run, dying: Dying, server: Server) -> None:
    s = dying(1)
    for n in range(7):
        server.client().zadd(f"{s.name}:dead", {f"{n:040x}@1": n})
    ran = run("retry", s.name, "--all", "--yes")
    assert (ran.status, ran.out) == (1, "retried 1\n")
    said = ran.err.splitlines()
    assert (
        len([line for line in said if line.endswith("cannot be run again: its record cannot be read. Discard it.")])
        == 5
    )
    assert said[-1] == "and 2 more could not be retried."
    assert schedule.counts(s).dead == 7
    assert run("discard", s.name, "--all", "--yes").out == "discarded 7\n"


def test_the_table_of_the_dead_says_how_many_attempts_and_how_to_retry(run: Run, dying: Dying) -> None:
    s = dying(1)
    schedule.add_now(s, "tests.handlers:only_value_errors", retries=5)
    schedule.add_now(s, "tests.handlers:fail", args=["often"], retries=0)
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    ran = run("dead", s.name)
    cells = {re.split(r"\s{2,}", line)[3]: re.split(r"\s{2,}", line)[4] for line in ran.out.splitlines()[1:]}
    assert cells == {
        'tests.handlers.fail("often")': "1 of 1",
        "tests.handlers.only_value_errors()": "1 of 6",
        'tests.handlers.fail("disk 0")': "1",
    }
    latest = next(iter(schedule.jobs(s, state="dead")))
    assert ran.err == f"retry: workkit retry {s.name} {latest.id[:8]}\n"
    assert run("dead", s.name, "--where", "disk 0").err == f"retry: workkit retry {s.name} --where 'disk 0'\n"
    records = json.loads(run("dead", s.name, "--json").out)
    assert sorted(record["attempts"] or 0 for record in records) == [0, 1, 6]


TRACE = "    raise OSError(text)"


def test_show_prints_the_traceback_of_a_dead_job(run: Run, dying: Dying) -> None:
    s = dying(1)
    dead = next(iter(schedule.jobs(s, state="dead")))
    out = run("show", s.name, dead.id).out
    assert "\nattempts  1\n" in out
    assert "\nfailed    " in out
    assert "\ndue " not in out, "a dead job has the time at which it failed"
    assert "\n    Traceback (most recent call last):\n" in out
    assert f"\n    {TRACE}\n    OSError: disk 0\n" in out
    record = json.loads(run("show", s.name, dead.id, "--json").out)
    assert record.pop("log") == []
    assert record | {"acknowledged": False} == json.loads(run("dead", s.name, "--json").out)[0]
    assert "raise OSError(text)" in record["traceback"]


def test_dead_prints_tracebacks_where_they_are_asked_for(run: Run, dying: Dying) -> None:
    s = dying(2)
    assert "Traceback" not in run("dead", s.name).out
    out = run("dead", s.name, "-v").out
    assert out.count("Traceback") == 2
    assert '  tests.handlers.fail("disk 1")\n    Traceback' in out


def test_attempts_count_alike_wherever_they_are_shown(run: Run, dying: Dying) -> None:
    s = dying(0)
    job = schedule.add_now(s, "tests.handlers:fail", retries=1, base="10s", jitter=False)

    def shown() -> tuple[str, int, int]:
        (record,) = json.loads(run("list", s.name, "--json").out)
        attempts = next(line for line in run("show", s.name, job.id).out.splitlines() if line.startswith("attempts"))
        return (
            attempts.split(maxsplit=1)[1],
            record["attempt"],
            json.loads(run("show", s.name, job.id, "--json").out)["attempt"],
        )

    assert shown() == ("0 of 2", 0, 0)
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    assert shown() == ("1 of 2", 1, 1)
    later = datetime.now(UTC) + timedelta(minutes=1)
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False, now=later)
    assert shown() == ("2 of 2", 2, 2)
    assert json.loads(run("dead", s.name, "--json").out)[0]["attempt"] == 2
    assert "  2 of 2  " in run("dead", s.name).out


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
        (("--all", "--rate", "fast", "--yes"), 2, "--rate 'fast' is not a rate."),
        (("--all", "--args", "[1]", "--kwargs", "{}", "--yes"), 2, "--args and --kwargs were both given. Keep one:"),
        (("--all", "--kwargs", "[1]", "--yes"), 2, "not an object. Write --kwargs"),
        (("abcdef", "--args", "7"), 2, "neither a list nor an object. Write --args '[7]'."),
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


def test_a_dead_job_is_found_by_its_name(run: Run, dying: Dying) -> None:
    s = dying(1)
    named = schedule.add_now(s, "tests.handlers:fail", args=["disk full"], name="nightly")
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    assert f"id        {named.id}" in run("show", s.name, "nightly").out
    assert schedule.job(s, "nightly").state == "dead"
    assert run("retry", s.name, "nightly").out.startswith(f"retried {named.id[:8]}")
    assert schedule.job(s, "nightly").state == "due"
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    assert run("discard", s.name, "nightly").out.startswith(f"discarded {named.id[:8]}")


def test_a_name_under_which_several_died_is_refused(run: Run, dying: Dying) -> None:
    s = dying(0)
    for n in range(2):
        schedule.add_now(s, "tests.handlers:fail", args=[n], name="nightly")
        schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    ran = run("retry", s.name, "nightly")
    assert (ran.status, ran.err) == (3, 'error: "nightly" is the name of 2 dead jobs; give an id.\n')
    assert run("show", s.name, "nightly").out.splitlines()[3].endswith("(1)"), "the one that died last"


def test_to_cancel_a_dead_job_names_the_command_that_forgets_it(run: Run, dying: Dying) -> None:
    s = dying(1)
    dead = next(iter(schedule.jobs(s, state="dead")))
    ran = run("cancel", s.name, dead.id[:8])
    said = f"{dead.id[:8]} tests.handlers.fail is dead, and does not run. Forget it: workkit discard"
    assert (ran.status, ran.err) == (3, f"error: {said} {s.name} {dead.id[:8]}.\n")


def test_a_dead_job_names_the_job_that_followed_it(
    run: Run, server: Server, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    s = schedule.create(name, on_failure="tests.handlers:note")
    dead = schedule.add_now(s, "tests.handlers:fail")
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False, limit=1)
    (then,) = schedule.jobs(s, state="due")
    assert then.args == (dead.id, schedule.job(s, dead.id).error)
    assert f"followed  by job {then.id}\n" in run("show", name, dead.id).out
    assert json.loads(run("show", name, dead.id, "--json").out)["followed_by"] == then.id
    assert json.loads(run("dead", name, "--json").out)[0]["followed_by"] == then.id
    assert "followed" not in run("show", name, then.id).out
    schedule.retry(s, dead.id)
    assert schedule.job(s, dead.id).followed_by is None
