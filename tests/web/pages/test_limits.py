from __future__ import annotations

from typing import Any

import pytest

from tests import handlers
from tests.contract.layouts import Gocraft
from tests.processes import until
from tests.servers import Server
from tests.web.conftest import Browser, Open, headline, text_of
from workkit import job, schedule
from workkit.brokers.native.keys import Keys
from workkit.contract.inspector import LimitUse, worst_first
from workkit.schedule import Schedule
from workkit.web.pages.limits import key_text

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None, "threads": 3}


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("schedule", "the schedule"),
        ("fn:#'app.export/rows", "app.export.rows"),
        ("fn:#'app.export/rows=42", "app.export.rows, for 42"),
        ("over:nightly", "one run of nightly at a time"),
        ("unique:export:7", 'unique key "export:7"'),
        ("other", "other"),
    ],
)
def test_a_key_in_words(key: str, text: str) -> None:
    assert key_text(key) == text


def test_the_worst_comes_first() -> None:
    uses = [
        LimitUse(key="a", used=1, limit=9),
        LimitUse(key="b", used=3, limit=3),
        LimitUse(key="c", used=1, limit=9, waiting=2),
    ]
    assert [use.key for use in worst_first(uses)] == ["c", "b", "a"]


def test_no_limit_is_in_use(browser: Browser, s: Schedule) -> None:
    assert headline(browser.get(f"/s/{s.name}/limits")) == "No limit is in use."


def test_a_limit_says_who_has_it_and_who_waits(opened: Open, server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url, limit=1)
    browser = opened(s)
    handlers.calls.clear()
    handlers.gate.clear()
    jobs = [schedule.add_now(s, handlers.wait_for_gate, name=f"gate-{n}") for n in range(3)]
    try:
        with schedule.listener(s, **HOW):
            until(lambda: handlers.calls == ["begun"], what="the run")
            until(lambda: schedule.counts(s).held == 2, what="those that wait")
            answer = browser.get(f"/s/{s.name}/limits")
            assert headline(answer) == "1 limit in use, 1 full; 2 jobs wait."
            (found,) = browser.json(f"/s/{s.name}/limits.json")["limits"]
            assert (found["text"], found["used"], found["limit"], found["waiting"]) == ("the schedule", 1, 1, 2)
            assert [one["id"] for one in found["holders"]] <= [job.id for job in jobs]
            assert found["holders"][0]["listener"] in text_of(answer)
            assert "2 wait, the oldest for" in text_of(answer)
            assert 'aria-label="1 of 1 in use"' in answer.text
            name = found["holders"][0]["name"]
            held = browser.json(f"/s/{s.name}/limits.json?q={name}")["limits"]
            assert {one["text"] for one in held} == {"the schedule", f"one run of {name} at a time"}
            assert headline(browser.get(f"/s/{s.name}/limits?q=nobody")) == 'No limit in use has "nobody".'
            handlers.gate.set()
    finally:
        handlers.gate.set()


def test_rates_say_their_next_turn_and_hostile_keys_are_text(browser: Browser, s: Schedule, server: Server) -> None:
    client, keys = server.client(), Keys(s.name)
    now_ms = int(client.time()[0]) * 1000
    client.zadd(keys.rates, {"fn:#'app/mail": now_ms + 90_000, "start:fn:#'app/mail": now_ms + 90_000, "old": 5})
    client.zadd(keys.slots, {b"fn:<script>\xff\0id@1": 0, b"run:abc\0abc@1": 0, b"\0": 0, b"none": 0})
    answer = browser.get(f"/s/{s.name}/limits")
    assert "the next free turn is in 1 min" in text_of(answer)
    assert "<script>\ufffd" not in answer.text
    found = browser.json(f"/s/{s.name}/limits.json")["limits"]
    assert [(one["text"], one["used"], one["turn"] is None) for one in found] == [
        ("<script>\ufffd", 1, True),
        ("app.mail", 0, False),
    ]


def test_a_rate_says_how_many_wait_for_their_turn(browser: Browser, s: Schedule) -> None:
    for _ in range(4):
        schedule.add_now(s, handlers.rare)
    schedule.drain(s, imports=["tests.handlers"], folder=None)
    answer = browser.get(f"/s/{s.name}/limits")
    assert headline(answer) == "3 jobs wait; 1 rate with a turn to come."
    assert "3 wait; one start each 1 min; the next free turn is in 3 min" in text_of(answer)
    (found,) = browser.json(f"/s/{s.name}/limits.json")["limits"]
    assert (found["text"], found["waiting"], found["turn_ms"]) == ("tests.handlers.rare", 3, 60_000)


