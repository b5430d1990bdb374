"""Two hundred hostile records, and jobs whose every text is hostile: each page answers, within bounds, and harms
nobody.
"""

from __future__ import annotations

import html
import json
import re
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote, urljoin

import pytest

from tests import handlers
from tests.acceptance.test_hostile import hostile, job, stored, write
from tests.servers import Server
from tests.web.conftest import Browser
from tests.web.live.watching import Stream, first_sent
from tests.web.security.places import Place, as_json, everything, live
from workkit import schedule
from workkit.errors import WorkkitError
from workkit.schedule import Schedule
from workkit.web.words import job_path

HOW: dict[str, Any] = {"imports": ["tests.handlers", "tests.web.security.test_hostile_records"], "folder": None}
MARKUP = "\"><script>alert(1)</script><img src=x onerror=alert(1)>'`{{7*7}}"
NAMES = (
    "../x", "a/b.json", "next.ics", "live", "new", "edit", "a/edit", ".", "..", "...json", "~", "~2f", "a b", "100%",
    "a?b=c#d", "<script>alert(1)</script>", 'q" onclick="alert(1)', "a\u202eb", "caf\u00e9", "x.jsonl", "do/pause", "-",
    "\u2028", "a\\b", "javascript:alert(1)", "//evil.example", "'", "{{7*7}}", "a&b", "a+b", "123456", "a" * 200,
)  # fmt: skip
MOST_BYTES = 1_000_000


def explode(*_: Any) -> None:
    raise ValueError(f"{MARKUP}\r\nset-cookie: a=b \u202e\x00\x1b[31m \ud800 {'x' * 100_000}")


class Parsed(HTMLParser):
    """The tags of a page, and what of it is no markup of ours."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        src = given.get("src") or ""
        if tag == "script" and not re.search(r"/-/static/[0-9a-f]+/workkit\.js$", src):
            self.wrong.append(f"<script src={src!r}>")
        if tag in ("img", "iframe", "object", "embed", "style", "base"):
            self.wrong.append(f"<{tag}>")
        self.wrong += [f"{name}= in <{tag}>" for name, _ in attrs if name.startswith("on") or name == "style"]
        for name in ("href", "action", "src"):
            if (link := given.get(name)) is not None and not link.startswith(("/", "#", "?", "data:image/svg")):
                self.wrong.append(f"{name}={link!r}")
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))


def check(where: str, answer: Any) -> list[str]:
    """Say what is wrong with an answer."""
    if answer.status_code >= 500:
        return [f"{where[:150]}: {answer.status_code}: {answer.text[-600:]}"]
    wrong = []
    kind = answer.headers.get("content-type", "")
    wrong += [f"header {name}" for name, value in answer.headers.items() if "\r" in value or "\n" in value]
    try:
        text = answer.content.decode("utf-8")
    except UnicodeDecodeError as error:
        return [f"{where}: {error}"]
    if kind.startswith("text/html"):
        wrong += [f"{len(answer.content):,} bytes"] if len(answer.content) > MOST_BYTES else []
        wrong += Parsed(text).wrong
        wrong += ["a bare control"] if re.search("[\x00-\x08\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text) else []
    elif kind == "application/json":
        found = json.loads(text)
        json.dumps(found, allow_nan=False)
        for piece in (found.get("patch") or {}).values():
            wrong += Parsed(piece).wrong
    elif kind == "application/x-ndjson":
        [json.loads(line) for line in text.splitlines()]
    else:
        wrong.append(f"of kind {kind!r}")
    return [f"{where[:150]}: {one}" for one in wrong]


@pytest.fixture(autouse=True)
def _second_look_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Doctor looks twice."""
    monkeypatch.setattr("workkit.brokers.native.look.published.MOMENT", 0.01)


