"""Logins by a form: a logout ends a login everywhere, and wrong passwords are limited without harm to others."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from tests.web.conftest import Browser, Open
from tests.web.live.watching import LINES, Stream, stream_of
from workkit import asgi
from workkit.schedule import Schedule
from workkit.web.auth import LOGIN_S
from workkit.web.login import COOKIE, MOST_TRIES, TRIES, Failures, Login, Logouts, UsersFile, add_user

PASSWORD = "correct horse"
WINDOW = 60.0


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "users.toml"
    for name in ("ada", "bob"):
        add_user(path, name, roles="editor", password=PASSWORD)
    return path


@pytest.fixture
def browser(opened: Open, s: Schedule, users: Path) -> Browser:
    return opened(s, way=way(users))


def way(users: Path) -> Login:
    return Login(file=UsersFile(users), signer=asgi.signer("secret"))


def log_in(browser: Browser, name: str = "ada", password: str = PASSWORD) -> int:
    fields = {"token": browser.token("/-/login"), "name": name, "password": password, "back": "/"}
    status: int = browser.post("/-/login", fields).status_code
    return status


def log_out(browser: Browser, s: Schedule) -> str:
    """Log out, and return the cookie that was kept by somebody before."""
    cookie = browser.cookies[COOKIE]
    assert browser.post("/-/logout", {"token": browser.token(f"/s/{s.name}/")}).status_code == 303
    return cookie


def status(browser: Browser, s: Schedule, cookie: str) -> int:
    return browser.beside().get(f"/s/{s.name}/", headers={"cookie": f"{COOKIE}={cookie}"}).status_code


def test_a_logout_ends_the_login_for_who_has_kept_the_cookie(browser: Browser, s: Schedule) -> None:
    assert log_in(browser) == 303
    kept = browser.cookies[COOKIE]
    assert status(browser, s, kept) == 200
    assert log_out(browser, s) == kept
    assert status(browser, s, kept) == 401
    headers = {"cookie": f"{COOKIE}={kept}"}
    assert browser.beside().get(f"/s/{s.name}.json", headers=headers).status_code == 401
    assert browser.beside().post(f"/s/{s.name}/do/pause", {"token": "x"}, headers=headers).status_code == 401


def test_a_logout_leaves_the_other_logins_of_the_same_person(browser: Browser, s: Schedule) -> None:
    other = browser.beside()
    assert (log_in(browser), log_in(other)) == (303, 303)  # within one second, too
    log_out(browser, s)
    assert other.get(f"/s/{s.name}/").status_code == 200
    assert log_in(browser) == 303
    assert browser.get(f"/s/{s.name}/").status_code == 200


def test_a_logout_holds_in_other_processes_and_after_a_restart(
    browser: Browser, opened: Open, s: Schedule, users: Path
) -> None:
    beside = opened(s, way=way(users))
    log_in(browser)
    assert status(beside, s, browser.cookies[COOKIE]) == 200
    kept = log_out(browser, s)
    assert status(beside, s, kept) == 401
    assert status(opened(s, way=way(users)), s, kept) == 401
    file = users.with_name("users.toml.logouts")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert kept not in file.read_text()


def test_a_logout_ends_the_streams_of_this_login_in_every_process(
    browser: Browser, opened: Open, s: Schedule, users: Path
) -> None:
    beside, other = opened(s, way=way(users)), browser.beside()
    assert (log_in(browser), log_in(other, "bob")) == (303, 303)
    address = stream_of(browser, f"/s/{s.name}/")
    ended, going = (f"{COOKIE}={one.cookies[COOKIE]}" for one in (browser, other))

    async def begun() -> list[Stream]:
        streams = [Stream(one.app, address, cookie=ended) for one in (browser, beside)]
        streams += [Stream(one.app, address, cookie=ended, accept=LINES) for one in (browser, beside)]
        streams.append(Stream(browser.app, address, cookie=going))
        for stream in streams:
            await stream.until(lambda one: one.events)
        return streams

    async def over(*streams: Stream) -> None:
        async with asyncio.timeout(5):
            for stream in streams:
                await stream.until(lambda one: one.is_over)

    *gone, stays = browser.run(begun())
    log_out(browser, s)
    browser.run(over(*gone))
    assert not stays.is_over
    users.write_text(users.read_text().replace("bob", "eve"))
    browser.run(over(stays))


def test_a_logout_holds_in_this_process_where_its_file_cannot_be_written(
    browser: Browser, s: Schedule, users: Path, caplog: pytest.LogCaptureFixture
) -> None:
    users.with_name("users.toml.logouts").mkdir()
    log_in(browser)
    assert status(browser, s, log_out(browser, s)) == 401
    assert "A logout holds in this process only." in caplog.text


def test_the_file_of_logouts_keeps_none_that_is_over(tmp_path: Path) -> None:
    path = tmp_path / "logouts"
    now_s = int(time.time())
    for at in (now_s - LOGIN_S, now_s - LOGIN_S - 1):
        Logouts(path).add(f"old {at}", now_s=at)
    Logouts(path).add("new", now_s=now_s)
    assert len(path.read_text().splitlines()) == 1
    with open(path, "ab") as file:
        file.write(b"half a li\nx y z\n\xff\n")
    again = Logouts(path)
    assert again.has("new")
    assert not again.has(f"old {now_s - LOGIN_S}")
    os.unlink(path)
    assert again.has("new")


def test_right_logins_do_not_count(browser: Browser) -> None:
    for _ in range(TRIES + 2):
        assert log_in(browser) == 303
    assert [log_in(browser, password="wrong") for _ in range(TRIES - 1)] == [401] * (TRIES - 1)
    assert log_in(browser) == 303  # that forgets what failed before
    assert [log_in(browser, password="wrong") for _ in range(TRIES)] == [401] * TRIES
    assert log_in(browser) == 429


def test_failures_at_another_address_never_refuse_a_right_login(browser: Browser) -> None:
    for n in range(3):
        eve = browser.beside(f"10.0.0.{n}")
        assert [log_in(eve, password="wrong") for _ in range(TRIES + 1)] == [401] * TRIES + [429]
    assert log_in(browser) == 303


def test_failures_of_one_name_do_not_refuse_another_at_the_same_address(browser: Browser) -> None:
    assert [log_in(browser, name="bob", password="wrong") for _ in range(TRIES)] == [401] * TRIES
    assert log_in(browser, name="bob") == 429
    assert log_in(browser, name="ada") == 303
    assert log_in(browser, name="ada", password="wrong") == 429


def test_a_name_that_changes_with_each_try_is_refused_too() -> None:
    failures = Failures()
    for n in range(MOST_TRIES):
        assert not failures.is_refused("a", f"name {n}", now=n / 10)
        failures.add("a", f"name {n}", now=n / 10)
    assert failures.is_refused("a", "ada", now=MOST_TRIES / 10)
    assert not failures.is_refused("b", "ada", now=MOST_TRIES / 10)
    assert not failures.is_refused("a", "ada", now=WINDOW)


def test_a_minute_after_a_failure_it_counts_no_more() -> None:
    failures = Failures()
    for n in range(TRIES):
        failures.add("a", "ada", now=float(n))
    assert failures.is_refused("a", "ada", now=WINDOW - 0.1)
    assert not failures.is_refused("a", "ada", now=WINDOW)


def test_failures_are_kept_of_so_many_addresses_only_those_that_failed_last() -> None:
    failures = Failures(most=100)
    for n in range(TRIES):
        failures.add("first", "ada", now=float(n))
    for n in range(99):
        failures.add(f"address {n}", "x" * 60_000, now=5.0)
    assert failures.is_refused("first", "ada", now=6.0)
    failures.add("first", "ada", now=6.0)
    for n in range(50):
        failures.add(f"more {n}", "ada", now=7.0)
    assert len(failures) == 100
    assert failures.is_refused("first", "ada", now=8.0)


def test_passwords_tried_at_once_are_tried_one_after_the_other(users: Path) -> None:
    found = way(users)

    async def tried() -> list[Any]:
        tries = (found.cookie("ada", f"wrong {n}", address="a") for n in range(20))
        return await asyncio.gather(*tries, return_exceptions=True)

    answers = asyncio.run(tried())
    assert answers.count(None) == TRIES
    assert asyncio.run(found.cookie("ada", PASSWORD, address="b")) is not None
