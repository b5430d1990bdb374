from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests import handlers
from tests.servers import Server
from tests.web.conftest import Browser, Open
from tests.web.live.watching import LINES, PATIENCE_S, Stream, stream_of
from workkit import asgi, schedule
from workkit.errors import InvalidOptions
from workkit.schedule import Schedule
from workkit.web.auth import Local, Mounted
from workkit.web.live import channel
from workkit.web.live import stream as sending
from workkit.web.live.stream import PageViewer
from workkit.web.live.stream import Stream as Answer

Work = Callable[[], Coroutine[Any, Any, None]]


def run(browser: Browser, work: Work) -> None:
    """Watch on the event loop of the browser, and leave nothing running there."""
    browser.run(work())


def sent(stream: Stream, kind: str) -> list[Any]:
    return [value for name, value in stream.events if name == kind]


def test_a_page_gets_all_of_it_then_what_changes(browser: Browser, s: Schedule) -> None:
    address = stream_of(browser, f"/s/{s.name}/")

    async def work() -> None:
        stream = Stream(browser.app, address)
        first = await stream.event("patch")
        assert list(first) == ["pages", "menu-pages", "main"]
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["cache-control"] == "no-cache, no-transform"
        assert stream.headers["x-accel-buffering"] == "no"
        schedule.add(s, handlers.note, in_="1 hour", name="nightly")
        await stream.event("patch", "nightly")
        schedule.add(s, handlers.note, in_="2 hours", name="weekly")
        assert "next" in await stream.event("patch", "weekly")
        await stream.close()

    run(browser, work)


def test_what_many_share_has_nothing_of_one(opened: Open, s: Schedule) -> None:
    browser = opened(s, way=Mounted(lambda _: "operator"))
    schedule.add(s, handlers.note, in_="1 hour", name="nightly")
    address = stream_of(browser, f"/s/{s.name}/")

    async def work() -> None:
        one, other = Stream(browser.app, address), Stream(browser.app, address)
        first, second = await one.event("patch"), await other.event("patch")
        assert first == second
        assert 'name="token" value=""' in first["main"]
        assert 'name="number" value=""' in first["main"]
        await one.close()
        await other.close()

    run(browser, work)


def test_roles_do_not_share(opened: Open, s: Schedule) -> None:
    roles = iter(["editor", "editor", "viewer"])
    browser = opened(s, way=Mounted(lambda _: next(roles)))
    schedule.add(s, handlers.note, in_="1 hour", name="nightly")
    address = stream_of(browser, f"/s/{s.name}/")

    async def work() -> None:
        editor, viewer = Stream(browser.app, address), Stream(browser.app, address)
        assert "do/pause" in (await editor.event("patch"))["main"]
        assert "do/pause" not in (await viewer.event("patch"))["main"]
        await editor.close()
        await viewer.close()

    run(browser, work)


def test_who_may_not_see_the_schedule_gets_no_stream(opened: Open, s: Schedule) -> None:
    browser = opened(s, way=Mounted(lambda _: None))
    assert browser.get(f"/s/{s.name}/live?page=").status_code == 404
    assert opened(s).get(f"/s/{s.name}/live?page=nowhere").status_code == 404


def test_masked_values_are_in_no_stream(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, kwargs={"password": "hunter2"}, in_="1 hour")

    async def work() -> None:
        page = Stream(browser.app, f"/s/{s.name}/live?page=")
        lines = Stream(browser.app, f"/s/{s.name}/live", accept=LINES)
        assert "hunter2" not in str(await page.event("patch"))
        line = await lines.event("line", "soon")
        assert line["soon"][0]["kwargs"] == {"password": "••••••"}
        assert {"schedule", "as_of", "counts", "soon", "listeners", "paused", "unknown"} == line.keys()
        await page.close()
        await lines.close()

    run(browser, work)


def calls(client: Any, command: str) -> int:
    found = client.info("commandstats").get(f"cmdstat_{command}", {"calls": 0})
    return int(found["calls"])


