"""The app of INSTALLED_APPS: it gives a project `manage.py workkit`, knows its schedules, and closes connections to its
databases around runs, as Django closes them around requests.

Django keeps a connection for each thread. A plain handler uses the connection of its thread. A coroutine calls the ORM
through `sync_to_async`, and uses the connection of the thread in which asgiref runs these calls.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from asgiref.sync import sync_to_async
from django.apps import AppConfig
from django.conf import settings
from django.db import connections

from workkit.jobs.middleware import EVERY, around_of, register

if TYPE_CHECKING:
    from workkit.django.backend import Backend
    from workkit.verbs.creation import Schedule


class WorkkitConfig(AppConfig):  # type: ignore[misc]  # untyped
    """The app ``workkit.django``."""

    name = "workkit.django"
    label = "workkit"
    verbose_name = "workkit"

    def ready(self) -> None:
        """Close old connections around every run of this process."""
        close_around_runs()


def closed() -> Iterator[None]:
    """Before and after a run, close connections of this thread that are broken, or older than CONN_MAX_AGE."""
    _close_old()
    try:
        yield
    finally:
        _close_old()


async def closed_for_coroutines() -> AsyncIterator[None]:
    """Do the same as `closed`, in the thread that has the connections of a coroutine."""
    close = sync_to_async(_close_old)
    await close()
    try:
        yield
    finally:
        await close()


def _close_old() -> None:
    """Close connections as Django's `close_old_connections`. Keep one in a transaction: a test that drains a schedule
    may be in it.
    """
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()


def close_around_runs() -> None:
    """Close old connections around the runs of every schedule in this process. A second call changes nothing."""
    known = around_of(EVERY)
    if known is None or closed not in known.plain:
        register((EVERY,), closed, on="run")
        register((EVERY,), closed_for_coroutines, on="run")


def backends() -> list[Backend]:
    """Return the backends of TASKS that are ours. Raises ImproperlyConfigured."""
    if not getattr(settings, "TASKS", None):
        return []
    from workkit.django.backend import Backend
    from workkit.django.framework import task_backends

    return [found for alias in task_backends if isinstance(found := task_backends[alias], Backend)]


def schedules() -> list[Schedule]:
    """Return all schedules that the settings name, each once, the schedule of WORKKIT first. Raises
    ImproperlyConfigured.
    """
    from workkit.django.project_settings import NAME, default_schedule, in_workkit  # not needed by each command

    own = [default_schedule()] if NAME in in_workkit() else []
    return list(dict.fromkeys([*own, *(s for backend in backends() for s in backend.schedules)]))
