"""Somebody who acts: finds the form, fills it in, reads what is said of it, and undoes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Locator, expect

from tests.browser.addresses import base
from tests.browser.scene import SHOP
from tests.browser.seen import Seen
from tests.processes import until
from tests.servers import Server
from tests.web.actions.test_jobs import contents
from workkit.schedule import Schedule


def form(seen: Seen, verb: str, which: str, *, on: str | None = None) -> Locator:
    """Find the form of an act on a page of the shop, by default on its job's, and open what it is folded into."""
    seen.open(f"{base(SHOP)}{f'jobs/{which}' if on is None else on}")
    return unfolded(seen.page.locator(f'main form[action$="/do/{verb}"]:has(input[name=which][value="{which}"])').first)


def unfold(folded: Locator) -> None:
    """Open what an element is folded into."""
    closed = folded.locator("xpath=ancestor::details[not(@open)]")
    while closed.count():  # the outermost first
        closed.first.locator("summary").first.click()


def unfolded(folded: Locator) -> Locator:
    """Wait for an element, and open what it is folded into."""
    expect(folded).to_be_attached()
    unfold(folded)
    return folded


def press(form: Locator) -> None:
    """Click the button of a form."""
    form.get_by_role("button").first.click()


def says(seen: Seen, *words: str) -> None:
    """Wait for the line after an act, by its words."""
    for word in words:
        expect(seen.page.locator("#did")).to_contain_text(word)


def undo(seen: Seen) -> None:
    """Click Undo in that line."""
    seen.page.locator("#did").get_by_role("button", name="Undo").click()


@dataclass(frozen=True, slots=True)
class Desk:
    """A page of somebody at work on one schedule, where nobody listens: what its keys are is up to them."""

    seen: Seen
    server: Server
    s: Schedule

    def keys(self) -> dict[str, Any]:
        """Read every key that an undo puts back."""
        return contents(self.server, self.s)

    def open(self, path: str = "", *, status: int = 200) -> None:
        """Go to a page of the schedule."""
        self.seen.open(path, status=status)

    def form(self, verb: str) -> Locator:
        """Find the form of an act on this page, and open what it is folded into."""
        return unfolded(self.seen.page.locator(f'main form[action$="/do/{verb}"]').first)

    def act(self, verb: str, **fields: str) -> None:
        """Fill in the form of an act on this page, and press its button."""
        form = self.form(verb)
        for name, text in fields.items():
            form.locator(f"[name={name}]").fill(text)
        press(form)

    def undone(self, act: Callable[[], None], *, said: str, back: str, but: str = "") -> None:
        """Act and read what is said; undo it and read that; the keys are as before, `but` for one that may be left."""
        before = self.keys()
        act()
        says(self.seen, said)
        assert self.keys() != before, said
        undo(self.seen)
        says(self.seen, back)
        after = self.keys()
        after.pop(f"{self.s.name}:{but}", None)
        assert after == before


def comes_to_show(seen: Seen, text: str, *, within: str = "main") -> None:
    """Wait until the page says something: by itself with the script, and loaded again without."""
    if seen.has_script:
        expect(seen.page.locator(within).first).to_contain_text(text)
    else:
        until(_loaded(seen, text, within), what=text)


def _loaded(seen: Seen, text: str, within: str) -> Callable[[], bool]:
    def look() -> bool:
        if text in seen.page.locator(within).first.inner_text():
            return True
        seen.page.reload()
        return False

    return look