def test_a_hundred_streams_ask_as_much_as_one(browser: Browser, s: Schedule, server: Server) -> None:
    """ZLEXCOUNT is sent once by a pulse, XREVRANGE twice by a look at Now, and neither by the other."""
    client = server.client()

    async def work() -> None:
        began, pulses, looks = time.monotonic(), calls(client, "zlexcount"), calls(client, "xrevrange")
        streams = [Stream(browser.app, f"/s/{s.name}/live?page=") for _ in range(100)]
        for stream in streams:
            await stream.event("patch")
        watch = Stream(browser.app, f"/s/{s.name}/live", accept=LINES)
        for _ in range(3):
            await watch.event("line")
        took = time.monotonic() - began
        assert 1 < calls(client, "zlexcount") - pulses <= took / channel.PULSE_S + 1
        assert 0 < calls(client, "xrevrange") - looks <= 2 * (took / 5 + 1)
        for stream in (*streams, watch):
            await stream.close()

    run(browser, work)


def test_without_a_stream_nothing_is_asked(browser: Browser, s: Schedule, server: Server) -> None:
    client = server.client()

    async def work() -> None:
        stream = Stream(browser.app, f"/s/{s.name}/live?page=")
        await stream.event("patch")
        pulses = calls(client, "zlexcount")
        await stream.close()
        assert len(browser.app.state.hub) == 0
        async with asyncio.timeout(PATIENCE_S):  # what ran for it ends
            await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)
        assert calls(client, "zlexcount") <= pulses + 1  # one may have been on its way

    run(browser, work)


def test_the_server_goes_away_and_comes_back(opened: Open, own_server: Server, name: str) -> None:
    browser = opened(schedule.create(name, redis=own_server.url))

    async def work() -> None:
        stream = Stream(browser.app, f"/s/{name}/live?page=")
        lines = Stream(browser.app, f"/s/{name}/live", accept=LINES)
        await stream.event("patch")
        for leave, come in ((own_server.freeze, own_server.thaw), (own_server.kill, own_server.start)):
            leave()
            away = await stream.event("away")
            assert "this page goes on by itself" in away["html"]
            assert re.search(r" does not answer[^<]*, since \d\d:\d\d(:\d\d)?\.", away["html"]), away["html"]
            assert "embedded" not in away["html"]
            assert away["html"].count("does not answer") == 1
            await lines.event("line", "away_ms")
            late = Stream(browser.app, f"/s/{name}/live?page=")
            assert (await late.event("away"))["away_ms"] >= 0
            await asyncio.to_thread(come)
            await stream.event("back")
            assert "main" in await stream.event("patch")
            await late.event("patch")
            await lines.event("line", "as_of")
            await late.close()
        await stream.close()
        await lines.close()

    run(browser, work)


def test_a_slow_client_gets_the_newest_of_each_piece(browser: Browser, s: Schedule) -> None:
    async def work() -> None:
        slow, quick = (Stream(browser.app, f"/s/{s.name}/live?page=") for _ in range(2))
        await slow.event("patch")
        slow.hold()
        for n in range(3):
            schedule.add(s, handlers.note, in_="1 hour", name=f"job-{n}")
            await quick.event("patch", f"job-{n}")
        slow.go_on()
        await slow.until(lambda stream: "job-2" in str(stream.events))
        assert len(sent(slow, "patch")) <= 2  # one was on its way
        await slow.close()
        await quick.close()

    run(browser, work)


def test_a_client_that_takes_nothing_is_let_go(browser: Browser, s: Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Answer.__init__, "__kwdefaults__", {"stuck_s": 0.2})

    async def work() -> None:
        stuck = Stream(browser.app, f"/s/{s.name}/live?page=")
        await stuck.event("patch")
        stuck.hold()
        schedule.add(s, handlers.note, in_="1 hour", name="nightly")
        await stuck.until(lambda stream: stream.is_over)
        assert len(browser.app.state.hub) == 0

    run(browser, work)


def test_a_stream_ends_after_its_life_and_says_so(
    browser: Browser, s: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PageViewer.__init__, "__kwdefaults__", {"is_old": False, "life_s": 0.5})

    async def work() -> None:
        stream = Stream(browser.app, f"/s/{s.name}/live?page=")
        await stream.event("bye")
        await stream.until(lambda stream: stream.is_over)

    run(browser, work)


def test_there_are_at_most_so_many_streams(browser: Browser, s: Schedule) -> None:
    async def work() -> None:
        streams = [Stream(browser.app, f"/s/{s.name}/live?page=") for _ in range(channel.MOST_STREAMS)]
        for stream in streams:
            await stream.until(lambda stream: stream.status)
        more = Stream(browser.app, f"/s/{s.name}/live?page=")
        await more.until(lambda stream: stream.is_over)
        assert more.status == 503
        assert len(browser.app.state.hub) == channel.MOST_STREAMS
        for stream in streams:
            await stream.close()

    run(browser, work)