@pytest.fixture
def bad(s: Schedule, server: Server) -> Schedule:
    """A schedule with all of it."""
    write(server.client(), s.name, hostile(200))
    for n, name in enumerate(NAMES):
        try:
            given: dict[str, Any] = {"args": (MARKUP, "\u202e", n), "kwargs": {MARKUP: n}}
            schedule.add(s, handlers.note, every="day at 2:30am", name=name, **given)
        except WorkkitError:
            continue  # a name that nothing may have
    schedule.add(s, handlers.note, in_="1 hour", args=("x" * 500_000, {"k" * 300_000: [MARKUP] * 1000}))
    functions = ("#'app/<script>alert(1)</script>", "#'a.b/\r\nx\u202e", MARKUP, "f" * 500_000)
    write(server.client(), s.name, (stored("", "unrun", job(fn=fn, args=[MARKUP]), score=9e12) for fn in functions))
    schedule.add_now(s, explode, args=(MARKUP,))
    schedule.drain(s, raise_errors=False, **HOW)
    schedule.pause(s, reason=f"{MARKUP}\r\n\u202e" + "y" * 100)
    schedule.pause(s, "a b", reason=MARKUP)
    return s


async def streams(browser: Browser, s: Schedule) -> list[Stream]:
    return [*await first_sent(browser.app, live(s.name, ""), f"/s/{s.name}/live")]


def test_each_page_answers_and_is_harmless(browser: Browser, bad: Schedule) -> None:
    place = Place(browser, bad.name)
    assert len(place.jobs) >= 40
    wrong = [one for where, answer in everything(place) for one in check(where, answer)]
    assert not wrong, "\n".join(wrong)
    assert browser.get(f"/s/{bad.name}/next.ics").status_code == 200
    pages, _ = browser.run(streams(browser, bad))
    patch = next(value for kind, value in pages.events if kind == "patch")
    assert not [one for piece in patch.values() for one in Parsed(piece).wrong]


def test_each_name_is_reached_through_the_links_of_lists(browser: Browser, bad: Schedule) -> None:
    names = {job.name for job in schedule.jobs(bad) if job.name is not None}
    assert len(names) > 25
    links, after = set(), f"/s/{bad.name}/recurring"
    while after:
        found = browser.get(after)
        links |= {urljoin(after, link) for link in Parsed(found.text).links if "/jobs/" in link}
        following = browser.json(as_json(bad.name, after.removeprefix(f"/s/{bad.name}/")))["next"]
        after = f"/s/{bad.name}/recurring?after={quote(following)}" if following else ""
    reached = set()
    for link in links:
        answer = browser.json(f"{link.partition('?')[0]}.json")
        reached.add(answer["job"]["name"])
        edit = browser.get(f"{link.partition('?')[0]}/edit")
        assert edit.status_code == 200, link
    assert names <= reached


@pytest.mark.parametrize("given", [*NAMES, "\r\nset-cookie: a=b", "\ud800", "\x00"], ids=ascii)
def test_no_name_or_way_back_makes_a_header(browser: Browser, s: Schedule, given: str) -> None:
    token = browser.token(f"/s/{s.name}/")
    for back in (given, f"/{given}", f"/s/{s.name}/{given}", f"//evil.example/{given}", f"/\\evil.example/{given}"):
        back = back.encode("utf-8", "replace").decode()
        answer = browser.post(f"/s/{s.name}/do/checkup", {"token": token, "back": back})
        assert answer.status_code == 303
        location = answer.headers["location"]
        assert location.startswith("/")
        assert not location.startswith(("//", "/\\"))
        assert location.isprintable()
        assert "set-cookie" not in answer.headers
    for path in (f"/s/{quote(given, safe='', errors='replace')}", f"/s/{s.name}/{job_path(given)}"):
        answer = browser.get(path.encode("ascii", "replace").decode())
        assert answer.status_code < 500
        assert "set-cookie" not in answer.headers
        assert "<script>alert" not in html.unescape(answer.headers.get("location", ""))