def test_what_is_read_is_bounded(browser: Browser, s: Schedule, server: Server) -> None:
    client, keys = server.client(), Keys(s.name)
    client.zadd(keys.slots, {f"fn:x={n}\0{n:040x}@1": 0 for n in range(6_000)})
    assert len(browser.json(f"/s/{s.name}/limits.json")["limits"]) == 200


def test_a_namespace_tells_its_locks(opened: Open, server: Server, name: str) -> None:
    s = Gocraft().create(server, name)
    schedule.add_now(s, "note")
    (key,) = [key.decode() for key in server.client().keys(f"*{name}*jobs:note")]
    server.client().mset({f"{key}:max_concurrency": 2, f"{key}:lock": 2})
    (found,) = opened(s).json(f"/s/{s.name}/limits.json")["limits"]
    assert (found["used"], found["limit"], found["waiting"]) == (2, 2, 1)


def test_keys_that_allow_one_run_are_found_by_a_search(browser: Browser, s: Schedule, server: Server) -> None:
    server.client().zadd(Keys(s.name).slots, {b"unique:export:7\0" + b"a" * 40 + b"@1": 0})
    answer = browser.get(f"/s/{s.name}/limits")
    assert headline(answer) == "No limit is in use."
    assert "1 more key allows one run, and nothing waits for it" in text_of(answer)
    (found,) = browser.json(f"/s/{s.name}/limits.json?q=export")["limits"]
    assert (found["text"], found["used"], found["limit"]) == ('unique key "export:7"', 1, 1)


def test_a_unique_key_of_a_job_that_waits_is_found_by_its_text(browser: Browser, s: Schedule, server: Server) -> None:
    job = schedule.add(s, handlers.note, at="in 2 hours", unique_key="export:7")
    schedule.add(s, handlers.note, at="in 2 hours", unique_key="export:8")
    assert headline(browser.get(f"/s/{s.name}/limits")) == "No limit is in use."
    answer = browser.get(f"/s/{s.name}/limits?q=export:7")
    assert "does not run now" in text_of(answer)
    (found,) = browser.json(f"/s/{s.name}/limits.json?q=export:7")["limits"]
    assert (found["text"], found["used"], found["limit"]) == ('unique key "export:7"', 1, 1)
    assert [one["id"] for one in found["holders"]] == [job.id]
    schedule.cancel(s, job.id)
    assert browser.json(f"/s/{s.name}/limits.json?q=export:7")["limits"] == []


def test_a_unique_key_is_found_among_more_than_are_listed(browser: Browser, s: Schedule, server: Server) -> None:
    slots = {f"unique:a{n:05}\0{n:040x}@1": 0 for n in range(6_000)} | {"unique:export:7\0" + "a" * 40 + "@1": 0}
    server.client().zadd(Keys(s.name).slots, slots)
    (found,) = browser.json(f"/s/{s.name}/limits.json?q=export")["limits"]
    assert found["text"] == 'unique key "export:7"'


def test_a_window_of_throttle_says_when_it_ends(browser: Browser, s: Schedule) -> None:
    schedule.add_now(s, handlers.note, unique_key="mail:9", throttle="1h")
    found = browser.json(f"/s/{s.name}/limits.json?q=mail:9")["limits"]
    assert 'throttled by "mail:9"' in [one["text"] for one in found]
    assert "the next addition is stored in 59 min" in text_of(browser.get(f"/s/{s.name}/limits?q=mail:9"))


@job(rate={"gold": "2/minute", "": "1/minute"}, limit_key="who")
def classed(who: str, number: int) -> None: ...


def test_rates_by_class_are_shown_for_each_key(browser: Browser, s: Schedule) -> None:
    for number in range(2):
        for who in ("gold:acme", "bob"):
            schedule.add_now(s, classed, args=[who, number])
    schedule.add_now(s, classed, args=["bob", 2])
    schedule.drain(s, imports=[__name__], folder=None)
    found = {one["text"]: one for one in browser.json(f"/s/{s.name}/limits.json")["limits"]}
    waits = {text: (one["waiting"], one["turn_ms"]) for text, one in found.items()}
    assert waits == {f'{__name__}.classed, for "gold:acme"': (1, 30_000), f'{__name__}.classed, for "bob"': (2, 60_000)}
    held = next(one for one in schedule.jobs(s) if one.args[0] == "bob")
    assert 'is held by its rate 1/minute for "bob"' in text_of(browser.get(f"/s/{s.name}/jobs/{held.id}"))
