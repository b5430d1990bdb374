"""Every page of the registry, in each light, at each width, with the script and without."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

import httpx
import pytest

from tests.browser.addresses import LINK, Found, base
from tests.browser.conftest import Site
from tests.browser.scene import EMPTY, HOSTILE, SHOP
from tests.browser.seen import LOOKS, NARROW, NARROWEST_LOOK, WIDE, Looks, Seen, Theme, assert_masked
from workkit.web.page import Page
from workkit.web.pages.registry import PAGES

SCRIPTS = pytest.mark.parametrize("has_script", [True, False], ids=["script", "plain"])


@pytest.fixture(scope="module")
def both(looks: Looks) -> Iterator[Sequence[Seen]]:
    """Two pages, which go from address to address: one with the script and one without."""
    with looks.at(has_script=True) as scripted, looks.at(has_script=False) as plain:
        yield scripted, plain


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_stands_in_each_light_at_each_width(page: Page, found: Found, both: Sequence[Seen]) -> None:
    paths = found[page.name]
    assert paths, f"no link leads to the page {page.name}: {page.path}"
    wrong = []
    for n, path in enumerate(paths):
        barred = axed(page, paths, n)
        for seen in both if n == 0 else both[:1] if barred else both[1:]:
            assert_masked(seen.open(path), path)
            for look in looked(n, has_script=seen.has_script):
                seen.show(*look)
                told = seen.troubles()
                if seen.has_script and look in barred:
                    told += seen.barriers()
                script = "script" if seen.has_script else "plain"
                wrong += [f"{path}, {script}, {look[0]}, {look[1]} px: {one}" for one in told]
    assert not wrong, "\n".join(wrong)
    assert any(path.startswith(base(SHOP)) for path in paths)


def looked(n: int, *, has_script: bool) -> Sequence[tuple[Theme, int]]:
    """Choose the looks of an address: of a further one, or of one without the script, some. A further one is opened
    once: with the script where axe, which is a script, looks at it.
    """
    if n > 0:
        return (LOOKS[n % 2], NARROWEST_LOOK)
    return (*LOOKS, NARROWEST_LOOK) if has_script else (*LOOKS[:2], NARROWEST_LOOK)


def axed(page: Page, paths: list[str], n: int) -> Sequence[tuple[Theme, int]]:
    """Choose the looks that axe sees, which takes the longest: both themes and both widths of the first address, and
    one of each further one that may have other markup, which are those of the shop without a filter, and the first one
    of another schedule. What stands around every page is seen in all looks, around the first page.
    """
    if n == 0:
        return LOOKS if page is PAGES[0] else LOOKS[:2]
    schedule = paths[n].split("/")[2]
    is_first = all(path.split("/")[2] != schedule for path in paths[:n])
    return LOOKS[n % 2 : n % 2 + 1] if is_first or (schedule == SHOP and "?" not in paths[n]) else ()


def test_a_run_with_any_title_fits_the_narrowest_screen(looks: Looks, site: Site) -> None:
    rows = httpx.get(f"{site.address}{base(HOSTILE)}runs", timeout=30).text.split("<tr>")[2:]
    shown = [html.unescape(link[1]) for row in rows if (link := LINK.search(row)) and "&lt;img" in row]
    assert shown, "no run of a job with markup in its name"
    with looks.at(has_script=False) as seen:
        for path in shown:
            seen.open(path)
            seen.show(*NARROWEST_LOOK)
            assert seen.troubles() == [], path


def test_the_json_of_each_page_holds_no_secret(found: Found, site: Site) -> None:
    with httpx.Client(base_url=site.address, headers={"accept": "application/json"}, timeout=30) as client:
        for path in (path for paths in found.values() for path in paths):
            answer = client.get(path)
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
