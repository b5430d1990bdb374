"""`batch list|show|cancel|resume`, and what `show` says of jobs that wait for others, or belong to a batch."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.cli.conftest import Run
from tests.cli.test_completion import completed
from tests.servers import Server
from workkit import schedule
from workkit.brokers.native.groups import NativeGroups
from workkit.contract.groups import group_id
from workkit.errors import InvalidOptions
from workkit.schedule import Schedule

NAME = "import 2027-03-01"
HANDLERS: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None, "raise_errors": False}


@pytest.fixture
def s(server: Server, name: str, monkeypatch: pytest.MonkeyPatch) -> Schedule:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    return schedule.create(name, redis=server.url)


def filled(s: Schedule, name: str = NAME, *, jobs: int = 3, **how: Any) -> None:
    with schedule.batch(s, name, **how) as batch:
        for n in range(jobs):
            batch.add("tests.handlers:fail" if n == 0 else "tests.handlers:note", args=[f"{name}-{n}"])


def left_open(s: Schedule, name: str = NAME) -> None:
    """A batch with two jobs, whose producer died before it sent a third one."""
    with patch("workkit.verbs.batch.STEP", 2), suppress(KeyError), schedule.batch(s, name) as batch:
        for n in range(3):
            batch.add("tests.handlers:note", args=[n])
        raise KeyError(name)


def test_batches_are_listed_the_last_made_first(run: Run, s: Schedule) -> None:
    schedule.add(s, "tests.handlers:note", at="2050-01-01")
    none = run("batch", "list", s.name)
    assert (none.status, none.out, none.err) == (0, "", f"no batch in {s.name}.\n")
    filled(s, "first")
    schedule.drain(s, **HANDLERS)
    filled(s, "second", then="tests.handlers:note")
    schedule.drain(s, **HANDLERS)
    left_open(s, "third")
    ran = run("batch", "list", s.name)
    assert (ran.status, ran.err) == (0, "")
    head, *rows = (line.split("  ") for line in ran.out.splitlines())
    assert [cell.strip() for cell in head if cell] == ["MADE", "BATCH", "STATE", "JOBS", "WAITING", "DONE", "DEAD"]
    cells = [[cell.strip() for cell in row if cell.strip()][-6:] for row in rows]
    assert cells == [
        ["third", "open", "2", "2", "0", "0"], ["second", "done", "3", "0", "2", "1"],
        ["first", "done", "3", "0", "2", "1"],
    ]  # fmt: skip
    records = json.loads(run("batch", "list", s.name, "--json").out)
    assert [one["name"] for one in records] == ["third", "second", "first"]
    assert records[1]["endings"] | {"done": 2, "dead": 1} == records[1]["endings"]
    assert (records[1]["then"] is None, records[2]["then"] is None) == (False, True)
    assert (records[0]["settled"], records[0]["schedule"]) == (None, s.name)
    some = run("batch", "list", s.name, "--limit", "2")
    assert len(some.out.splitlines()) == 3
    assert some.err == "2 shown, there may be more. All of them: --all\n"
    assert len(json.loads(run("batch", "list", s.name, "--limit", "2", "--json").out)) == 2


def test_an_abandoned_batch_is_named_with_its_remedy(run: Run, s: Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    left_open(s)
    monkeypatch.setattr("workkit.contract.groups.ABANDONED_MS", 0)
    ran = run("batch", "list", s.name)
    assert " abandoned " in ran.out
    refused = run("batch", "resume", s.name, NAME)
    assert (refused.status, refused.out) == (2, "")
    assert refused.err.startswith(f'error: the batch "{NAME}" is open; the last job was added ')
    assert f"workkit batch resume {s.name} '{NAME}' --close. " in refused.err
    assert f"workkit batch cancel {s.name} '{NAME}'." in refused.err
    assert schedule.drain(s, **HANDLERS).ran == 0
    closed = run("batch", "resume", s.name, NAME, "--close")
    assert (closed.status, closed.err) == (0, "")
    assert closed.out == f'resumed the batch "{NAME}": it has 2 jobs\n'
    assert schedule.drain(s, **HANDLERS).ran == 2
    again = run("batch", "resume", s.name, NAME)
    assert (again.status, again.err) == (
        2, f'error: the batch "{NAME}" has ended. Make one under another name.\n'
    )  # fmt: skip


def test_a_batch_that_was_left_open_for_more_than_a_week_is_closed_as_it_is(
    run: Run, s: Schedule, server: Server
) -> None:
    left_open(s)
    place = f"{s.name}:producer:batch-{group_id(NAME)}"
    assert server.client().delete(place) == 1, "it is kept for 7 days"
    with pytest.raises(InvalidOptions, match="was left open more than 7 days ago, and its rows cannot be compared"):
        filled(s)
    assert schedule.batch(s, NAME).state().state == "open"
    closed = run("batch", "resume", s.name, NAME, "--close")
    assert (closed.status, closed.out, closed.err) == (0, f'resumed the batch "{NAME}": it has 2 jobs\n', "")
    assert schedule.drain(s, **HANDLERS).ran == 2
    assert schedule.batch(s, NAME).state().state == "done"


def test_a_job_of_an_open_batch_that_is_cancelled_does_not_run(run: Run, s: Schedule) -> None:
    batch = schedule.batch(s, NAME)
    with patch("workkit.verbs.batch.STEP", 2), batch:
        jobs = [batch.add("tests.handlers:note", args=[n]) for n in range(7)]
        ran = run("cancel", s.name, jobs[2].id)
        assert (ran.out, ran.status) == (
            f"cancelling {jobs[2].short_id}  tests.handlers.note(2)  no listener starts it\n", 0
        )  # fmt: skip
    assert schedule.drain(s, **HANDLERS).ran == 6
    assert batch.state().cancelled == 1


def test_a_closed_batch_whose_producer_died_is_released(run: Run, s: Schedule) -> None:
    with patch.object(NativeGroups, "release", lambda *_: 0):
        filled(s, jobs=3100)  # the step that closes it releases 1,000, and its own
    assert (schedule.counts(s).held, schedule.counts(s).due) == (0, 1100)
    ran = run("batch", "resume", s.name, NAME)
    assert (ran.status, ran.out, ran.err) == (0, f'resumed the batch "{NAME}": it has 3,100 jobs\n', "")
    assert (schedule.counts(s).held, schedule.counts(s).due) == (0, 3100)


def test_one_batch_is_shown_with_its_jobs(run: Run, s: Schedule) -> None:
    filled(s, then="tests.handlers:note")
    ran = run("batch", "show", s.name, NAME)
    assert (ran.status, ran.err) == (0, "")
    assert f"batch     {NAME}\n" in ran.out
    assert "state     running\n" in ran.out
    assert "jobs      3: 3 waiting\n" in ran.out
    assert "\nthen      " in ran.out
    assert ran.out.count("\nwaiting   ") == 3
    schedule.drain(s, **HANDLERS)
    (dead,) = schedule.jobs(s, state="dead")
    ran = run("batch", "show", s.name, NAME)
    assert "state     done\n" in ran.out
    assert "jobs      3: 2 done, 1 dead\n" in ran.out
    assert ran.out.endswith(f"\ndead      {dead.short_id}\n")
    known = json.loads(run("batch", "show", s.name, NAME, "--json").out)
    assert known["members"] == [{"name": dead.id, "ending": "dead"}]
    assert known["state"] == "done"
    by_id = json.loads(run("batch", "show", s.name, known["id"], "--ending", "waiting", "--json").out)
    assert (by_id["name"], by_id["members"]) == (NAME, [])


def test_the_jobs_of_a_large_batch_are_shown_up_to_a_limit(run: Run, s: Schedule) -> None:
    filled(s, jobs=60)
    ran = run("batch", "show", s.name, NAME)
    assert ran.out.count("\nwaiting   ") == 50
    assert ran.err == "50 shown, there may be more. All of them: --all\n"
    assert run("batch", "show", s.name, NAME, "--all").out.count("\nwaiting   ") == 60
    known = json.loads(run("batch", "show", s.name, NAME, "--limit", "7", "--json").out)
    assert len(known["members"]) == 7


def test_a_batch_is_cancelled_after_a_question(run: Run, s: Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(s, then="tests.handlers:note")
    ran = run("batch", "cancel", s.name, NAME)
    assert (ran.status, ran.out) == (4, "")
    assert ran.err == (
        f'error: the batch "{NAME}" with 3 jobs would be meant, and nobody is there to be asked. Add --yes.\n'
    )
    with monkeypatch.context() as patched:
        patched.setattr("workkit.cli.terminal.is_terminal", lambda _: True)
        asked: list[str] = []
        patched.setattr("click.confirm", lambda text, **_: asked.append(text))
        assert run("batch", "cancel", s.name, NAME).status == 0
        assert asked == [f'Cancel the batch "{NAME}" with 3 jobs?']
    assert json.loads(run("batch", "show", s.name, NAME, "--json").out)["state"] == "running"
    ran = run("batch", "cancel", s.name, NAME, "--yes", "--by", "ada")
    assert (ran.status, ran.out) == (0, f'cancelled the batch "{NAME}": 3 jobs had not ended\n')
    assert schedule.drain(s, **HANDLERS).ran == 0
    known = json.loads(run("batch", "show", s.name, NAME, "--json").out)
    assert (known["state"], known["endings"]["cancelled"]) == ("cancelled", 3)
    again = run("batch", "cancel", s.name, NAME, "--yes")
    assert (again.status, "has ended, so there is nothing to cancel" in again.err) == (2, True)
    assert run("batch", "resume", s.name, NAME).status == 2


def test_names_and_options_that_do_not_fit_are_refused(run: Run, s: Schedule) -> None:
    filled(s)
    for words, status, said in (
        (("show", s.name, "other"), 3, 'no batch "other"'),
        (("cancel", s.name, "other", "--yes"), 3, 'no batch "other"'),
        (("resume", s.name, "other"), 3, 'no batch "other"'),
        (("show", s.name), 2, "workkit batch needs NAME"),
        (("list", s.name, NAME), 2, "workkit batch list takes no NAME"),
        (("list", s.name, "--close"), 2, "--close belongs to workkit batch resume."),
        (("resume", s.name, NAME, "--yes"), 2, "--yes belongs to workkit batch cancel."),
        (("cancel", s.name, NAME, "--ending", "dead"), 2, "--ending belongs to workkit batch show."),
        (("show", s.name, NAME, "--ending", "gone"), 2, "gone"),
        (("show", s.name, NAME, "--all", "--limit", "3"), 2, "--all and --limit 3 were both given."),
    ):
        ran = run("batch", *words)
        assert (ran.status, ran.out) == (status, ""), ran
        assert said in ran.err, ran


def test_other_layouts_have_no_batches(run: Run, server: Server, name: str) -> None:
    schedule.add_now(schedule.create(name, redis=server.url, layout="gocraft"), "send_email")
    ran = run("batch", "list", name, "--layout", "gocraft", "--redis", server.url)
    assert (ran.status, ran.out) == (4, "")
    assert "a batch cannot be kept" in ran.err


def test_a_shell_completes_the_names_of_batches(
    run: Run, s: Schedule, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    filled(s, "import")
    filled(s, "export")
    assert completed(run, monkeypatch, "batch", "show", s.name, "imp") == ["import"]
    assert set(completed(run, monkeypatch, "batch", "cancel", s.name, "")) == {"import", "export"}


# What `show` says.


def test_a_job_that_waits_shows_what_it_waits_for(run: Run, s: Schedule) -> None:
    first = [schedule.add(s, "tests.handlers:note", at="2050-01-01", args=[n]) for n in range(12)]
    last = schedule.add_now(s, "tests.handlers:note", args=["last"], after=first)
    out = run("show", s.name, last.id).out
    assert "state     held\n" in out
    assert "why       jobs that it runs after have not ended\n" in out
    assert "waits for 12 jobs\n" in out
    assert out.count("  waiting\n") == 10
    assert "          and 2 more\n" in out
    assert all(f"          {id[:8]}  waiting\n" in out for id in sorted(job.id for job in first)[:10])
    known = json.loads(run("show", s.name, last.id, "--json").out)
    assert (known["waits_for"]["batch"], known["waits_for"]["count"]) == (None, 12)
    assert known["waits_for"]["first"][0] == {"name": min(job.id for job in first), "state": "waiting"}
    assert "waits for" not in run("show", s.name, first[0].id).out


def test_a_member_shows_its_batch_and_what_follows_waits_for_it(run: Run, s: Schedule) -> None:
    filled(s, then="tests.handlers:note")
    members = [job for job in schedule.jobs(s) if job.state == "due"]
    assert f"batch     {NAME}, running, 3 of 3 jobs not ended\n" in run("show", s.name, members[0].id).out
    then = json.loads(run("batch", "show", s.name, NAME, "--json").out)["then"]
    out = run("show", s.name, then).out
    assert f'why       the batch "{NAME}" has not ended\n' in out
    assert f'waits for 3 jobs of the batch "{NAME}"\n' in out
    assert out.count("  due\n") == 3
    chosen = json.loads(run("list", s.name, "--where", f'batch:"{NAME}"', "--json").out)
    assert {job["id"] for job in chosen} == {job.id for job in members}
    listed = run("list", s.name, "--state", "held", "--where", "why:batch", "--json").out
    assert [job["id"] for job in json.loads(listed)] == [then]
