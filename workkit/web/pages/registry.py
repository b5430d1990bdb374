"""All pages, in the order of the rail. A page outside this list has no address, and no link leads to it."""

from __future__ import annotations

from typing import Final

from workkit.web.page import Page
from workkit.web.pages import (
    batches,
    changes,
    dead,
    doctor,
    edit,
    jobs,
    jump,
    limits,
    listeners,
    now,
    recurring,
    runs,
    single_job,
    timeline,
)

PAGES: Final[tuple[Page, ...]] = (
    now.PAGE,
    timeline.PAGE,
    recurring.PAGE,
    jobs.PAGE,
    single_job.PAGE,
    batches.PAGE,
    batches.ONE,
    runs.PAGE,
    runs.ONE,
    dead.PAGE,
    dead.ONE,
    listeners.PAGE,
    limits.PAGE,
    doctor.PAGE,
    changes.PAGE,
    edit.NEW,
    edit.PAGE,
    edit.SAY,
    jump.PAGE,
)
