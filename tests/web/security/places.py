"""Where the pages of a schedule are: an address for each page of the registry, so that a rule can be held for all."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from urllib.parse import quote, urlencode

import httpx

from tests.web.conftest import Browser
from workkit.web.page import Page
from workkit.web.pages.registry import PAGES
from workkit.web.words import job_path, spelled

FEW, FEWER = 20, 6


class Place:
    """A schedule in a browser, and what can be named in it."""

    def __init__(self, browser: Browser, name: str) -> None:
        self.browser, self.name = browser, name
        found = browser.json(f"/s/{name}/jobs.json")
        self.jobs = [job["id"] for job in found.get("jobs", [])]
        dead = browser.json(f"/s/{name}/dead.json?by=job")
        self.dead = [(job["id"], job["dead"]) for job in dead.get("jobs") or []]
        self.prints = [group["fingerprint"] for group in browser.json(f"/s/{name}/dead.json").get("groups") or []]
        found = browser.json(f"/s/{name}/batches.json").get("batches") or []
        self.batches = [batch["name"] for batch in found] or ["none"]
        self.runs = [run["run"] for run in browser.json(f"/s/{name}/runs.json").get("runs") or []][:FEW]

    @property
    def named(self) -> list[str]:
        """The jobs whose own pages are opened: those that stand, and some of the dead."""
        return list(dict.fromkeys([*self.jobs, *(id for id, _ in self.dead[:FEW])]))


Addresses = Callable[[Place], Iterator[str]]


def _plain(path: str, *queries: str) -> Addresses:
    def addresses(_: Place) -> Iterator[str]:
        for query in queries or ("",):
            yield f"{path}?{query}" if query else path

    return addresses


def _jobs(end: str = "") -> Addresses:
    def addresses(place: Place) -> Iterator[str]:
        yield from (job_path(id) + end for id in (place.jobs if end else place.named))
        yield job_path("123456") + end  # of none
        if not end:
            yield from (f"{job_path(id)}?dead={quote(dead)}" for id, dead in place.dead[:10])

    return addresses


def _new(place: Place) -> Iterator[str]:
    yield "new"
    yield "new?when=every+day&fn=tests.handlers:note"
    yield from (f"new?{urlencode({'like': id})}" for id in place.named[:FEWER])


def _say(place: Place) -> Iterator[str]:
    yield from (f"say?{urlencode({'when': 'every day at noon', 'job': id})}" for id in ("", *place.named[:FEWER]))
    yield "say?when=nonsense"


def _jump(place: Place) -> Iterator[str]:
    yield from _plain("-/jump", "q=night", "q=note", "q=every+day&fragment=1")(place)
    yield from (f"-/jump?q={id[:8]}" for id in place.named[:FEWER] if id[:8].isalnum())


TABLE: dict[str, Addresses] = {
    "now": _plain(""),
    "timeline": _plain(
        "timeline", "", *(f"by={by}&span={span}" for by in ("job", "fn", "listener") for span in ("2h", "90d"))
    ),
    "recurring": _plain("recurring", "", *(f"show={show}" for show in ("failing", "paused")), "sort=name", "q=nightly"),
    "jobs": _plain("jobs", "", *(f"state={one}" for one in ("waiting", "due", "running", "dead", "paused")), "q=note"),
    "job": _jobs(),
    "batches": _plain("batches"),
    "batch": lambda place: (f"batches/{spelled(batch)}" for batch in place.batches),
    "runs": _plain("runs", "", "q=failed", "ended=failed", "ended=dead"),
    "run": lambda place: (f"runs/{quote(run)}" for run in place.runs),
    "dead": _plain("dead", "", "by=job", "q=failed"),
    "dead-error": lambda place: (f"dead/{one}" for one in place.prints),
    "listeners": _plain("listeners"),
    "limits": _plain("limits", "", "q=fn"),
    "doctor": _plain("doctor", "", "older_than=1s"),
    "changes": _plain("changes", "", "what=add", "who=a"),
    "new": _new,
    "edit": _jobs("/edit"),
    "say": _say,
    "jump": _jump,
}
"""By the name of the page. One that is missing here fails the tests of this folder."""


def addresses(place: Place, page: Page) -> Iterator[str]:
    """Every address of a page in a schedule."""
    yield from TABLE[page.name](place)


def every_address(place: Place) -> Iterator[tuple[Page, str]]:
    """Every address of every page."""
    for page in PAGES:
        for address in addresses(place, page):
            yield page, address


def as_json(name: str, address: str) -> str:
    """The address of the JSON of a page."""
    path, _, query = address.partition("?")
    return (f"/s/{name}/{path}.json" if path else f"/s/{name}.json") + (f"?{query}" if query else "")


def live(name: str, address: str) -> str:
    """The address of the stream of a page."""
    path, _, query = address.partition("?")
    return f"/s/{name}/live?page={quote(path)}" + (f"&{query}" if query else "")


def everything(place: Place, *, more: int = FEW) -> Iterator[tuple[str, httpx.Response]]:
    """What each page answers: as a page, as JSON, as the pieces of its stream, and as JSON Lines. `more`: so many
    addresses of a page are asked for more than itself; JSON for all with the usual number.
    """
    pieces: dict[str, int] = {}
    for page, address in every_address(place):
        pieces[page.name] = pieces.get(page.name, 0) + 1
        kinds = [(f"/s/{place.name}/{address}", "text/html")]
        if more == FEW or pieces[page.name] <= more:
            kinds.append((as_json(place.name, address), "application/json"))
        if page.is_live and pieces[page.name] <= more:  # the same template as the page
            kinds.append((live(place.name, address), "application/json"))
        if page.lines is not None:
            kinds.append((f"/s/{place.name}/{page.path}.jsonl", "*/*"))
        for where, accept in kinds:
            yield where, answer_of(place.browser, where, accept)


def answer_of(browser: Browser, where: str, accept: str) -> httpx.Response:
    """Ask. What the application raises is an answer too, so that a test can name all that goes wrong."""
    try:
        return browser.get(where, headers={"accept": accept})
    except Exception:
        return httpx.Response(500, text=traceback.format_exc()[-600:])
