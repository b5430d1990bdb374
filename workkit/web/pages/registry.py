"""Which pages there are, in the order of the rail. A page that is not here has no address, and no link leads to it."""

from __future__ import annotations

from typing import Final

from workkit.web.page import Page
from workkit.web.pages import job, jobs, limits, listeners, now, run, runs

PAGES: Final[tuple[Page, ...]] = (
    now.PAGE,
    jobs.PAGE,
    job.PAGE,
    runs.PAGE,
    run.PAGE,
    listeners.PAGE,
    limits.PAGE,
)
