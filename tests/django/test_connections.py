"""Connections to the database around runs: in threads, coroutines and worker processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.django.conftest import HOW
from workkit import schedule
from workkit.jobs.middleware import AROUND, EVERY
from workkit.schedule import Schedule


@pytest.fixture
def tasks(s: Schedule, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from django.db import connection

    from tests.django import tasks

    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 0)  # as the handler sets it where nothing is said
    yield tasks
    connection.close()


def test_a_thread_begins_and_ends_its_run_without_an_old_connection(s: Schedule, tasks: Any) -> None:
    from django.db import connection

    connection.ensure_connection()
    connection.close_at = 0  # long ago
    for _ in range(2):
        schedule.add_now(s, tasks.connect)
    schedule.drain(s, **HOW)
    assert tasks.seen == [False, False]
    assert connection.connection is None


def test_a_coroutine_does_so_in_the_thread_of_its_calls(s: Schedule, tasks: Any) -> None:
    for _ in range(2):
        tasks.connect_async.enqueue()
    assert schedule.drain(s, **HOW).ran == 2
    assert tasks.seen == [False, False]


def test_a_worker_process_has_the_project_and_closes_too(s: Schedule, tasks: Any) -> None:
    results = [tasks.compute.enqueue(n) for n in (1, 2)]
    assert schedule.drain(s, **HOW).ran == 2
    for result in results:
        result.refresh()
    values = [result.return_value for result in results]
    assert [(n, had) for n, had, *_ in values] == [(1, False), (2, False)]
    assert all(pid != os.getpid() and is_main for *_, pid, is_main in values)


def test_an_open_transaction_is_left_alone(s: Schedule, tasks: Any) -> None:
    from django.db import connection, transaction

    with transaction.atomic():
        schedule.add_now(s, tasks.connect)
        schedule.drain(s, **HOW)
        assert connection.connection is not None
    assert tasks.seen == [True]


def test_without_the_middleware_a_connection_would_stay(
    s: Schedule, tasks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import connection

    monkeypatch.delitem(AROUND, EVERY)
    schedule.add_now(s, tasks.connect)
    schedule.drain(s, imports=["tests.django.tasks"], folder=None)
    assert connection.connection is not None


def test_it_is_registered_once() -> None:
    from workkit.django import apps

    before = AROUND[EVERY]
    apps.close_around_runs()
    assert AROUND[EVERY] == before
    assert apps.closed in before.plain
