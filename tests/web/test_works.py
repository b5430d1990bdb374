"""What goes on in the background: how far it is, what became of it, and that it ends with the process."""

from __future__ import annotations

import pytest

from tests.processes import until
from workkit.errors import InvalidOptions, NotFound
from workkit.web.works import MOST_AT_ONCE, Work, Works


def waits(work: Work) -> None:
    work.wait(60)


@pytest.mark.parametrize(
    ("kind", "total", "given", "refused", "stopped", "said"),
    [
        ("retry", 38, 38, 0, False, "Retried 38."),
        ("retry", 38, 12, 0, True, "Retried 12 of 38; 26 left as they are."),
        ("retry", 38, 36, 2, False, "Retried 36 of 38; 2 could not be."),
        ("discard", 38, 0, 0, True, "Left 38 as they are."),
        ("discard", 1204, 1204, 0, False, "Discarded 1,204."),
    ],
)
def test_what_became_of_it(kind: str, total: int, given: int, refused: int, stopped: bool, said: str) -> None:
    works = Works()
    work = Work(schedule="s", kind=kind, total=total)  # type: ignore[arg-type]  # one of its kinds

    def run(one: Work) -> None:
        one.given, one.refused = given, refused
        if stopped:
            one.stop.set()

    works.start(work, run)
    until(lambda: work.is_over)
    assert work.line == said


def test_an_error_is_told_and_the_rest_is_left() -> None:
    works = Works()
    work = Work(schedule="s", kind="retry", total=5)

    def run(one: Work) -> None:
        one.given = 2
        raise NotFound("the server is away.")

    works.start(work, run)
    until(lambda: work.is_over)
    assert work.line == "Retried 2 of 5; 3 left as they are. the server is away."


def test_so_many_go_on_at_once_and_all_end_with_the_process() -> None:
    works = Works()
    begun = [Work(schedule="s", kind="retry", total=1) for _ in range(MOST_AT_ONCE)]
    for work in begun:
        works.start(work, waits)
    with pytest.raises(InvalidOptions):
        works.start(Work(schedule="s", kind="retry", total=1), waits)
    assert len(works.of("s")) == MOST_AT_ONCE
    assert works.of("another") == ()
    works.close()
    until(lambda: all(work.is_over for work in begun), what="their end")
    with pytest.raises(InvalidOptions):
        works.start(Work(schedule="s", kind="retry", total=1), waits)
