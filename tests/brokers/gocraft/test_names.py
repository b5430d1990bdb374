"""Job names of any text: what Go can enqueue runs here, and what is added here runs in Go."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.brokers.gocraft.doctor.checkups import kinds, only
from tests.brokers.gocraft.go_peer import Driver
from tests.brokers.gocraft.serving.fleet import Namespace
from tests.processes import until
from tests.servers import Server
from workkit import job, schedule
from workkit.errors import InvalidFunction

NAMES = [
    "resize image", " a ", "images/resize", "a/b/c", "mail:send", "a:b:c", "app.mail:send", "a,b", "resize[2]", "(x)",
    "{y}",
    "größe ändern", "画像", "it's", 'say "hi"', "a;b", "100%", "#1", "a@b", "~x", "back\\slash", "a.b/1st", "tab\there",
]  # fmt: skip
ran: list[tuple[str, Any]] = []


def handler(name: str) -> Callable[..., None]:
    @job(name)
    def handle(n: int) -> None:
        ran.append((name, n))

    return handle


for each in NAMES:
    handler(each)


@pytest.fixture
def ns(go_server: Server) -> Iterator[Namespace]:
    with closing(Namespace(go_server, f"names-{uuid.uuid4().hex[:8]}")) as opened:
        yield opened


@pytest.fixture
def driver(peer: Path, go_server: Server) -> Iterator[Driver]:
    with closing(Driver(peer, "--requeue", "50ms", port=go_server.port, database=0)) as opened:
        yield opened


def test_what_go_enqueues_runs_here_whatever_its_name(ns: Namespace, driver: Driver) -> None:
    for n, name in enumerate(NAMES):
        for how in ({}, {"in": 1}, {"unique": True}):
            driver.ask({"op": "enqueue", "ns": ns.name, "name": name, "args": json.dumps({"n": n}), **how})
    s = schedule.create(ns.name, redis=ns.url, layout="gocraft")
    ran.clear()
    with schedule.listener(s, imports=[], folder=None, threads=2):
        until(lambda: len(ran) >= 3 * len(NAMES))
    assert sorted(ran) == sorted((name, n) for n, name in enumerate(NAMES) for _ in range(3))
    assert ns.raw.zcard(ns.keys.dead) == 0


def test_what_is_added_here_runs_in_go_whatever_its_name(ns: Namespace, driver: Driver) -> None:
    s = schedule.create(ns.name, redis=ns.url, layout="gocraft")
    for n, name in enumerate(NAMES):
        schedule.add_now(s, name, kwargs={"n": n})
        schedule.add(s, name, in_="1 second", kwargs={"n": n})
    jobs = [{"name": name} for name in NAMES]
    driver.ask({"op": "pool", "id": "P", "ns": ns.name, "concurrency": 2, "jobs": jobs, "sleep_backoffs": [0, 10]})
    driver.ask({"op": "start", "id": "P"})
    found: list[dict[str, Any]] = []

    def are_over() -> bool:
        found.extend(each["job"] for each in driver.news() if each.get("event") == "run")
        return len(found) >= 2 * len(NAMES)

    until(are_over)
    assert sorted((one["name"], one["args"]["n"]) for one in found) == sorted(
        (name, n) for n, name in enumerate(NAMES) for _ in range(2)
    )
    driver.ask({"op": "stop", "id": "P"})


def test_a_function_is_added_under_its_name(ns: Namespace) -> None:
    s = schedule.create(ns.name, redis=ns.url, layout="gocraft")
    assert schedule.add_now(s, handler("resize image 2"), kwargs={"n": 1}).fn == "resize image 2"


def test_jobs_are_listed_and_paused_under_their_names(ns: Namespace) -> None:
    s = schedule.create(ns.name, redis=ns.url, layout="gocraft")
    for name in NAMES:
        schedule.add_now(s, name, kwargs={"n": 1})
        schedule.pause(s, fn=name)
    assert {(one.fn, one.state) for one in schedule.jobs(s)} == {(name, "paused") for name in NAMES}
    for name in NAMES:
        schedule.resume(s, fn=name)
    assert {one.state for one in schedule.jobs(s)} == {"due"}


def test_later_jobs_of_a_name_with_a_comma_wait_where_their_pool_takes_them(ns: Namespace) -> None:
    """The names in a heartbeat are joined by commas. So `a,b` is served by who lists it, and not by who lists a."""
    due_ms = ns.producer.now_ms() + 60_000
    ns.pool("a,b")
    ns.go_pool("a,b", "c")
    ns.add("a,b", {"n": 1}, due_ms=due_ms)
    assert ns.raw.zcard(ns.keys.scheduled) == 1
    ns.go_pool("a", "c", id="b" * 24)
    ns.add("a,b", {"n": 2}, due_ms=due_ms)
    assert ns.raw.zcard(ns.keys.held) == 1


@pytest.mark.parametrize(
    ("name", "trouble"),
    [
        ("x:lock", 'fn="x:lock" ends with ":lock": the key of its queue would be a key of the job "x".'),
        ("x:lock_info", 'fn="x:lock_info" ends with'), ("x:paused", 'fn="x:paused" ends with'),
        ("x:max_concurrency", 'fn="x:max_concurrency" ends with'),
        ("x:abc:inprogress", 'fn="x:abc:inprogress" ends with'),
        ("x" * 501, "has 501 characters, and a job name has 1 to 500."),
        ("\ud800", "holds half a character"), ("json:dumps", "fn=json:dumps has no plain job name"),
        ("#'a/b", "has no plain job name"),
    ],
)  # fmt: skip
def test_a_name_that_no_job_of_ours_can_have_is_refused_with_the_reason(ns: Namespace, name: str, trouble: str) -> None:
    s = schedule.create(ns.name, redis=ns.url, layout="gocraft")
    with pytest.raises(InvalidFunction) as caught:
        schedule.add_now(s, name)
    assert trouble in str(caught.value)


def test_a_pool_refuses_a_name_that_is_a_key_of_another_name(ns: Namespace) -> None:
    with pytest.raises(InvalidFunction, match='job="x:lock" ends with ":lock"'):
        ns.pool("x:lock")


def test_the_doctor_names_what_a_heartbeat_cannot_say(ns: Namespace) -> None:
    ns.raw.sadd(ns.keys.known_jobs, "resize image", "mail:send", "größe")
    assert kinds(ns) == []
    ns.raw.sadd(ns.keys.known_jobs, "a,b")
    assert only(ns, "name").what == 'the job name "a,b" has a comma, which parts the names in a heartbeat'


@pytest.mark.parametrize(
    ("text", "served"),
    [
        ("mail:send", ("mail:send", 1)), ("mail:send:10", ("mail:send", 10)), ("resize image:7", ("resize image", 7)),
        ("a,b", ("a,b", 1)),
    ],
)  # fmt: skip
def test_a_name_with_colons_has_its_priority_behind_the_last_one(
    ns: Namespace, text: str, served: tuple[str, int]
) -> None:
    s = schedule.create(ns.name, redis=ns.url, layout="gocraft")
    if served[0] not in NAMES:
        handler(served[0])
    with schedule.listener(s, imports=[], folder=None, jobs=[text]):
        assert [set(one.serves) for one in schedule.listeners(s)] == [set(served[0].split(","))]
