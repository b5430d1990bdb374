"""Who comes in, by which way, and what is refused before anything is asked of a server."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from tests.web.conftest import ORIGIN, Browser, Open, headline
from workkit import asgi, schedule
from workkit.errors import InvalidOptions
from workkit.schedule import Schedule
from workkit.web.auth import Mounted
from workkit.web.login import COOKIE, Login, Proxy, UsersFile, add_token, add_user

PASSWORD = "correct horse"


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "users.toml"
    add_user(path, "ada", roles="editor", password=PASSWORD)
    return path


def login(users: Path) -> Login:
    return Login(file=UsersFile(users), signer=asgi.signer("secret"))


def log_in(browser: Browser, *, name: str = "ada", password: str = PASSWORD, **how: Any) -> Any:
    token = browser.token("/-/login")
    return browser.post("/-/login", {"token": token, "name": name, "password": password, "back": "/"}, **how)


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "app-tasks", "localhost.evil.example:5040"]
)
def test_a_host_that_is_not_ours_is_refused(browser: Browser, s: Schedule, host: str) -> None:
    answer = browser.get(f"/s/{s.name}/", headers={"host": host})
    assert answer.status_code == 403
    assert s.name not in answer.text
    assert "add --origin" in answer.text


@pytest.mark.parametrize("host", ["localhost:5040", "LOCALHOST", "127.0.0.1:5040", "[::1]:5040", "10.0.0.7"])
def test_a_host_that_is_ours_comes_in(browser: Browser, host: str) -> None:
    assert browser.get("/-/health", headers={"host": host}).status_code == 200


def test_every_answer_has_the_headers(browser: Browser, s: Schedule) -> None:
    for path in (f"/s/{s.name}/", f"/s/{s.name}.json", "/nowhere", "/-/health"):
        headers = browser.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'self'; script-src 'self';")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"


def test_without_a_login_there_is_only_the_form(opened: Open, s: Schedule, users: Path) -> None:
    browser = opened(s, way=login(users))
    for path in ("/", f"/s/{s.name}/", "/nowhere"):
        answer = browser.get(path)
        assert (answer.status_code, headline(answer)) == (401, "Log in to go on.")
        assert s.name not in answer.text.replace(f'value="/s/{s.name}/"', "")
    assert browser.json(f"/s/{s.name}.json") == {"error": "Log in to go on."}


def test_a_login_lasts_in_a_cookie_that_scripts_and_other_sites_do_not_get(
    opened: Open, s: Schedule, users: Path
) -> None:
    browser = opened(s, way=login(users))
    answer = log_in(browser)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    kept = answer.headers["set-cookie"].lower()
    assert all(word in kept for word in ("httponly", "samesite=strict", "max-age=43200"))
    assert "secure" not in kept  # on this machine
    assert "ada" in browser.get(f"/s/{s.name}/").text
    token = browser.token(f"/s/{s.name}/")
    assert browser.post("/-/logout", {"token": token}).status_code == 303
    assert browser.get(f"/s/{s.name}/").status_code == 401


def test_off_this_machine_the_cookie_is_for_tls_only(opened: Open, s: Schedule, users: Path) -> None:
    browser = opened(s, way=login(users), origin="https://jobs.example.com", hosts={"jobs.example.com"})
    assert "secure" in log_in(browser).headers["set-cookie"].lower()


def test_a_new_password_ends_old_logins(opened: Open, s: Schedule, users: Path) -> None:
    browser = opened(s, way=login(users))
    log_in(browser)
    assert browser.get(f"/s/{s.name}/").status_code == 200
    add_user(users, "ada", roles="editor", password="battery staple")
    assert browser.get(f"/s/{s.name}/").status_code == 401


@pytest.mark.parametrize("cookie", ["", "x", "YWRh.9999999999.00", "....", "YWRh.9999999999."])
def test_a_forged_cookie_is_nobody(opened: Open, s: Schedule, users: Path, cookie: str) -> None:
    answer = opened(s, way=login(users)).get(f"/s/{s.name}/", headers={"cookie": f"{COOKIE}={cookie}"})
    assert answer.status_code == 401


def test_five_wrong_passwords_are_enough_for_a_minute(opened: Open, s: Schedule, users: Path) -> None:
    browser = opened(s, way=login(users))
    statuses = [log_in(browser, name=name, password="wrong").status_code for name in ("ada", "bob", "", "ada", "ada")]
    assert statuses == [401] * 5
    assert log_in(browser).status_code == 429


def test_a_login_from_another_site_is_refused(opened: Open, s: Schedule, users: Path) -> None:
    browser = opened(s, way=login(users))
    assert log_in(browser, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert log_in(browser, headers={"sec-fetch-site": "same-site"}).status_code == 403


def test_a_login_never_leads_elsewhere(opened: Open, s: Schedule, users: Path) -> None:
    browser = opened(s, way=login(users))
    for back in ("https://evil.example/", "//evil.example", "/\\evil.example", "javascript:x", "/\t/evil.example"):
        fields = {"token": browser.token("/-/login"), "name": "ada", "password": PASSWORD, "back": back}
        login_way = browser.post("/-/login", fields)
        assert login_way.headers.get("location", "/") == "/"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec-fetch-site": "same-origin"}, 303),
        ({"sec-fetch-site": "cross-site", "origin": ORIGIN}, 403),
        ({"sec-fetch-site": "none"}, 403),
        ({"sec-fetch-site": "", "origin": ORIGIN}, 403),
    ],
)
def test_a_post_comes_from_a_page_of_ours(browser: Browser, s: Schedule, headers: dict[str, str], status: int) -> None:
    fields = {"token": browser.token(f"/s/{s.name}/"), "theme": "dark", "back": f"/s/{s.name}/"}
    assert browser.post("/-/look", fields, headers=headers).status_code == status


def test_an_old_browser_shows_its_origin(browser: Browser, s: Schedule) -> None:
    fields = {"token": browser.token(f"/s/{s.name}/"), "theme": "dark"}
    for origin, status in ((ORIGIN, 303), ("http://evil.example", 403), ("null", 403), (None, 403)):
        found = browser.run(
            browser._client.post("/-/look", data=fields, headers={} if origin is None else {"origin": origin})
        )
        assert found.status_code == status


def test_a_post_without_our_token_is_refused(browser: Browser, opened: Open, s: Schedule) -> None:
    other = opened(s, signer=asgi.signer("another secret")).token(f"/s/{s.name}/")
    for token in ("", "0" * 64, other, "ü"):
        assert browser.post("/-/look", {"token": token, "theme": "dark"}).status_code == 403


def test_a_long_post_is_refused(browser: Browser) -> None:
    assert browser.post("/-/look", {"theme": "x" * 65_000}).status_code == 413


def test_the_theme_and_the_zone_stay_in_cookies(browser: Browser, s: Schedule) -> None:
    page = f"/s/{s.name}/"
    answer = browser.post(
        "/-/look", {"token": browser.token(page), "theme": "dark", "zone": "Asia/Tokyo", "back": page}
    )
    assert answer.headers["location"] == page
    shown = browser.get(page).text
    assert 'data-theme="dark"' in shown
    assert "Times in Asia/Tokyo" in shown
    browser.post("/-/look", {"token": browser.token(page), "theme": '"><script>', "zone": "Mars/Base", "back": page})
    assert browser.get(page).text.count("data-theme=") == 1
    assert "Times in Asia/Tokyo" in browser.get(page).text
    browser.post("/-/look", {"token": browser.token(page), "zone": "schedule", "back": page})
    back = browser.get(page).text
    assert "Times in UTC" in back


def test_a_token_lets_a_program_in_and_no_cookie_is_read_with_it(opened: Open, s: Schedule, users: Path) -> None:
    token = add_token(users, "ci", roles="viewer")
    browser = opened(s, way=login(users))
    found = browser.json(f"/s/{s.name}.json", headers={"authorization": f"Bearer {token}"})
    assert found["schedule"] == s.name
    log_in(browser)
    for given in ("Bearer wrong", "Bearer", "Basic YWRhOmFkYQ==", ""):
        assert browser.get(f"/s/{s.name}.json", headers={"authorization": given}).status_code == 401


def test_a_proxy_that_is_ours_says_who_it_is(opened: Open, s: Schedule, users: Path) -> None:
    page, named = f"/s/{s.name}/", {"x-forwarded-user": "ada"}
    ours = opened(s, way=Proxy(header="X-Forwarded-User", addresses={"127.0.0.1"}, file=UsersFile(users)))
    assert "editor · ada" in ours.get(page, headers=named).text
    assert ours.get(page).status_code == 401
    assert ours.get(page, headers={"x-forwarded-user": "eve"}).status_code == 401
    other = opened(s, way=Proxy(header="X-Forwarded-User", addresses={"10.0.0.5"}, file=UsersFile(users)))
    assert other.get(page, headers=named).status_code == 401
    open_to_all = opened(s, way=Proxy(header="X-Forwarded-User", addresses={"127.0.0.1"}))
    assert "viewer · eve" in open_to_all.get(page, headers={"x-forwarded-user": "eve"}).text


def test_whoever_mounts_it_decides_by_its_own_login(opened: Open, s: Schedule) -> None:
    async def role_of(request: Any) -> str | None:
        found: str | None = request.headers.get("x-role")
        return found

    browser = opened(s, way=Mounted(role_of), root="/jobs", hosts=None)
    hidden = browser.get(f"/s/{s.name}/")
    assert (hidden.status_code, headline(hidden)) == (404, "Not found.")
    shown = browser.get(f"/s/{s.name}/", headers={"x-role": "viewer"})
    assert shown.status_code == 200
    assert 'href="/jobs/-/static/' in shown.text
    assert f'href="/jobs/s/{s.name}/listeners"' in shown.text
    with pytest.raises(TypeError, match=r"role=tests\.web\.test_auth\.\S*<lambda> returned 'king'\. Return "):
        browser.run(Mounted(lambda _: "king").who(None))  # type: ignore[arg-type]


def test_it_works_below_the_address_at_which_a_program_mounts_it(s: Schedule, name: str) -> None:
    with asyncio.Runner() as runner:
        program = Starlette(routes=[Mount("/ops/jobs", asgi.app(s, role=lambda _: "editor"))])
        browser = Browser(program, runner, origin="https://anything.example")
        try:
            assert browser.get("/ops/jobs/").headers["location"] == f"/ops/jobs/s/{name}/"
            page = browser.get(f"/ops/jobs/s/{name}/")
            assert f'href="/ops/jobs/s/{name}/listeners"' in page.text
            for static in re.findall(r'"([^"]*/-/static/[^"]+)"', page.text):
                assert browser.get(static).status_code == 200
            token = browser.token(f"/ops/jobs/s/{name}/")
            done = browser.post(f"/ops/jobs/s/{name}/do/pause", {"token": token, "back": f"/ops/jobs/s/{name}/"})
            assert done.headers["location"].startswith(f"/ops/jobs/s/{name}/?did=")
            assert f"Paused {name}." in browser.get(done.headers["location"]).text
            assert browser.get(f"/ops/jobs/s/{name}/listeners.json").json()["schedule"] == name
        finally:
            browser.close()


def test_a_schedule_without_a_role_does_not_exist(opened: Open, s: Schedule) -> None:
    other = schedule.create(f"{s.name}-other", redis=s.redis)
    browser = opened(s, other, way=Mounted(lambda _: {s.name: "viewer"}))
    assert browser.get(f"/s/{other.name}/").status_code == 404
    assert other.name not in browser.get("/", follow_redirects=True).text


def test_an_application_without_a_role_is_refused(s: Schedule) -> None:
    with pytest.raises(InvalidOptions, match="role is not given, so everyone could come in"):
        asgi.app(s)


def test_read_only_makes_everyone_a_viewer(opened: Open, s: Schedule) -> None:
    assert "<span>viewer</span>" in opened(s, read_only=True).get(f"/s/{s.name}/").text
