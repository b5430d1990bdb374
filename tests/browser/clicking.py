"""Somebody who acts: finds the form, fills it in, reads what is said of it, and undoes it."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Locator, expect

from tests.browser.addresses import base
from tests.browser.scene import SHOP
from tests.browser.seen import Seen
from tests.processes import until


def form(seen: Seen, verb: str, which: str, *, on: str | None = None) -> Locator:
    """Find the form of an act on a page of the shop, by default on its job's, and open what it is folded into."""
    seen.open(f"{base(SHOP)}{f'jobs/{which}' if on is None else on}")
    found = seen.page.locator(f'main form[action$="/do/{verb}"]:has(input[name=which][value="{which}"])').first
    expect(found).to_be_attached()
    unfold(found)
    return found


def unfold(folded: Locator) -> None:
    """Open what an element is folded into."""
    closed = folded.locator("xpath=ancestor::details[not(@open)]")
    while closed.count():  # the outermost first
        closed.first.locator("summary").first.click()


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
