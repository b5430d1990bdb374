"""Every page of the registry, in each light, at each width, with the script and without."""

from __future__ import annotations

from collections.abc import Sequence

import httpx
import pytest

from tests.browser.addresses import Found, base
from tests.browser.conftest import Site
from tests.browser.scene import EMPTY, HOSTILE, SHOP
from tests.browser.seen import LOOKS, NARROW, NARROWEST, WIDE, Looks, Seen, Theme, assert_masked
from workkit.web.page import Page
from workkit.web.pages.registry import PAGES

SCRIPTS = pytest.mark.parametrize("has_script", [True, False], ids=["script", "plain"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_stands_in_each_light_at_each_width(page: Page, found: Found, looks: Looks, site: Site) -> None:
    paths = found[page.name]
    assert paths, f"no link leads to the page {page.name}: {page.path}"
    wrong = []
    with looks.at(has_script=True) as scripted, looks.at(has_script=False) as plain:
        for n, path in enumerate(paths):
            for seen in (scripted, plain):
                assert_masked(seen.open(path), path)
                for theme, width in (*LOOKS, ("light", NARROWEST)) if n == 0 else (*LOOKS[:2], ("light", NARROWEST)):
                    seen.show(theme, width)
                    told = seen.troubles()
                    if seen.has_script and (theme, width) in axed(paths, n):
                        told += seen.barriers()
                    script = "script" if seen.has_script else "plain"
                    wrong += [f"{path}, {script}, {theme}, {width} px: {one}" for one in told]
    assert not wrong, "\n".join(wrong)
    assert any(path.startswith(base(SHOP)) for path in paths)


def axed(paths: list[str], n: int) -> Sequence[tuple[Theme, int]]:
    """Choose the looks that axe sees, which takes the longest: all of the first address, one of each further one that
    may have other markup, which are those of the shop without a filter, and the first one of another schedule.
    """
    if n == 0:
        return LOOKS
    schedule = paths[n].split("/")[2]
    is_first = all(path.split("/")[2] != schedule for path in paths[:n])
    return LOOKS[n % 2 : n % 2 + 1] if is_first or (schedule == SHOP and "?" not in paths[n]) else ()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_json_of_a_page_holds_no_secret(page: Page, found: Found, site: Site) -> None:
    for path in found[page.name]:
        answer = httpx.get(site.address + path, headers={"accept": "application/json"}, timeout=30)
        assert answer.status_code == 200, f"{path}: {answer.text}"
        assert isinstance(answer.json(), dict)
        assert_masked(answer.text, path)


def told(seen: Seen, looks: tuple[tuple[Theme, int], ...]) -> list[str]:
    """List what is wrong in each of these looks."""
    wrong = []
    for theme, width in looks:
        seen.show(theme, width)
        wrong += seen.troubles() + (seen.barriers() if seen.has_script else [])
    return wrong


@SCRIPTS
def test_all_schedules_stand_on_one_page(looks: Looks, has_script: bool) -> None:
    with looks.at(has_script=has_script) as seen:
        seen.open("/")
        assert told(seen, (("light", WIDE), ("dark", NARROW))) == []
        shown = seen.page.locator("main").inner_text()
        assert all(name in shown for name in (SHOP, HOSTILE, EMPTY))
        seen.page.get_by_role("link", name=HOSTILE, exact=True).first.click()
        seen.page.wait_for_url(f"**{base(HOSTILE)}")


@SCRIPTS
def test_what_there_is_not_is_said_within_the_frame(looks: Looks, has_script: bool) -> None:
    with looks.at(has_script=has_script) as seen:
        seen.open(f"{base(SHOP)}jobs/nobody-here", status=404)
        seen.complaints.clear()  # the browser itself says that it was one of 404
        assert told(seen, (("light", WIDE), ("dark", NARROW))) == []
        assert seen.page.get_by_role("navigation").first.is_visible() or seen.page.locator("details.menu").is_visible()


@SCRIPTS
def test_a_chosen_theme_stays_without_a_flash(looks: Looks, has_script: bool) -> None:
    with looks.at(has_script=has_script) as seen:
        seen.open(base(EMPTY))
        seen.show("light", WIDE)
        seen.page.get_by_role("button", name="dark", exact=True).click()
        seen.page.wait_for_selector("html[data-theme=dark]")
        assert 'data-theme="dark"' in seen.open(base(SHOP))
        assert seen.complaints == []
