"""`reschedule`: the old and the new sentence, the next runs, what is refused; and what `add` drops under a name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.servers import Server
from workkit import schedule
from workkit.schedule import Schedule


@pytest.fixture
def s(server: Server, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Schedule:
    (folder / "app.py").write_text("def hi(*args, **kwargs):\n    print('hi')\n")
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    return schedule.create(name, redis=server.url)


def digest(s: Schedule) -> str:
    return schedule.add(
        s, "app:hi", every="weekday at 9am", tz="Europe/Paris", name="digest", args=[7], kwargs={"x": 1}, retries=3
    ).short_id


def test_a_job_gets_another_time_and_it_is_said_back(run: Run, s: Schedule) -> None:
    digest(s)
    done = run("reschedule", s.name, "digest", "weekday at 8am", "--by", "alice")
    assert (done.status, done.err) == (0, "")
    job = schedule.job(s, "digest")
    first, was, now, *runs = done.out.splitlines()
    assert first == f"rescheduled digest {job.short_id}  app.hi(7, x=1)"
    assert (was, now) == (
        "  was  every weekday at 9:00 Europe/Paris",
        "  now  every weekday at 8:00 Europe/Paris",
    )
    assert [("08:00 +0" in line, "UTC" in line) for line in runs] == [(True, True)] * 3
    assert (job.options.retries, job.kwargs) == (3, {"x": 1})
    (change,) = schedule.changes(s)
    assert (change.verb, change.by, change.via) == ("reschedule", "alice", "cli")
    assert "reschedule" in run("changes", s.name, "digest").out
    again = run("reschedule", s.name, "digest", "every weekday at 8am")
    assert again.out.splitlines()[:2] == [f"already so digest {job.short_id}  app.hi(7, x=1)", now]


def test_a_dry_run_writes_nothing(run: Run, s: Schedule, server: Server) -> None:
    digest(s)
    client = server.client()
    keys = {key: client.dump(key) for key in client.scan_iter(f"{s.name}:*")}
    done = run("reschedule", s.name, "digest", "monday at 8am", "--tz", "America/New_York", "--dry-run")
    assert done.out.startswith("would reschedule digest ")
    assert "\n  now  every Monday at 8:00 America/New_York\n" in done.out
    assert {key: client.dump(key) for key in client.scan_iter(f"{s.name}:*")} == keys
    said = json.loads(run("reschedule", s.name, "digest", "0 8 * * *", "--dry-run", "--json").out)
    assert (said["dry_run"], said["new"], said["words"]) == (True, True, "every day at 8:00 Europe/Paris")
    assert (said["was"]["words"], len(said["next"])) == ("every weekday at 9:00 Europe/Paris", 3)
    done = json.loads(run("reschedule", s.name, "digest", "0 8 * * *", "--json").out)
    assert done == said | {"dry_run": False}
    assert schedule.job(s, "digest").id == done["id"]


def test_a_job_that_waits_is_named_by_its_id(run: Run, s: Schedule) -> None:
    job = schedule.add(s, "app:hi", in_="1 hour")
    done = run("reschedule", s.name, job.short_id, "2099-01-05 9am")
    assert "\n  now  once, Monday 5 January 2099 at 9:00 UTC\n" in done.out, done.out
    (after,) = schedule.jobs(s)
    assert f"rescheduled {after.short_id}  app.hi()" in done.out
    schedule.pause(s, after, reason="a move")
    assert run("reschedule", s.name, after.short_id, "2099-01-06 9am").out.endswith(
        "  paused: a move: nothing runs until it is resumed\n"
    )


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("digst", "every day at 8am"), 3, 'Nearest: "digest"'),
        (("digest", "every weekdy at 8am"), 2, "every weekday at 8am"),
        (("digest", "weekday", "at", "8am"), 2, 'workkit reschedule NAME digest "weekday at 8am"'),
        (("digest",), 2, "WHEN"),
        (("digest", "tomorrow at 9am", "--tz", "Europe/Pariss"), 2, "Europe/Paris"),
    ],
)
def test_what_is_refused_changes_nothing(run: Run, s: Schedule, words: tuple[str, ...], status: int, said: str) -> None:
    short_id = digest(s)
    done = run("reschedule", s.name, *words)
    assert (done.status, done.out) == (status, "")
    assert said.replace("NAME", s.name) in done.err
    assert schedule.job(s, "digest").short_id == short_id


def test_a_layout_that_cannot_says_so(run: Run, s: Schedule, server: Server) -> None:
    other = schedule.create(s.name, redis=server.url, layout="gocraft")
    job = schedule.add(other, "hi", in_="1 hour")
    for more in ((), ("--dry-run",)):
        done = run("reschedule", s.name, job.short_id, "in 2 hours", "--layout", "gocraft", *more)
        assert (done.status, done.out) == (4, "")
        assert "giving a job another time is not possible in this layout. Add it again" in done.err


def test_a_job_of_a_plan_is_noted(run: Run, s: Schedule) -> None:
    schedule.sync(s, {"digest": {"fn": "app:hi", "every": "day at 9am"}}, by="ci")
    note = (
        "note: a plan owns this job, last set by sync of ci. The next sync sets it back: change its time there too.\n"
    )
    for when in ("every day at 8am", "every day at 7am"):
        assert run("reschedule", s.name, "digest", when).err == note


def test_add_says_what_it_drops_under_a_name(run: Run, s: Schedule) -> None:
    short_id = digest(s)
    done = run("add", s.name, "every weekday at 8am", "app:hi", "--name", "digest")
    assert done.err == ""
    first, second = done.out.splitlines()
    assert first.startswith(f"replaced {short_id} with ")
    dropped = "  dropped what it had: ARGS, --kwarg, --tz and --retries. To change the time alone: "
    assert second == f"{dropped}workkit reschedule {s.name} digest WHEN"
    said = json.loads(run("add", s.name, "every weekday at 7am", "app:hi", "--name", "digest", "--json").out)
    assert said["dropped"] == []
    digest(s)
    done = run("add", s.name, "every weekday at 8am", "app:hi", "--name", "digest", "--json")
    assert (json.loads(done.out)["dropped"], done.err) == (["args", "kwargs", "tz", "retries"], "")
