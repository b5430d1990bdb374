"""Which addresses a site has: each page of the registry, by the links that lead to it."""

from __future__ import annotations

import html
import re
from collections import deque
from collections.abc import Sequence
from typing import Final

import httpx

from workkit.web.page import Page, found_page
from workkit.web.pages.registry import PAGES
from workkit.web.words import spelled, url_path

LINK: Final = re.compile(r'href="([^"]+)"')
MOST_OF_A_PAGE, MOST_ELSEWHERE = 3, 2  # of the first schedule, and of each of the others
FIRST: Final = ("jobs/nightly", "jobs/launch", "jobs/invoice-sync")
"""Jobs of the first schedule that stand before all others: one that recurs, one that runs once, one that fails."""

Found = dict[str, list[str]]
"""The addresses of each page, by its name: of the first schedule, then of the others in turn."""

OF_A_JOB = ("job", "edit")  # changes name jobs that other tests have taken out since


def base(name: str) -> str:
    """Make the address of a schedule."""
    return f"/s/{url_path(spelled(name))}/"


def crawled(client: httpx.Client, names: Sequence[str]) -> Found:
    """Follow the links from the pages whose addresses are known, breadth first. Each answer must be one of 200, but
    for jobs that are over."""
    by_schedule = [_of_one(client, names[0], FIRST, MOST_OF_A_PAGE)]
    by_schedule += [_of_one(client, name, (), MOST_ELSEWHERE) for name in names[1:]]
    return {page.name: [path for one in by_schedule for path in one.get(page.name, [])] for page in PAGES}


def _of_one(client: httpx.Client, name: str, first: Sequence[str], most: int) -> dict[str, list[str]]:
    start, found = base(name), dict[str, list[str]]()
    ahead = deque([*(page.path for page in PAGES if "{" not in page.path), *first])
    seen = set(ahead)
    while ahead:
        path = ahead.popleft()
        page = _page(path)
        if page is None or len(mine := found.setdefault(page.name, [])) >= most:
            continue
        answer = client.get(start + path)
        if answer.status_code == 404 and page.name in OF_A_JOB:
            continue
        assert answer.status_code == 200, f"{start + path} of page {page.name}: {answer.status_code}\n{answer.text}"
        mine.append(start + path)
        for link in map(html.unescape, LINK.findall(answer.text)):
            below = link.partition("#")[0].removeprefix(start)
            if link.startswith(start) and below not in seen and not below.endswith((".json", ".ics")):
                seen.add(below)
                ahead.append(below)
    return found


def _page(path: str) -> Page | None:
    found = found_page(PAGES, path.partition("?")[0])
    return found[0] if found is not None else None
