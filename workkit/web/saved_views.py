"""Saved views: filters of Jobs, Runs and Dead under a name. They stand in a cookie of the browser, one for each
schedule, so no server and no other person knows them.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from workkit.web.response import Refused

COOKIE: Final = "workkit_views"
LONGEST_NAME, MOST_CHARACTERS = 60, 3_800
"""Of a name; and of the cookie, of which browsers keep 4 kB with its name and its path."""

KEPT: Final[Mapping[str, tuple[str, ...]]] = {
    "jobs": ("state", "q"),
    "runs": ("job", "fn", "ended", "from", "to", "q"),
    "dead": ("by", "q"),
}
"""The pages that have saved views, and the parameters of each that are its filter."""

PLAIN: Final = {("state", "all"), ("by", "error")}  # a page without a filter has these too


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedView:
    """A filter of a page, and its name. `path` is below the schedule."""

    page: str
    name: str
    path: str


def read_views(cookie: str) -> tuple[SavedView, ...]:
    """Read a cookie that `with_view` wrote. What cannot be read is no view."""
    try:
        found = json.loads(urlsafe_b64decode(cookie.encode()))
    except ValueError:
        return ()
    rows = found if isinstance(found, list) else []
    return tuple(view for row in rows if (view := _view(row)) is not None)


def with_view(views: Sequence[SavedView], *, page: str, name: str, address: str) -> tuple[SavedView, ...]:
    """Add the filter of an address under a name, in place of the page's view of that name. Raises Refused."""
    name = " ".join(name.split())
    if page not in KEPT:
        accepted = ", ".join(KEPT)
        raise Refused(
            400, f'The page "{page}" has no saved views. Accepted: {accepted}.', fields={"accepted": accepted}
        )
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise Refused(400, f"A saved view needs a name of 1 to {LONGEST_NAME} printable characters.")
    filtered = _filter(page, address.partition("?")[2])
    if not filtered:
        raise Refused(400, "There is no filter to save. Filter first, then save.")
    added = SavedView(page=page, name=name, path=f"{page}?{filtered}")
    found = (*without_view(views, page=page, name=name), added)
    if len(written(found)) > MOST_CHARACTERS:
        raise Refused(400, "There is no room for another saved view of this schedule. Remove one first.")
    return found


def without_view(views: Sequence[SavedView], *, page: str, name: str) -> tuple[SavedView, ...]:
    """Remove the view of a page that has this name."""
    return tuple(view for view in views if (view.page, view.name) != (page, name))


def written(views: Sequence[SavedView]) -> str:
    """Write the cookie."""
    rows = [[view.page, view.name, view.path.partition("?")[2]] for view in views]
    return urlsafe_b64encode(json.dumps(rows, separators=(",", ":"), ensure_ascii=False).encode()).decode()


def _view(row: Any) -> SavedView | None:
    if not isinstance(row, list) or len(row) != 3 or not all(isinstance(part, str) for part in row):
        return None
    page, name, query = row
    filtered = _filter(page, query) if page in KEPT else ""
    is_whole = bool(filtered) and bool(name) and name.isprintable() and len(name) <= LONGEST_NAME
    return SavedView(page=page, name=name, path=f"{page}?{filtered}") if is_whole else None


def _filter(page: str, query: str) -> str:
    given = dict(parse_qsl(query))
    pairs = [(name, given[name]) for name in KEPT[page] if name in given]
    return urlencode(pairs) if set(pairs) - PLAIN else ""
