"""The pages of the dead jobs, on a real server with jobs that really died."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests import handlers
from tests.contract.layouts import Gocraft, OnRabbitmq, Sharded
from tests.contract.stage import FAILURE, Stage
from tests.contract.staged import staged
from tests.processes import until
from tests.servers import Server
from tests.web.conftest import Browser, Open, headline, text_of
from workkit import schedule
from workkit.brokers.native.keys import Keys
from workkit.cli.commands.dead_errors import by_error
from workkit.contract.admin import Acknowledged
from workkit.jobs.outcome import Dead
from workkit.schedule import Schedule
from workkit.verbs.opening import producer_of
from workkit.web.auth import Local
from workkit.web.pages.dead import beginning

HOW: dict[str, Any] = {"imports": ["tests.handlers", "tests.web.pages.test_dead"], "folder": None}


def lose(number: int, **_: Any) -> None:
    raise LookupError(f"invoice {number} has no lines, token=hunter2")


def shout(text: str) -> None:
    raise ValueError(text)


def die(s: Schedule, *, alike: int = 3, others: int = 1) -> None:
    for number in range(alike):
        schedule.add_now(s, lose, args=(number,))
    for number in range(others):
        schedule.add_now(s, handlers.fail, args=(f"disk {number} full",))
    schedule.drain(s, raise_errors=False, **HOW)


def test_nobody_died(browser: Browser, s: Schedule) -> None:
    answer = browser.get(f"/s/{s.name}/dead")
    assert headline(answer) == "Nobody died. What fails for good comes here, with its arguments and traceback."
    assert browser.json(f"/s/{s.name}/dead.json")["groups"] == []


def test_the_dead_are_grouped_by_their_error_as_the_command_line_groups_them(browser: Browser, s: Schedule) -> None:
    die(s, alike=3, others=2)
    answer = browser.get(f"/s/{s.name}/dead")
    assert headline(answer) == "5 dead jobs, 2 errors."
    said = text_of(answer)
    assert "3 of them died of one error" in said
    assert "Kept until 10,000 newer ones stand here, or for 90 days; the oldest leaves on" in said
    assert "LookupError" in said
    assert "Retry 3 at" in said
    assert '<span class="n bad">5</span>' in answer.text
    found = browser.json(f"/s/{s.name}/dead.json")
    assert [group["jobs"] for group in found["groups"]] == [3, 2]
    told = {error.print.print: error.count for error in by_error(schedule.dead(s))}
    assert {group["fingerprint"]: group["jobs"] for group in found["groups"]} == told


def test_errors_with_an_id_behind_an_underscore_are_one_group(browser: Browser, s: Schedule) -> None:
    for number in range(5):
        schedule.add_now(s, handlers.fail, args=(f"order_0001a{number} is lost",))
    schedule.drain(s, raise_errors=False, **HOW)
    (group,) = browser.json(f"/s/{s.name}/dead.json")["groups"]
    assert group["jobs"] == 5
    assert [error.print.print for error in by_error(schedule.dead(s))] == [group["fingerprint"]]


def test_now_says_that_many_died_of_one_error(browser: Browser, s: Schedule) -> None:
    die(s, alike=10)
    print_ = browser.json(f"/s/{s.name}/dead.json")["groups"][0]["fingerprint"]
    answer = browser.get(f"/s/{s.name}/")
    assert re.search(r"10 jobs died of one error since \d\d:\d\d", text_of(answer))
    assert f'<a class="btn slim" href="/s/{s.name}/dead/{print_}">Retry…</a>' in answer.text
    assert "hunter2" not in answer.text


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        ([("no ", False), ("12", True), (" lines", False)], [("no ", False), ("12", True), (" line…", False)]),
        ([("0123456789", False)], [("0123456789", False)]),
        ([("0123456789", False), ("1", True)], [("0123456789", False), ("…", True)]),
        ([], []),
    ],
)
def test_a_long_message_is_cut_across_its_pieces(parts: list[tuple[str, bool]], shown: list[tuple[str, bool]]) -> None:
    assert list(beginning(parts, 10)) == shown


def test_a_long_message_is_whole_on_the_page_of_its_error(browser: Browser, s: Schedule) -> None:
    schedule.add_now(s, shout, args=("x" * 300,))
    schedule.drain(s, raise_errors=False, **HOW)
    found = browser.json(f"/s/{s.name}/dead.json")["groups"][0]
    listed, opened = (browser.get(f"/s/{s.name}/{path}").text for path in ("dead", f"dead/{found['fingerprint']}"))
    assert "x" * 200 + "…" in listed
    assert "x" * 201 not in listed
    assert "x" * 300 in opened


def test_one_error_is_opened_in_pages(browser: Browser, s: Schedule) -> None:
    die(s, alike=52)
    print_ = browser.json(f"/s/{s.name}/dead.json")["groups"][0]["fingerprint"]
    found = browser.json(f"/s/{s.name}/dead/{print_[:8]}.json")
    assert (found["sentence"], len(found["jobs"])) == ("52 jobs died of one error.", 50)
    rest = browser.json(f"/s/{s.name}/dead/{print_}.json", params={"after": found["next"]})
    assert (len(rest["jobs"]), rest["next"]) == (2, None)
    assert "Show 46 more" in text_of(browser.get(f"/s/{s.name}/dead"))
    assert headline(browser.get(f"/s/{s.name}/dead/{'0' * 40}")) == "Nobody is dead of this error any more."
    assert browser.get(f"/s/{s.name}/dead/nothing").status_code == 404
    assert browser.get(f"/s/{s.name}/dead/{print_}?after=nowhere").status_code == 400


@pytest.mark.parametrize(
    ("q", "jobs"),
    [("fn:fail", 1), ("error:invoice", 3), ("args:2", 1), ("disk 0", 1), ("died:<1h -fn:fail", 3), ("nothing", 0)],
)
def test_a_filter_is_understood(browser: Browser, s: Schedule, q: str, jobs: int) -> None:
    die(s)
    found = browser.json(f"/s/{s.name}/dead.json", params={"q": q, "by": "job"})
    assert (found["matching"], len(found["jobs"])) == (jobs, jobs)
    answer = browser.get(f"/s/{s.name}/dead", params={"q": q})
    assert headline(answer).startswith(f"{jobs} of 4 dead jobs")


def test_a_filter_that_is_none_is_refused(browser: Browser, s: Schedule) -> None:
    answer = browser.get(f"/s/{s.name}/dead.json", params={"q": "colour:red"})
    assert answer.status_code == 400
    assert "error:" in answer.json()["accepted"]
    assert browser.get(f"/s/{s.name}/dead?by=colour").status_code == 400


def test_what_left_and_what_came_is_noticed(browser: Browser, s: Schedule) -> None:
    die(s)
    assert browser.json(f"/s/{s.name}/dead.json")["matching"] == 4
    gone = schedule.dead(s)[0]
    schedule.discard(s, gone.id)
    until(lambda: browser.json(f"/s/{s.name}/dead.json")["matching"] == 3, what="the discarded one to leave")
    schedule.retry(s, where="invoice")
    schedule.drain(s, raise_errors=False, **HOW)
    die(s, alike=0, others=1)
    expected = {job.id for job in schedule.dead(s)}

    def shown() -> set[str]:
        return {job["id"] for job in browser.json(f"/s/{s.name}/dead.json?by=job")["jobs"]}

    until(lambda: shown() == expected, what="those that died again")


def bury(server: Server, s: Schedule, count: int) -> None:
    """Let a dead job stand so many times more."""
    keys, client = Keys(s.name), server.client()
    (grave,) = client.hvals(keys.graves)
    when = client.zrange(keys.dead, 0, 0, withscores=True)[0][1]
    pipe = client.pipeline(transaction=False)
    for n in range(count):
        pipe.hset(keys.graves, f"{n:040x}@1", grave)
        pipe.zadd(keys.dead, {f"{n:040x}@1": when + n})
    pipe.execute()


def test_many_are_read_in_the_background(browser: Browser, s: Schedule, server: Server) -> None:
    die(s, alike=1, others=0)
    bury(server, s, 3000)
    first = browser.json(f"/s/{s.name}/dead.json")
    assert first["sentence"].startswith(("Reading 3,001 dead jobs: ", "3,001 dead jobs"))
    until(lambda: browser.json(f"/s/{s.name}/dead.json")["matching"] == 3001, what="all")
    assert browser.json(f"/s/{s.name}/dead.json")["read_percent"] is None


def test_what_is_known_is_not_read_again(browser: Browser, s: Schedule, server: Server) -> None:
    die(s, alike=1, others=0)
    bury(server, s, 3000)
    until(lambda: browser.json(f"/s/{s.name}/dead.json")["matching"] == 3001, what="all")
    graves = server.client().info("commandstats")["cmdstat_hmget"]["calls"]
    browser.get(f"/s/{s.name}/dead")
    assert server.client().info("commandstats")["cmdstat_hmget"]["calls"] - graves <= 3


@pytest.fixture(params=[Gocraft(), Sharded(2), OnRabbitmq("hutch")], ids=str)
def stage(request: pytest.FixtureRequest, server: Server, name: str) -> Iterator[Stage]:
    """A schedule of another layout."""
    with staged(request.param, request, server, name) as opened:
        yield opened


def test_another_layout_shows_its_dead_and_retries_them(opened: Open, stage: Stage) -> None:
    for number in range(3):
        stage.add_with(number)
    peer = stage.peer()
    while claims := peer.claim():
        for claim in claims:
            peer.end(claim, Dead(failure=FAILURE))
    browser = opened(stage.s)
    path = f"/s/{stage.name}/dead"
    found = browser.json(f"{path}.json?by=job")
    assert (found["sentence"], len(found["jobs"])) == ("3 dead jobs, 1 error.", 3)
    assert [group["jobs"] for group in browser.json(f"{path}.json")["groups"]] == [3]
    fields = {"token": browser.token(path), "which": found["jobs"][0]["dead"]}
    browser.post(f"/s/{stage.name}/do/retry", fields)
    assert len(schedule.dead(stage.s)) == 2
    until(lambda: browser.json(f"{path}.json")["matching"] == 2, what="the index")


def test_hostile_texts_harm_nothing_and_secrets_are_hidden(opened: Open, s: Schedule) -> None:
    evil = "<script>alert(1)</script>\x00\x1b[31m\u202e\ud800" + "x" * 900_000
    schedule.add_now(s, shout, args=(evil.replace("\ud800", ""),))
    schedule.add_now(s, lose, args=(1,), kwargs={"password": "hunter2"})
    schedule.drain(s, raise_errors=False, **HOW)
    editor, viewer = opened(s), opened(s, way=Local(role="viewer"), mask_all=True)
    paths = [f"/s/{s.name}/dead", f"/s/{s.name}/dead?by=job", f"/s/{s.name}/dead.json?by=job"]
    paths += [f"/s/{s.name}/dead/{one['fingerprint']}" for one in editor.json(f"/s/{s.name}/dead.json")["groups"]]
    for path in paths:
        for browser in (editor, viewer):
            answer = browser.get(path)
            assert answer.status_code == 200
            assert ".json" in path or "<script>alert" not in answer.text
            assert "hunter2" not in answer.text
            assert not {"\x00", "\x1b", "\u202e"} & set(answer.text)
            assert len(answer.content) < 60_000
    assert "xxxxxx" not in viewer.get(paths[2]).text.partition("args")[2].partition("]")[0]


def test_acknowledged_deaths_are_not_red(browser: Browser, s: Schedule) -> None:
    die(s)
    assert 'class="bad"' in browser.get(f"/s/{s.name}/").text
    producer_of(s).admin.steer(Acknowledged())
    assert 'class="bad"' not in browser.get(f"/s/{s.name}/").text
    die(s, alike=1, others=0)
    until(lambda: 'class="bad"' in browser.get(f"/s/{s.name}/").text)
