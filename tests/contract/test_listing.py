"""A listing shows every job that exists, whatever listeners do meanwhile (spec/features.md 13)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from itertools import islice

import pytest

from tests.contract.capability import Can, promised
from tests.contract.lossy import Lossy
from tests.contract.stage import FAILURE, Peer, Stage
from workkit.contract.listener import Claim
from workkit.jobs.outcome import Dead, Done, Released

LONG = 1_300  # jobs, which are several pages


class Mover:
    """Takes due jobs as a listener, and gives them back the next time."""

    def __init__(self, peer: Peer, *, most: int) -> None:
        self.peer, self.most, self.moves = peer, most, 0
        self.held: list[Claim] = []

    def move(self) -> None:
        held, self.held = self.held, []
        for claim in held:
            self.peer.end(claim, Released())
        if not held:
            self.held = self.peer.claim(self.most)
        self.moves += bool(held or self.held)


def added(stage: Stage, n: int) -> set[str]:
    """Add due jobs, and return their ids."""
    new = [stage.new_job(number) for number in range(n)]
    return {one.id for start in range(0, n, 500) for one in stage.producer.adding(new[start : start + 500])()}


def listed(stage: Stage) -> Counter[str]:
    """Count how often each job is listed."""
    return Counter(job.id for job in stage.producer.inspector.jobs())


@promised(Can.LOOK)
def test_a_job_that_moves_before_each_reading_is_listed_once(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = added(stage, 1)
    assert listed(stage) == Counter(ids)
    mover = Mover(stage.peer(), most=1)
    for _ in range(2):
        with monkeypatch.context() as patched:
            patched.setattr(Lossy, "before_read", mover.move)
            for _ in range(3):
                assert listed(stage) == Counter(ids)
        mover.move()  # now the listings begin in the other state
    assert mover.moves >= 6


@promised(Can.LOOK)
def test_jobs_that_are_taken_between_two_pages_hide_no_others(stage: Stage) -> None:
    ids = added(stage, LONG)
    peer, jobs = stage.peer(), stage.producer.inspector.jobs()
    seen = Counter(job.id for job in islice(jobs, 10))
    taken = {claim.job.id for _ in range(4) for claim in peer.claim(100)}
    assert len(taken) >= 400
    seen.update(job.id for job in jobs)
    assert seen == Counter(ids)


@promised(Can.LOOK)
def test_jobs_whose_page_was_not_read_are_listed_when_a_listener_has_them(stage: Stage) -> None:
    ids = added(stage, LONG)
    peer, jobs = stage.peer(), stage.producer.inspector.jobs()
    seen = Counter(job.id for job in islice(jobs, 10))
    while peer.claim(100):
        pass
    seen.update(job.id for job in jobs)
    assert seen == Counter(ids)


@pytest.mark.parametrize("n", [40, LONG])
@promised(Can.LOOK)
def test_each_job_is_listed_while_a_listener_takes_and_gives_back_without_a_pause(stage: Stage, n: int) -> None:
    ids = added(stage, n)
    mover, is_over, seen = Mover(stage.peer(), most=15), threading.Event(), list[Counter[str]]()
    assert listed(stage).keys() == ids

    def storm() -> None:
        while not is_over.is_set():
            mover.move()

    thread = threading.Thread(target=storm)
    thread.start()
    try:
        seen = [listed(stage) for _ in range(40 if n < LONG else 4)]
    finally:
        is_over.set()
        thread.join()
    for one in seen:
        assert one.keys() == ids
        assert n == LONG or set(one.values()) == {1}
    assert mover.moves > 2


class Once:
    """Acts before one reading, the n-th from now."""

    def __init__(self, n: int, act: Callable[[], object]) -> None:
        self._left, self._act = n, act

    def __call__(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._act()


@pytest.mark.parametrize("n", range(1, 8))
@promised(Can.LOOK)
def test_a_job_that_ends_while_it_is_listed_has_no_error(stage: Stage, monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    ids = added(stage, 3)
    assert listed(stage) == Counter(ids)
    peer = stage.peer()
    claims = peer.claim()

    def end_all() -> None:
        for claim in claims:
            peer.end(claim, Done())

    with monkeypatch.context() as patched:
        patched.setattr(Lossy, "before_read", Once(n, end_all))
        found = list(stage.producer.inspector.jobs())
    assert {job.id for job in found} <= ids
    assert [(job.fn, job.error) for job in found] == [(stage.note, None)] * len(found)


@pytest.mark.parametrize("n", range(1, 8))
@promised(Can.LOOK)
def test_a_job_that_dies_while_it_is_listed_is_listed_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, n: int
) -> None:
    (id,) = ids = added(stage, 1)
    assert listed(stage) == Counter(ids)
    peer = stage.peer()
    claim = peer.claim_one()
    with monkeypatch.context() as patched:
        patched.setattr(Lossy, "before_read", Once(n, lambda: peer.end(claim, Dead(reason="failed", failure=FAILURE))))
        found = list(stage.producer.inspector.jobs())
    assert [(job.id, job.fn) for job in found] == [(id, stage.note)]


@pytest.mark.parametrize("n", range(1, 8))
@promised(Can.LOOK)
def test_a_job_that_a_listener_takes_which_begins_meanwhile_is_listed_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, n: int
) -> None:
    ids = added(stage, 1)
    with monkeypatch.context() as patched:
        patched.setattr(Lossy, "before_read", Once(n, lambda: stage.peer().claim()))
        assert listed(stage) == Counter(ids)


@promised(Can.LOOK)
def test_a_job_that_moves_before_each_reading_is_counted_once(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    added(stage, 1)
    mover = Mover(stage.peer(), most=1)
    stage.jobs()
    for _ in range(2):
        with monkeypatch.context() as patched:
            patched.setattr(Lossy, "before_read", mover.move)
            counts = [stage.producer.inspector.counts() for _ in range(3)]
        assert [one.due + one.running for one in counts] == [1] * 3
        mover.move()
