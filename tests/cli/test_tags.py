"""`--tag`: commands for the jobs with a tag. Of other jobs they print nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run, begin
from tests.servers import Server
from workkit import schedule
from workkit.schedule import Schedule

TAG = ("--tag", "user:7")


@pytest.fixture
def s(server: Server, name: str, monkeypatch: pytest.MonkeyPatch) -> Schedule:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    return schedule.create(name, redis=server.url)


@pytest.fixture
def ours(s: Schedule, run: Run, folder: Path) -> list[str]:
    """The ids of two jobs of one user; another user has one."""
    (folder / "app.py").write_text("def send(text):\n    pass\n")
    schedule.add(s, "app:send", every="day at 9am", args=["theirs"], tags=["user:77"], name="theirs")
    for time in ("every day at 9am", "every day at 10am"):
        added = run("add", s.name, time, "app:send", '"ours"', "--tag", "user:7", "--tag", "paid")
        assert added.status == 0, added.err
    return [job.id for job in schedule.jobs(s, tag="user:7")]


def test_lists_show_the_jobs_with_a_tag(run: Run, s: Schedule, ours: list[str]) -> None:
    for words in (TAG, ("--where", "tag:user:7"), ("--where", 'tag:"user:7"'), (*TAG, "--where", "ours")):
        found = json.loads(run("list", s.name, *words, "--json").out)
        assert {job["id"] for job in found} == set(ours)
        assert all(job["tags"] == ["user:7", "paid"] for job in found)
    assert "theirs" not in run("list", s.name, *TAG).out
    none = run("list", s.name, "--tag", "user")
    assert (none.status, none.out) == (0, "")
    assert none.err == f'no jobs that are meant (a tag is "user") in {s.name}. All: workkit list {s.name}\n'
    assert "tags      user:7 and paid\n" in run("show", s.name, ours[0]).out
    (counts,) = json.loads(run("stats", s.name, *TAG, "--json").out)
    assert (counts["waiting"], counts["listeners"], counts["totals"]) == (2, None, None)
    assert run("stats", s.name, *TAG, "--over", "1 day").status == 2


def test_commands_change_the_jobs_with_a_tag(run: Run, s: Schedule, ours: list[str]) -> None:
    for words, said in (
        (("pause", s.name, *TAG), "paused"),
        (("resume", s.name, *TAG), "resumed"),
        (("pause", s.name, *TAG, "--fn", "app:send"), "paused"),
        (("resume", s.name, *TAG), "resumed"),
        (("skip", s.name, *TAG), "skipped"),
        (("snooze", s.name, *TAG, "1 hour"), "snoozed"),
        (("reschedule", s.name, *TAG, "day at 8pm"), "rescheduled"),
    ):
        ran = run(*words)
        assert (ran.status, ran.out.count(f"{said} ")) == (0, 2), ran
        assert "theirs" not in ran.out
    first = next(schedule.jobs(s, tag="user:7"))
    assert run("cancel", s.name, first.short_id, *TAG).out.startswith(f"cancelled {first.short_id}")
    ran = run("cancel", s.name, *TAG, "--yes")
    assert (ran.status, ran.out.count("cancelled ")) == (0, 1)
    assert [job.name for job in schedule.jobs(s)] == ["theirs"]


def test_cancelling_all_jobs_with_a_tag_is_asked_about(
    run: Run, s: Schedule, ours: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = run("cancel", s.name, *TAG)
    assert (ran.status, ran.out) == (4, "")
    assert ran.err == "error: 2 jobs would be meant, and nobody is there to be asked. Add --yes.\n"
    monkeypatch.setattr("workkit.cli.terminal.is_terminal", lambda _: True)
    asked: list[str] = []
    monkeypatch.setattr("click.confirm", lambda text, **_: asked.append(text))
    ran = run("cancel", s.name, *TAG)
    assert asked == ["Cancel 2 jobs?"]
    assert all(id[:8] in ran.err for id in ours)
    assert len(list(schedule.jobs(s))) == 3


@pytest.mark.parametrize(
    "words",
    [("cancel", "{}", "theirs"), ("cancel", "{}", "--yes"), ("pause", "{}"), ("resume", "{}", "theirs"), ("skip", "{}"),
     ("skip", "{}", "their"), ("snooze", "{}", "1 hour"), ("snooze", "{}", "theirs", "1 hour"),
     ("reschedule", "{}", "day at 8pm"), ("reschedule", "{}", "theirs", "day at 8pm")],
)  # fmt: skip
def test_where_no_job_has_the_tag_no_other_is_named(run: Run, s: Schedule, words: tuple[str, ...]) -> None:
    theirs = schedule.add(s, "app:send", every="day at 9am", tags=["user:77"], name="theirs")
    command, _, *rest = words
    ran = run(command, s.name, *rest, *TAG)
    assert (ran.status, ran.out) == (3, "")
    which = next((f'no job "{word}"' for word in rest if word.startswith("their")), "no job")
    all_of_it = f"All: workkit list {s.name} --tag user:7."
    assert ran.err == f'error: {which} with the tag "user:7" waits or runs in {s.name}. {all_of_it}\n'
    assert schedule.job(s, "theirs") == theirs or schedule.job(s, "theirs").id == theirs.id


def test_dead_jobs_are_chosen_by_a_tag(run: Run, s: Schedule) -> None:
    for tag in ("user:7", "user:7", "user:77"):
        schedule.add_now(s, "tests.handlers:fail", args=[tag], tags=[tag])
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    listed = run("dead", s.name, *TAG)
    assert listed.out.count("tests.handlers.fail") == 2
    assert f"retry: workkit retry {s.name} --tag user:7" in listed.err
    assert run("dead", s.name, *TAG, "--acknowledge").status == 2
    assert run("retry", s.name, "--tag", "nobody", "--yes").err == f'no dead jobs with the tag "nobody" in {s.name}.\n'
    asked = run("discard", s.name, *TAG)
    assert (asked.status, asked.err.startswith("error: 2 dead jobs would be meant")) == (4, True)
    assert run("retry", s.name, *TAG, "--where", "fail", "--yes").out == "retried 2\n"
    assert run("discard", s.name, *TAG, "--yes").err == f'no dead jobs with the tag "user:7" in {s.name}.\n'
    assert run("discard", s.name, "--tag", "user:77", "--yes").out == "discarded 1\n"


def test_a_command_without_jobs_asks_which(run: Run, s: Schedule, server: Server) -> None:
    begin(server, s.name)
    for words in (["cancel", s.name], ["skip", s.name], ["snooze", s.name, "1 hour"]):
        ran = run(*words)
        assert (ran.status, "Which jobs? Name one, or all with a tag: --tag TAG." in ran.err) == (2, True), ran.err
    assert "Missing argument 'WHEN'" in run("reschedule", s.name, "digest").err


def test_a_namespace_of_gocraft_refuses_a_tag(run: Run, server: Server, name: str) -> None:
    schedule.add_now(schedule.create(name, redis=server.url, layout="gocraft"), "send_email")
    for words in (["list"], ["dead"], ["stats"], ["cancel", "--yes"], ["discard", "--yes"]):
        ran = run(words[0], name, *words[1:], *TAG, "--layout", "gocraft", "--redis", server.url)
        assert ran.status == 4
        assert "--tag 'user:7': jobs have no tags in --layout 'gocraft'" in ran.err, ran.err
