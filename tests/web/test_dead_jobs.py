"""The index of the dead jobs: what comes late, what leaves, what is too much; and that it does nothing by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.processes import until
from workkit.contract.inspector import Graves, IsKnown
from workkit.errors import ServerUnreachable, Unsupported
from workkit.jobs.job import Job
from workkit.web import dead_jobs as index_room
from workkit.web.dead_jobs import DeadIndex
from workkit.web.mask import veil_of


def dead(number: int) -> Job:
    due = datetime.fromtimestamp(1_700_000_000 + number, UTC)
    return Job(id=f"{number:040x}", schedule="s", fn="f", due=due, state="dead", error="E", dead_id=f"{number:040x}@1")


def died_ms(job: Job) -> int:
    assert job.due is not None
    return round(job.due.timestamp() * 1000)


class Listing:
    """An inspector of which only the dead matter; `asked` counts its calls."""

    def __init__(self, *numbers: int, has_places: bool = True) -> None:
        self.dead = {number: dead(number) for number in numbers}
        self.asked = 0
        self.shown: list[int] = []  # the numbers of the jobs that the index had to read
        self.has_places, self.breaks_after = has_places, -1

    def by_time(self) -> Any:
        if not self.has_places:
            raise Unsupported("a queue is read from its head")
        return self

    def graves(self, *, after: str = "", limit: int = 500, is_known: IsKnown | None = None) -> Graves:
        self.asked += 1
        if self.asked == self.breaks_after:
            raise ServerUnreachable("the server does not answer")
        found = [self.dead[number] for number in sorted(self.dead) if number > int(after or -1)]
        last = next(reversed([int(job.id, 16) for job in found[:limit]]), int(after or -1))
        new = [job for job in found[:limit] if is_known is None or not is_known(job.dead_id or "", died_ms(job))]
        self.shown += [int(job.id, 16) for job in new]
        return Graves(jobs=tuple(new), after=str(last), again=str(last - 1), is_last=len(found) <= limit)

    def still_dead(self, dead: Sequence[Job]) -> list[bool]:
        self.asked += 1
        return [int(job.id, 16) in self.dead for job in dead]

    def jobs(self, *, state: str) -> Iterator[Job]:
        self.asked += 1
        return iter(self.dead.values())


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_room, "LOOK_S", 0.0)
    monkeypatch.setattr(index_room, "AGAIN_S", 0.0)


def opened(listing: Listing) -> tuple[Listing, DeadIndex]:
    return listing, DeadIndex(veil_of(), listing.by_time)


def looked(index: DeadIndex, listing: Any) -> set[int]:
    known = index.look(listing, count=len(listing.dead))
    return {int(dead_job.job.id, 16) for dead_job in known.dead_jobs}


@pytest.mark.parametrize("has_places", [True, False])
def test_what_comes_and_leaves_is_noticed(has_places: bool) -> None:
    listing, index = opened(Listing(1, 2, 3, has_places=has_places))
    assert looked(index, listing) == {1, 2, 3}
    del listing.dead[2]
    assert looked(index, listing) == {1, 3}
    listing.dead[4] = dead(4)
    assert looked(index, listing) == {1, 3, 4}


def test_a_job_is_read_once_and_again_when_it_dies_again() -> None:
    listing, index = opened(Listing(1, 2, 3))
    for _ in range(3):
        looked(index, listing)
    assert listing.shown == [1, 2, 3]
    listing.dead[3] = replace(dead(3), due=dead(4).due)
    assert looked(index, listing) == {1, 2, 3}
    assert listing.shown == [1, 2, 3, 3]
    assert index.look(listing, count=3).dead_jobs[0].died == dead(4).due  # type: ignore[arg-type]


def test_what_comes_late_with_an_earlier_time_is_found() -> None:
    listing, index = opened(Listing(10, 20))
    assert looked(index, listing) == {10, 20}
    listing.dead[5] = dead(5)
    assert until(lambda: looked(index, listing) == {5, 10, 20})


def test_only_the_last_ones_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_room, "MOST_KEPT", 5)
    listing, index = opened(Listing(*range(9)))
    assert looked(index, listing) == {4, 5, 6, 7, 8}
    known = index.look(listing, count=9)  # type: ignore[arg-type]
    assert (known.of, known.is_all) == (9, True)


def test_a_server_that_goes_away_meanwhile_is_read_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_room, "PAGE_SIZE", 2)
    listing, index = opened(Listing(*range(20)))
    listing.breaks_after = 4
    first = index.look(listing, count=20)  # type: ignore[arg-type]
    assert not first.is_all
    assert until(lambda: looked(index, listing) == set(range(20)), what="all of them")


def test_nothing_is_asked_while_no_page_asks() -> None:
    listing, index = opened(Listing(*range(3)))
    looked(index, listing)
    before = listing.asked
    looked(index, listing)
    assert listing.asked == before + 1  # what has come; the numbers agree, so nothing is compared
    index.left([dead(1).dead_id or ""])
    assert listing.asked == before + 1


def test_the_errors_are_put_together_again_only_where_something_has_changed() -> None:
    listing, index = opened(Listing(1, 2, 3))
    first: Any = index.look(listing, count=3)  # type: ignore[arg-type]
    assert index.look(listing, count=3).groups is first.groups  # type: ignore[arg-type]
    listing.dead[4] = dead(4)
    assert [group.n for group in index.look(listing, count=4).groups] == [4]  # type: ignore[arg-type]
    index.left([f"{4:040x}@1"])
    del listing.dead[4]
    assert [group.n for group in index.look(listing, count=3).groups] == [3]  # type: ignore[arg-type]
