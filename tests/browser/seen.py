"""What a browser sees of a page, and what it complains of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import axe_playwright_python
from playwright.sync_api import Browser, BrowserContext, Page, Request, Response, ViewportSize

from tests.browser.scene import MASKED

Theme = Literal["light", "dark"]
WIDE, NARROW, NARROWEST = 1280, 390, 320
ROOM: Final[ViewportSize] = {"width": WIDE, "height": 900}
LOOKS: Final[Sequence[tuple[Theme, int]]] = (("light", WIDE), ("dark", NARROW), ("dark", WIDE), ("light", NARROW))
"""Each theme at each width; the first two show both of both."""
NARROWEST_LOOK: Final[tuple[Theme, int]] = ("light", NARROWEST)

AXE: Final = next(Path(axe_playwright_python.__file__).parent.rglob("axe.min.js")).read_text(encoding="utf-8")
RULES: Final = {
    "runOnly": {
        "type": "tag",
        "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"],
    },
    "resultTypes": ["violations"],
    "preload": False,  # of stylesheets that only a script of its own could read
}
ALIKE: Final = {"exclude": [["tbody tr:nth-child(n+13)"], ["optgroup"]]}
"""What axe leaves out: further rows like those before, and the zones of the world."""
CHECKED: Final = """async ([where, rules]) => (await axe.run(where, rules)).violations.map(found =>
    found.id + ": " + found.nodes.slice(0, 4).map(node => node.html.slice(0, 200)).join(" | "))"""
FORBIDDEN: Final = "[onerror], main script, main style, main img, main [style]"
TROUBLES: Final = """forbidden => {
    const found = [...document.querySelectorAll(forbidden)].map(one => one.outerHTML.slice(0, 200));
    const room = document.documentElement.clientWidth, width = document.documentElement.scrollWidth;
    if (width > room) {
        const wide = [...document.body.querySelectorAll("*")].filter(n => n.getBoundingClientRect().right > room + 1);
        found.push(`the page is ${width} px wide`, ...wide.slice(0, 3).map(one => one.outerHTML.slice(0, 120)));
    }
    const heads = document.querySelectorAll("h1").length;
    if (heads !== 1) found.push(`${heads} h1`);
    if (document.title.includes("owned")) found.push("markup of the server ran");
    return found;
}"""


@dataclass  # no slots: Playwright notes something on whose method it calls
class Seen:
    """One page in the browser. `complaints`: what it said on its console, and requests that failed."""

    page: Page
    has_script: bool
    address: str
    complaints: list[str] = field(default_factory=list)

    def listen(self) -> None:
        """Note all complaints from now on."""
        self.page.on("console", lambda said: self.complaints.append(f"console: {said.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("requestfailed", self._failed)
        self.page.on("response", self._answered)

    def _failed(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # a stream that ends because its page does
            self.complaints.append(f"{request.url}: {request.failure}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.complaints.append(f"{response.url}: {response.status}")

    def open(self, path: str, *, status: int = 200) -> str:
        """Go to an address, and give the text of the answer."""
        self.complaints.clear()
        answer = self.page.goto(self.address + path, wait_until="load")
        assert answer is not None
        assert answer.status == status, f"{path}: {answer.status}"
        return answer.text()

    def show(self, theme: Theme, width: int) -> None:
        """Look at it in another light, at another width."""
        self.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        self.page.set_viewport_size({"width": width, "height": 900})

    def troubles(self) -> list[str]:
        """List what is wrong with the page as it is shown now, whatever it is about."""
        return [*self.complaints, *self.page.evaluate(TROUBLES, FORBIDDEN)]

    def barriers(self) -> list[str]:
        """List what axe finds, by rule, with the first elements."""
        assert self.has_script, "axe is a script"
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.evaluate(AXE)
        found: list[str] = self.page.evaluate(CHECKED, [ALIKE, RULES])
        return found


@dataclass(slots=True)
class Looks:
    """Pages of one browser. Those alike share what the browser has of the site, but no cookies."""

    browser: Browser
    address: str = ""
    _contexts: dict[bool, BrowserContext] = field(default_factory=dict)
    _idle: list[Seen] = field(default_factory=list)

    def on(self, address: str) -> Looks:
        """Look at another site, with the same browser."""
        return Looks(self.browser, address, self._contexts, self._idle)

    @contextmanager
    def page(self, *, java_script_enabled: bool = True, **how: Any) -> Iterator[Page]:
        """Open a page of a browser that nobody knows yet. One with further options shares nothing."""
        context = self._context(java_script_enabled, **how) if how else self._shared(java_script_enabled)
        page = context.new_page()
        try:
            yield page
        finally:
            if how:
                context.close()
            else:
                page.close()
                context.clear_cookies()

    def _context(self, has_script: bool, **how: Any) -> BrowserContext:
        context = self.browser.new_context(java_script_enabled=has_script, viewport=ROOM, **how)
        context.set_default_timeout(30_000)
        return context

    def _shared(self, has_script: bool) -> BrowserContext:
        if has_script not in self._contexts:
            self._contexts[has_script] = self._context(has_script)
        return self._contexts[has_script]

    @contextmanager
    def at(self, *, has_script: bool) -> Iterator[Seen]:
        """Give a page whose paths are below the address of the site: one that was left, as to open one is dear. After
        a failure it is not used again.
        """
        seen = next((one for one in self._idle if one.has_script is has_script), None)
        if seen is None:
            seen = Seen(self._shared(has_script).new_page(), has_script, self.address)
            seen.listen()
        else:
            self._idle.remove(seen)
            seen.address = self.address
            seen.page.set_viewport_size(ROOM)
            seen.page.emulate_media(color_scheme="null", reduced_motion="null")
        try:
            yield seen
        except BaseException:
            seen.page.close()
            raise
        seen.page.goto("about:blank")
        seen.page.context.clear_cookies()
        seen.complaints.clear()
        self._idle.append(seen)


def assert_masked(text: str, where: str) -> None:
    """No secret of the scene stands in an answer."""
    at = text.find(MASKED)
    assert at < 0, f"{where} shows a secret: …{text[max(0, at - 120) : at + 20]}"
