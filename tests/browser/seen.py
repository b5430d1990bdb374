"""What a browser sees of a page, and what it complains of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import axe_playwright_python
from playwright.sync_api import Browser, BrowserContext, Page, Request, Response

from tests.browser.scene import MASKED

Theme = Literal["light", "dark"]
WIDE, NARROW, NARROWEST = 1280, 390, 320
LOOKS: Final[Sequence[tuple[Theme, int]]] = (("light", WIDE), ("dark", NARROW), ("dark", WIDE), ("light", NARROW))
"""Each theme at each width; the first two show both of both."""

AXE: Final = next(Path(axe_playwright_python.__file__).parent.rglob("axe.min.js")).read_text(encoding="utf-8")
RULES: Final = {
    "runOnly": {
        "type": "tag",
        "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"],
    },
    "resultTypes": ["violations"],
    "preload": False,  # of stylesheets that only a script of its own could read
}
CHECKED: Final = """async rules => (await axe.run(document, rules)).violations.map(found =>
    found.id + ": " + found.nodes.slice(0, 4).map(node => node.html.slice(0, 200)).join(" | "))"""
WIDER: Final = """() => {
    const room = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= room) return [];
    const wide = [...document.body.querySelectorAll("*")].filter(one => one.getBoundingClientRect().right > room + 1);
    return ["the page is " + document.documentElement.scrollWidth + " px wide", ...wide.slice(0, 3).map(one =>
        one.outerHTML.slice(0, 120))];
}"""
FORBIDDEN: Final = "[onerror], main script, main style, main img, main [style]"
OWNED: Final = f"""() => [...document.querySelectorAll("{FORBIDDEN}")].map(one => one.outerHTML.slice(0, 200))"""


@dataclass  # no slots: Playwright notes something on whose method it calls
class Seen:
    """One page in the browser. `complaints`: what it said on its console, and requests that failed."""

    page: Page
    has_script: bool
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
        answer = self.page.goto(path, wait_until="load")
        assert answer is not None
        assert answer.status == status, f"{path}: {answer.status}"
        return answer.text()

    def show(self, theme: Theme, width: int) -> None:
        """Look at it in another light, at another width."""
        self.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        self.page.set_viewport_size({"width": width, "height": 900})

    def troubles(self) -> list[str]:
        """List what is wrong with the page as it is shown now, whatever it is about."""
        found = [*self.complaints, *self.page.evaluate(OWNED), *self.page.evaluate(WIDER)]
        if (heads := self.page.locator("h1").count()) != 1:
            found.append(f"{heads} h1")
        if "owned" in self.page.title():
            found.append("markup of the server ran")
        return found

    def barriers(self) -> list[str]:
        """List what axe finds, by rule, with the first elements."""
        assert self.has_script, "axe is a script"
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.evaluate(AXE)
        found: list[str] = self.page.evaluate(CHECKED, RULES)
        return found


@dataclass(slots=True)
class Looks:
    """Pages of one browser on one site."""

    browser: Browser
    address: str

    @contextmanager
    def at(self, *, has_script: bool, **how: Any) -> Iterator[Seen]:
        """Open a page of a browser that knows nothing yet."""
        context: BrowserContext = self.browser.new_context(
            base_url=self.address, java_script_enabled=has_script, viewport={"width": WIDE, "height": 900}, **how
        )
        try:
            context.set_default_timeout(30_000)
            seen = Seen(context.new_page(), has_script)
            seen.listen()
            yield seen
        finally:
            context.close()


def assert_masked(text: str, where: str) -> None:
    """No secret of the scene stands in an answer."""
    at = text.find(MASKED)
    assert at < 0, f"{where} shows a secret: …{text[max(0, at - 120) : at + 20]}"
