"""Which pages there are, in the order of the rail. A page that is not here has no address, and no link leads to it."""

from __future__ import annotations

from typing import Final

from workkit.web.page import Page
from workkit.web.pages import changes, job, listeners, now

PAGES: Final[tuple[Page, ...]] = (
    now.PAGE,
    job.PAGE,
    listeners.PAGE,
    changes.PAGE,
)
