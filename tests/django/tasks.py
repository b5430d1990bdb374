"""Tasks of the project."""

# The decorator comes from another package with each Django.
# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import os
import threading
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection

from workkit import Discard, job, schedule
from workkit.django.framework import HOME, TaskContext

task: Any = __import__(HOME, fromlist=["task"]).task


class SoldOutError(Exception):
    pass


ran: list[Any] = []
seen: list[Any] = []  # by receivers of signals


s = schedule.create("django-own")


@task
@s.job(retries=1)
def both(a: int) -> int:
    return a + 1


@task
def add(a: int, b: int = 0) -> int:
    ran.append((a, b))
    return a + b


@task(priority=7, queue_name="emails")
def send(to: str) -> str:
    return f"sent to {to}"


@task
async def add_async(a: int, b: int) -> int:
    return a + b


@task
def fail(text: str) -> None:
    raise SoldOutError(f"{text}\nother.SoldOutError: no")


@task
def discard() -> None:
    raise Discard("not wanted")


@task
@job(retries=2, backoff="constant", base="1s", jitter=False)
def fail_once(where: str) -> str:
    if where not in ran:
        ran.append(where)
        raise OSError("disk full")
    return where


@task(takes_context=True)
def tell_context(context: TaskContext, more: str) -> list[Any]:
    found = context.task_result
    return [context.attempt, found.id, str(found.status), found.args, more]


@task(takes_context=True)
async def tell_context_async(context: TaskContext) -> int:
    return int(context.attempt)


@task
def return_what_json_has_not() -> Any:
    return {1, 2}


@task
def look_at_itself(id: str = "") -> None:
    from workkit import current_job

    found = look_at_itself.get_result(current_job().name)
    seen.append((str(found.status), found.args, found.attempts, found.worker_ids))


def connect() -> None:
    """Use the database, and note whether a connection was there before."""
    seen.append(connection.connection is not None)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


@task
async def connect_async() -> None:
    await sync_to_async(connect)()


@task
@job(cpu=True)
def compute(n: int) -> list[Any]:
    had = connection.connection is not None
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s", [n])
        return [cursor.fetchone()[0], had, os.getpid(), threading.current_thread() is threading.main_thread()]


def untyped(a):  # type: ignore[no-untyped-def]
    return a


def plain(a: int) -> int:
    return a
