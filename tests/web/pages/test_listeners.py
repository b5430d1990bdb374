from __future__ import annotations

import os
import re
import socket
from typing import Any

import msgpack
import pytest

from tests import handlers
from tests.processes import until
from tests.servers import Server
from tests.web.conftest import Browser, headline, text_of
from workkit import schedule
from workkit.brokers.native.keys import Keys
from workkit.errors import InvalidOptions
from workkit.schedule import Schedule

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None, "threads": 3}


def test_nobody_listens(browser: Browser, s: Schedule) -> None:
    answer = browser.get(f"/s/{s.name}/listeners")
    assert headline(answer) == f"Nobody listens to {s.name}."
    assert f"workkit listen {s.name}" in text_of(answer)


def test_a_listener_is_shown_with_what_it_runs(browser: Browser, s: Schedule) -> None:
    handlers.calls.clear()
    handlers.gate.clear()
    schedule.add_now(s, handlers.wait_for_gate)
    try:
        with schedule.listener(s, **HOW):
            until(lambda: handlers.calls == ["begun"], what="the run")
            answer = browser.get(f"/s/{s.name}/listeners")
            assert headline(answer) == "1 listener on 1 machine, 1 of 3 threads busy, 0 of 100 coroutines."
            assert "tests.handlers.wait_for_gate ()" in text_of(answer)
            assert re.search(r"beat \d+\.\d s ago", text_of(answer))
            (found,) = browser.json(f"/s/{s.name}/listeners.json")["listeners"]
            assert (found["threads"], found["state"], len(found["running"])) == (3, "listening", 1)
            assert (found["coroutines"], found["awaited"]) == (100, 0)
            now = browser.get(f"/s/{s.name}/")
            assert "tests.handlers.wait_for_gate" in text_of(now)
            assert "1, the oldest first" in text_of(now)
            handlers.gate.set()
    finally:
        handlers.gate.set()


def test_the_rooms_for_both_kinds_of_functions_are_shown(browser: Browser, s: Schedule) -> None:
    handlers.gate.clear()
    schedule.add_now(s, handlers.await_gate)
    try:
        with schedule.listener(s, coroutines=7, **HOW):
            until(lambda: [info for info in schedule.listeners(s) if info.awaited], what="a heartbeat during the run")
            answer = browser.get(f"/s/{s.name}/listeners")
            assert headline(answer) == "1 listener on 1 machine, 0 of 3 threads busy, 1 of 7 coroutines."
            assert "0 of 3, 1 of 7 coroutines" in text_of(answer)
            handlers.gate.set()
    finally:
        handlers.gate.set()


def test_a_silent_listener_and_mixed_versions_are_said(browser: Browser, s: Schedule, server: Server) -> None:
    keys, client = Keys(s.name), server.client()
    now_ms = int(client.time()[0]) * 1000
    for n, (version, beat) in enumerate((("0.2.0", 0), ("0.2.0", 0), ("0.1.0", 7000))):
        name = f"batch-{n}:4242:0123456789a{n}"
        client.zadd(keys.listeners, {name: now_ms - beat})
        info = [f"batch-{n}", 4242, version, {s.name: 1}, 10, "listening", now_ms - 60_000, None]
        client.hset(keys.running(name), "info", msgpack.packb(info))
    answer = browser.get(f"/s/{s.name}/listeners")
    assert headline(answer) == "3 listeners on 3 machines, 0 of 30 threads busy."
    said = text_of(answer)
    assert re.search(r"batch-2:4242:0123456789a2 has been silent for [789] s\.", said)
    assert "2 versions run at once: 0.2.0 on 2 and 0.1.0 on 1." in said


def test_what_a_listener_cannot_run_is_told(browser: Browser, s: Schedule) -> None:
    for fn in ("gone:a", "gone:b", "gone:c", "gone:d", "tests.handlers:leave_not"):
        schedule.add_now(s, fn)
    with schedule.listener(s, **HOW):
        page = f"/s/{s.name}/listeners"

        def told() -> bool:
            (found,) = browser.json(f"{page}.json")["listeners"]
            return len(found["cannot_run"]) == 5

        until(told, what="five functions that it cannot run")
        answer = browser.get(page)
        assert "Cannot run gone.a , gone.b and gone.c and 2 more. Its log says why." in text_of(answer)
        assert f'href="/s/{s.name}/jobs?q=fn%3Agone.a"' in answer.text


def test_more_than_fifty_listeners_are_counted(browser: Browser, s: Schedule, server: Server) -> None:
    keys, client = Keys(s.name), server.client()
    now_ms = int(client.time()[0]) * 1000
    for n in range(60):
        name = f"host:{n}:{n:012x}"
        client.zadd(keys.listeners, {name: now_ms + n})
        client.hset(keys.running(name), mapping={"@": 1, "info": b"x", "1.a": b"x"})
    found = browser.json(f"/s/{s.name}/listeners.json")
    assert (len(found["listeners"]), found["more"]) == (50, 10)
    assert browser.json(f"/s/{s.name}.json")["counts"]["running"] == 60


def test_a_listener_is_made_quiet_and_listens_again(browser: Browser, s: Schedule) -> None:
    with schedule.listener(s, **HOW):
        until(lambda: schedule.listeners(s), what="the listener")
        page, name = f"/s/{s.name}/listeners", schedule.listeners(s)[0].listener
        for verb, said, state, button in (
            ("quiet", "finishes what it runs, and takes nothing new.", "quiet", ">Go on<"),
            ("listen", "takes work again.", "listening", ">Quiet<"),
        ):
            fields = {"token": browser.token(page), "which": name, "back": page}
            answer = browser.post(f"/s/{s.name}/do/{verb}", fields, follow_redirects=True)
            assert f"{name} {said}" in text_of(answer)
            assert button in answer.text
            assert [one["state"] for one in browser.json(f"{page}.json")["listeners"]] == [state]
        assert [change.target for change in schedule.changes(s)] == [f"listener:{name}"] * 2
    refused = browser.post(f"/s/{s.name}/do/quiet", {"token": browser.token(page), "which": name, "back": page})
    assert "does not listen to" in browser.get(refused.headers["location"]).text


def test_a_listener_has_a_name(browser: Browser, s: Schedule) -> None:
    schedule.add_now(s, handlers.note)
    with schedule.listener(s, **HOW, listener_name="web-1"), schedule.listener(s, **HOW) as plain:
        until(lambda: len(schedule.listeners(s)) == 2, what="both")
        until(lambda: schedule.counts(s).totals.get("done") == 1, what="the run")
        named, other = sorted(schedule.listeners(s), key=lambda info: info.called != "web-1")
        assert re.fullmatch(rf"web-1:{os.getpid()}:[0-9a-f]{{12}}", named.listener)
        assert (named.called, other.called) == ("web-1", f"{socket.gethostname()}:{os.getpid()}")
        said = text_of(browser.get(f"/s/{s.name}/listeners"))
        assert f"web-1 process {os.getpid()}" in said
        assert f"listening {socket.gethostname()}:{os.getpid()} " in said
        assert said.count("process") == 2  # one in the head of the host
        names = {one["name"]: one["listener"] for one in browser.json(f"/s/{s.name}/listeners.json")["listeners"]}
        assert names == {"web-1": named.listener, other.called: other.listener}
        assert plain is not None


@pytest.mark.parametrize("called", ["", "a b", "a:b", "a\nb", "x" * 65, 7, "a*"])
def test_what_is_no_name_of_a_listener_is_refused(s: Schedule, called: Any) -> None:
    with pytest.raises(InvalidOptions, match="listener_name="):
        schedule.listener(s, listener_name=called)
