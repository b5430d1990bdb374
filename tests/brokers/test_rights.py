"""What a user with few rights can do: each verb works, or says what it needs. Real users of real servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests import handlers
from tests.processes import until
from tests.servers import Server
from workkit import schedule
from workkit.brokers.connect import open_broker
from workkit.brokers.redis_server.connecting import connect
from workkit.brokers.redis_server.script import last_instant
from workkit.errors import ServerRefused
from workkit.jobs.job import Job

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None}
FAR = "2050-01-01"

# Commands that a user may lack. Some managed servers refuse them.
LACKS = {
    "nothing": (),
    "TIME": ("-time",),
    "INFO and CONFIG": ("-info", "-config"),
    "CLIENT": ("-client",),
    "KEYS and SCAN": ("-keys", "-scan"),
    "all of these": ("-time", "-info", "-config", "-client", "-keys", "-scan"),
}


def added(s: schedule.Schedule, **how: Any) -> Job:
    return schedule.add(s, handlers.note, at=FAR, unique=False, **how)


def listened(s: schedule.Schedule) -> None:
    handlers.calls.clear()
    with schedule.listener(s, threads=1, **HOW):
        schedule.add_now(s, handlers.note, args=["heard"])
        until(lambda: ("heard",) in handlers.calls)


def undone(s: schedule.Schedule) -> None:
    schedule.cancel(s, added(s).id)


VERBS: dict[str, Callable[[schedule.Schedule], Any]] = {
    "add": added,
    "add_now": lambda s: schedule.add_now(s, handlers.note, debounce="1h"),
    "add_many": lambda s: schedule.add_many(s, [{"fn": handlers.note, "at": FAR, "name": "many"}]),
    "job": lambda s: schedule.job(s, added(s).id),
    "jobs": lambda s: list(schedule.jobs(s)),
    "counts": schedule.counts,
    "listeners": schedule.listeners,
    "recurring": lambda s: schedule.add(s, handlers.note, every="day at 9am", name="daily"),
    "run": lambda s: schedule.run(s, schedule.add(s, handlers.note, every="day at 9am", name="daily").id),
    "skip": lambda s: schedule.skip(s, schedule.add(s, handlers.note, every="day at 9am", name="daily").id),
    "pause": lambda s: schedule.pause(s, fn=handlers.fail, until="in 1 hour"),
    "resume": lambda s: schedule.resume(s, fn=handlers.fail),
    "cancel": undone,
    "sync": lambda s: schedule.sync(s, {"nightly": {"fn": handlers.note, "every": "day at 2am"}}),
    "dead": lambda s: list(schedule.dead(s)),
    "retry": lambda s: schedule.retry(s),
    "discard": lambda s: schedule.discard(s),
    "missed": lambda s: list(schedule.missed(s)),
    "runs": lambda s: list(schedule.runs(s)),
    "changes": lambda s: list(schedule.changes(s)),
    "history": schedule.history,
    "doctor": lambda s: list(open_broker(s.name, redis=s.redis).doctor.checkup(patience_ms=1)),
    "listener": listened,
    "drain": lambda s: schedule.drain(s, **HOW),
}


def limited(server: Server, name: str, *lacks: str) -> str:
    """Make a user of the keys of one schedule, without these commands, and return the URL."""
    user = f"u-{name}"
    server.client().execute_command("ACL", "SETUSER", user, "reset", "on", ">pw", f"~{name}:*", "+@all", *lacks)
    return f"redis://{user}:pw@127.0.0.1:{server.port}/0"


@pytest.mark.parametrize("lacks", LACKS)
def test_every_verb_works_for_a_user_without_a_command_or_names_it(server: Server, name: str, lacks: str) -> None:
    s = schedule.create(name, redis=limited(server, name, *LACKS[lacks]))
    names = [command.removeprefix("-") for command in LACKS[lacks]]
    wrong: list[str] = []
    for verb, do in VERBS.items():
        try:
            do(s)
        except ServerRefused as error:
            if not any(f"'{command}" in str(error).lower() for command in names):
                wrong.append(f"{verb}: {error}")
        except Exception as error:
            wrong.append(f"{verb}: {type(error).__name__}: {error}")
    assert not wrong


def test_the_doctor_says_what_a_user_without_time_does(server: Server, name: str) -> None:
    def kinds(*lacks: str) -> dict[str, str]:
        doctor = open_broker(name, redis=limited(server, name, *lacks)).doctor
        return {finding.kind: finding.what for finding in doctor.checkup(patience_ms=1)}

    assert "no-time" not in kinds()
    assert kinds("-time")["no-time"] == "this user may not call TIME"


def test_a_script_asks_for_the_time_beside_it_only_where_it_is_refused(server: Server, name: str) -> None:
    client = server.client()
    for lacks in ((), ("-time",)):
        at = connect(limited(server, name, *lacks), schedule=name)
        s = schedule.create(name, redis=limited(server, name, *lacks))
        schedule.add_now(s, handlers.note)
        assert (client.get(last_instant(name)) is None) == (not lacks)
        at.close()


def test_the_time_of_a_server_without_time_never_goes_back(server: Server, name: str) -> None:
    client = server.client()
    s = schedule.create(name, redis=limited(server, name, "-time"))
    seconds, micros = client.time()
    ahead = (seconds + 600) * 1_000_000 + micros
    client.set(last_instant(name), ahead)
    job = schedule.add_now(s, handlers.note)
    assert job.due is not None
    assert round(job.due.timestamp() * 1000) == ahead // 1000, "another client has used a later instant"
    assert int(client.get(last_instant(name))) == ahead
    for wrong in (ahead + 8_000_000_000, "soon", -5, b"\xff", "9" * 40):
        client.set(last_instant(name), wrong)
        job = schedule.add_now(s, handlers.note)
        assert job.due is not None
        assert abs(job.due.timestamp() - client.time()[0]) < 60, f"nobody's clock is {wrong!r}"
