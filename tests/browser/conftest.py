"""One server, one listener, one `workkit web` and one Chromium for all tests of this folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser import scene as scenes
from tests.browser.addresses import Found, crawled
from tests.browser.clicking import Desk
from tests.browser.scene import Scene
from tests.browser.seen import Looks
from tests.browser.web_thread import WebThread
from tests.processes import Process, Processes
from tests.servers import Server, program
from workkit import schedule
from workkit.schedule import Schedule

PLACE = "WORKKIT_TEST_CHROMIUM"
PLACES = (  # the headless one takes half of the processor's time
    "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
)  # fmt: skip
PATIENCE_MS = 30_000


def chromium_program() -> str:
    """Find the browser; without it, skip the test here and fail it in CI."""
    if found := os.environ.get(PLACE) or next(filter(None, map(shutil.which, PLACES)), None):
        return found
    missing = f"no chromium on PATH; on Debian: apt-get install chromium-headless-shell, or name it by {PLACE}"
    if os.environ.get("CI"):
        pytest.fail(missing, pytrace=False)
    pytest.skip(missing)


def chromium(ends: ExitStack) -> Browser:
    """Start the browser."""
    place = chromium_program()
    started = ends.enter_context(sync_playwright())
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # the sandbox of Chromium does not work for root
    browser = started.chromium.launch(executable_path=place, args=arguments)
    ends.callback(browser.close)
    return browser


@dataclass(frozen=True, slots=True)
class Site:
    """The web face of the scene: its address, its process, and what stands behind it."""

    address: str
    process: Process
    scene: Scene


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The scene, looked at by a real `workkit web`."""
    chromium_program()  # without a browser, nothing is started
    with ExitStack() as ends:
        server = ends.enter_context(
            closing(Server(program("redis"), folder=_folder(tmp_path_factory), is_durable=False))
        )
        server.start()
        processes = ends.enter_context(closing(Processes(_folder(tmp_path_factory))))
        yield shown(server, processes)


def shown(server: Server, processes: Processes, *options: str) -> Site:
    """Seed a server, let a listener work on it, and serve it."""
    scene = scenes.seed(server)
    where = ("--redis", server.url)
    listener = processes.workkit(
        "listen", scenes.SHOP, scenes.HOSTILE, *where, "--import", scenes.MODULE, "--threads", "12"
    )
    names = {"WORKKIT_SCHEDULES": ",".join((scenes.SHOP, scenes.HOSTILE, scenes.EMPTY))}  # one has no key yet
    web = processes.workkit("web", *where, "--bind", "127.0.0.1:0", *options, env=names)
    listener.wait_for("listening")
    scenes.standing(scene)
    address = web.wait_for(r"^listening .* on (\S+/),")[1].rstrip("/")
    return Site(address=address, process=web, scene=scene)


def _folder(factory: pytest.TempPathFactory) -> Path:
    return factory.mktemp("browser")


@pytest.fixture(scope="package")
def found(site: Site) -> Found:
    """The addresses of each page, by the links of the site itself."""
    with httpx.Client(base_url=site.address, timeout=30) as client:
        return crawled(client, (scenes.SHOP, scenes.HOSTILE, scenes.EMPTY))


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The one Chromium of all tests here: a thread has room for one Playwright."""
    with ExitStack() as ends:
        expect.set_options(timeout=PATIENCE_MS)
        yield chromium(ends)


@pytest.fixture(scope="package")
def pages(browser: Browser) -> Looks:
    """Pages of the browser, with the script and without."""
    return Looks(browser)


@pytest.fixture(scope="package")
def looks(site: Site, pages: Looks) -> Looks:
    """The same, on the site of the scene."""
    return pages.on(site.address)


@pytest.fixture
def s(server: Server, name: str) -> Schedule:
    """A schedule of one test, which nobody listens to but the test."""
    return schedule.create(name, redis=server.url)


@pytest.fixture
def desk(s: Schedule, server: Server, pages: Looks, has_script: bool) -> Iterator[Desk]:
    """A page of a browser on the web face of that schedule."""
    with closing(WebThread(s)) as web, pages.on(web.address).at(has_script=has_script) as seen:
        yield Desk(seen=seen, server=server, s=s)
