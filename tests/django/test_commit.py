"""Additions within transactions of a real database."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.django.conftest import BACKEND, HOW
from workkit import schedule
from workkit.errors import InvalidArguments, InvalidOptions, PhraseError
from workkit.schedule import Schedule


class Undone(Exception):
    pass


@pytest.fixture(params=["enqueue", "add_on_commit"])
def add(request: pytest.FixtureRequest, s: Schedule) -> Callable[[int], object]:
    from tests.django import tasks
    from workkit.django import add_on_commit

    if request.param == "enqueue":
        return lambda n: tasks.add.enqueue(n)
    return lambda n: add_on_commit(s, tasks.plain, args=[n])


def waiting(s: Schedule) -> list[int]:
    return sorted(job.args[0] for job in schedule.jobs(s))


def test_an_addition_waits_for_the_commit(s: Schedule, add: Callable[[int], object]) -> None:
    from django.db import transaction

    with transaction.atomic():
        add(1)
        with transaction.atomic():
            add(2)
        assert waiting(s) == []
    assert waiting(s) == [1, 2]
    add(3)  # outside of a transaction
    assert waiting(s) == [1, 2, 3]
    assert schedule.drain(s, **HOW).ran == 3


def test_a_rolled_back_transaction_adds_nothing(s: Schedule, add: Callable[[int], object]) -> None:
    from django.db import transaction

    with suppress(Undone), transaction.atomic():
        add(1)
        raise Undone
    with transaction.atomic():
        with suppress(Undone), transaction.atomic():  # a savepoint
            add(2)
            raise Undone
        add(3)
    assert waiting(s) == [3]


def test_a_result_of_a_transaction_is_there_after_the_commit(s: Schedule) -> None:
    from django.db import transaction

    from tests.django import tasks
    from workkit.django.framework import TaskResultDoesNotExist

    with transaction.atomic():
        result = tasks.add.enqueue(1)
        with pytest.raises(TaskResultDoesNotExist):
            result.refresh()
    result.refresh()
    assert str(result.status) == "READY"


def test_enqueue_on_commit_false_does_not_wait(s: Schedule) -> None:
    from django.db import transaction
    from django.test import override_settings

    from tests.django import tasks

    with (
        override_settings(TASKS={"default": {"BACKEND": BACKEND, "QUEUES": [], "ENQUEUE_ON_COMMIT": False}}),
        suppress(Undone),
        transaction.atomic(),
    ):
        tasks.add.enqueue(1)
        assert waiting(s) == [1]
        raise Undone
    assert waiting(s) == [1]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"in_": "5 mintues"}, PhraseError),
        ({"args": [1, 2]}, InvalidArguments),
        ({"args": [float("nan")]}, InvalidArguments),
        ({"args": ["x" * 10_000_001]}, InvalidArguments),
        ({"retrys": 1}, InvalidOptions),
    ],
)
def test_what_is_wrong_is_refused_before_the_commit(s: Schedule, given: dict[str, Any], error: type[Exception]) -> None:
    from django.db import transaction

    from tests.django import tasks
    from workkit.django import add_on_commit

    with transaction.atomic(), pytest.raises(error):
        add_on_commit(s, tasks.untyped, **{"args": [1], **given})
    assert waiting(s) == []


def test_a_job_of_a_transaction_has_its_time_and_options(s: Schedule) -> None:
    from django.db import transaction

    from tests.django import tasks
    from workkit.django import add_on_commit

    with transaction.atomic():
        add_on_commit(s, tasks.plain, args=[1], every="day at 9am", name="nightly")
    (job,) = schedule.jobs(s)
    assert (job.name, job.recurs, job.state) == ("nightly", True, "waiting")


def test_a_transaction_of_another_database_is_named(s: Schedule) -> None:
    from django.db import transaction
    from django.db.utils import ConnectionDoesNotExist

    from tests.django import tasks
    from workkit.django import add_on_commit

    with transaction.atomic(), pytest.raises(ConnectionDoesNotExist):
        add_on_commit(s, tasks.plain, args=[1], using="elsewhere")