def test_the_end_of_the_hub_ends_all_streams(browser: Browser, s: Schedule) -> None:
    async def work() -> None:
        streams = [Stream(browser.app, f"/s/{s.name}/live?page=") for _ in range(3)]
        for stream in streams:
            await stream.event("patch")
        await asyncio.to_thread(browser.app.state.hub.end)
        for stream in streams:
            await stream.until(lambda stream: stream.is_over)
        late = Stream(browser.app, f"/s/{s.name}/live?page=")
        await late.until(lambda stream: stream.is_over)
        assert late.status == 503

    run(browser, work)


def test_a_page_of_another_version_is_told(browser: Browser, s: Schedule) -> None:
    async def work() -> None:
        old = Stream(browser.app, f"/s/{s.name}/live?page=&version=0123")
        assert "A new version is here." in (await old.event("reload"))["html"]
        await old.close()

    run(browser, work)
    assert "version=" in stream_of(browser, f"/s/{s.name}/")


def test_who_comes_after_an_act_does_not_see_what_was_before(browser: Browser, s: Schedule) -> None:
    token = browser.token(f"/s/{s.name}/")

    async def work() -> None:
        before = Stream(browser.app, f"/s/{s.name}/live?page=")
        assert "migration" not in str(await before.event("patch"))
        await browser.send("POST", f"/s/{s.name}/do/pause", {"token": token, "reason": "migration"})
        after = Stream(browser.app, f"/s/{s.name}/live?page=")
        assert "migration" in str(await after.event("patch"))
        await before.event("patch", "migration")
        await before.close()
        await after.close()

    run(browser, work)


def test_an_act_leads_back_to_the_list_as_it_was_asked_for(browser: Browser, s: Schedule) -> None:
    fields = {"token": browser.token(f"/s/{s.name}/"), "number": "7", "back": f"/s/{s.name}/?state=due&q=a+b&did=6"}
    answer = browser.post(f"/s/{s.name}/do/pause", fields)
    assert answer.headers["location"] == f"/s/{s.name}/?state=due&q=a+b&did=7"


def test_where_there_are_no_streams_the_pieces_are_asked_for(opened: Open, s: Schedule) -> None:
    browser = opened(s, live="poll")
    address = stream_of(browser, f"/s/{s.name}/")
    assert "data-poll" in browser.get(f"/s/{s.name}/").text
    assert browser.get(address, headers={"accept": "text/event-stream"}).status_code == 404
    answer = browser.get(address, headers={"accept": "application/json"})
    assert list(answer.json()["patch"]) == ["pages", "menu-pages", "main"]
    how = {"accept": "application/json", "if-none-match": answer.headers["etag"]}
    assert browser.get(address, headers=how).status_code == 304
    browser.post(f"/s/{s.name}/do/pause", {"token": browser.token(f"/s/{s.name}/"), "reason": "migration"})
    assert "migration" in browser.get(address, headers=how).json()["patch"]["main"]


def test_a_page_that_is_gone_says_so(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, in_="1 hour", name="nightly")

    async def work() -> None:
        stream = Stream(browser.app, f"/s/{s.name}/live?page=jobs/nightly")
        assert "nightly" in (await stream.event("patch"))["main"]
        schedule.cancel(s, "nightly")
        await stream.event("patch", "refused")
        await stream.close()

    run(browser, work)


def test_a_way_of_keeping_fresh_that_there_is_not_is_refused(s: Schedule) -> None:
    with pytest.raises(InvalidOptions, match="live='often' is no way to keep a page fresh"):
        asgi.build(s, way=Local(), signer=asgi.signer("secret"), live="often")


def test_a_still_stream_is_heard_every_few_seconds(
    browser: Browser, s: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sending.BEAT_S <= 5  # a page takes 12 s of silence for a server that is gone
    monkeypatch.setattr(sending, "BEAT_S", 0.05)

    async def work() -> None:
        stream = Stream(browser.app, f"/s/{s.name}/live?page=limits")
        await stream.event("patch")
        for _ in range(3):
            await stream.event("beat")
        await stream.close()

    run(browser, work)
