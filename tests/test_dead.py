"""Which of the dead are meant, and at what rate they come back: decided without a server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from workkit.contract.admin import Revival
from workkit.errors import CorruptRecord, InvalidArguments, InvalidOptions, NotFound
from workkit.jobs.job import Job
from workkit.verbs import dead as dead_jobs

EPOCH = datetime(2026, 11, 20, tzinfo=UTC)


def present() -> datetime:
    return EPOCH


def dead(id: str, *, fn: str = "#'app.export/rows", occurrence: int = 0) -> Job:
    due = EPOCH + timedelta(seconds=occurrence)
    return Job(id=id, schedule="app", fn=fn, due=due, state="dead", dead_id=f"{id}@{occurrence}")


ONE, TWO, THREE = dead("54111a" + "0" * 34), dead("54111b" + "0" * 34), dead("54111b" + "f" * 34, fn="#'app/mail")
AGAIN = dead(ONE.id, occurrence=1)


class Listing:
    """An inspector of which only what it lists and answers matters."""

    def __init__(self, *pages: Job, answer: Revival = "revived") -> None:
        self._pages, self._answer, self.delays = pages, answer, list[int]()
        self.order: list[Job] = []

    def jobs(self, *, state: str | None = None, named: tuple[str, ...] = ()) -> Iterator[Job]:
        assert state == "dead"
        return iter(self._pages)

    def retry(self, dead: list[Job], *, args: Any, delays_ms: list[int]) -> list[Revival]:
        self.order += dead
        self.delays += delays_ms
        return [self._answer] * len(dead)


@pytest.mark.parametrize(
    ("which", "meant"),
    [
        (ONE.id, [ONE, AGAIN]),
        ("54111a", [ONE, AGAIN]),
        ("54111bf", [THREE]),
        (AGAIN, [AGAIN]),
        (Job(id=ONE.id, schedule="app", fn="?"), [ONE, AGAIN]),
    ],
    ids=["id", "beginning", "longer beginning", "one death", "a job that was added"],
)
def test_the_dead_are_named(which: str | Job, meant: list[Job]) -> None:
    assert dead_jobs.named_dead([ONE, TWO, THREE, AGAIN], which, schedule="app") == meant


@pytest.mark.parametrize(
    ("which", "message"),
    [
        ("54", '"54" is the beginning of 3 dead jobs; give at least 6 characters.'),
        ("54111b", '"54111b" is the beginning of 2 dead jobs; give more characters.'),
        ("54111bf"[:0], 'no dead job "" in app. All: workkit dead app.'),
        ("5c0d41", 'no dead job "5c0d41" in app. All: workkit dead app.'),
        ("rows", 'no dead job "rows" in app. Nearest: 54111a00 app.export.rows. All: workkit dead app.'),
        (dead(ONE.id, occurrence=9), f'no dead job "{ONE.id}" in app. All: workkit dead app.'),
    ],
    ids=["short", "ambiguous", "empty", "unknown", "function", "another death"],
)
def test_what_names_none_is_refused(which: str | Job, message: str) -> None:
    with pytest.raises(NotFound) as refused:
        dead_jobs.named_dead([ONE, TWO, THREE, AGAIN], which, schedule="app")
    assert str(refused.value) == message


def test_what_dies_while_they_are_read_is_not_listed_twice() -> None:
    listing: Any = Listing(AGAIN, ONE, TWO, TWO)
    assert dead_jobs.chosen(listing, schedule="app", which=None, where=None, now=present) == [AGAIN, ONE, TWO]


def test_the_dead_are_chosen_latest_first_also_where_they_are_read_oldest_first() -> None:
    listing: Any = Listing(ONE, AGAIN, dead(TWO.id, occurrence=5))
    assert [job.dead_id for job in dead_jobs.chosen(listing, schedule="app", which=None, where=None, now=present)] == [
        f"{TWO.id}@5", AGAIN.dead_id, ONE.dead_id,
    ]  # fmt: skip


def test_a_rate_goes_on_from_page_to_page_oldest_first() -> None:
    many = [dead(f"{n:040x}", occurrence=n) for n in reversed(range(1200))]
    listing: Any = Listing()
    assert dead_jobs.retry_dead(listing, many, args=None, rate="10/s", one=False) == 1200
    assert listing.order == many[::-1]
    assert listing.delays == [100 * n for n in range(1200)]


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        ("unreadable", CorruptRecord, "54111a00 app.export.rows cannot be run again: its record cannot be read. "
         "Discard it."),
        ("waits", InvalidOptions, "54111a00 app.export.rows was added anew meanwhile, and is not over. Retry this "
         "record of it then, or discard it."),
        ("gone", NotFound, "54111a00 app.export.rows is not dead any more."),
        ("unroutable", InvalidOptions, "54111a00 app.export.rows cannot run again: its routing key leads to a queue "
         "that does not exist any more. Start a listener for it, and retry it then."),
    ],
)  # fmt: skip
def test_what_was_not_put_back_raises_where_it_was_named(answer: Any, error: type[Exception], message: str) -> None:
    listing: Any = Listing(answer=answer)
    assert dead_jobs.retry_dead(listing, [ONE], args=None, rate=None, one=False) == 0
    with pytest.raises(error) as refused:
        dead_jobs.retry_dead(listing, [ONE], args=None, rate=None, one=True)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("args", "jobs", "error"),
    [
        ("text", [ONE], InvalidArguments), (b"x", [ONE], InvalidArguments), ({1: "a"}, [ONE], InvalidArguments),
        (7, [ONE], InvalidArguments), ("text", [], InvalidArguments), ({2: 1}, [ONE, TWO], InvalidArguments),
    ],
    ids=str,
)  # fmt: skip
def test_other_arguments_are_a_list_or_an_object(args: Any, jobs: list[Job], error: type[Exception]) -> None:
    listing: Any = Listing()
    with pytest.raises(error):
        dead_jobs.retry_dead(listing, jobs, args=args, rate=None, one=False)
    assert listing.order == []
