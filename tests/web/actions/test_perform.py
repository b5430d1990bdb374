"""An act on several jobs: what is said of it, what is refused, and what undoes it. No server."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from workkit.errors import ChangedMeanwhile, NotFound, ServerUnreachable
from workkit.web.actions import perform as subject
from workkit.web.actions.action import Act, Doing, Done, Order

NOW = datetime(2026, 11, 20, 10, tzinfo=UTC)
HOW: dict[str, Any] = {"role": "editor", "now": NOW} | dict.fromkeys(("served", "works", "veil"))


def one(_: Doing, order: Order, which: str | None) -> Done:
    """An act whose jobs say what becomes of them."""
    assert which is not None
    match which.partition("-")[0]:
        case "over":
            raise NotFound(f"no job {which}")
        case "other":
            raise ChangedMeanwhile(f"{which} is another job by now.")
        case "away":
            raise ServerUnreachable("redis://db:6379/0 does not answer.")
        case "kept":
            return Done(f"{which} done.", Order(verb="back", which=(which,), kept=which))
        case "last":
            return Done(f"{which} done.")
    return Done(f"{which} done.", Order(verb="resume", which=(which,)))


@pytest.fixture(autouse=True)
def acts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "ACTS", {"pause": Act(role="operator", one=one, did="Paused")})


def carried(*which: str) -> Any:
    return subject.carry_out(Doing(**HOW, zone=UTC), Order(verb="pause", which=which))


@pytest.mark.parametrize(
    ("which", "line"),
    [
        (["a"], "a done."),
        (["over"], "no job over"),
        (["a", "b"], "a done. b done."),
        ([f"a-{n}" for n in range(41)], "Paused 41 jobs."),
        ([*(f"a-{n}" for n in range(38)), "over-1", "over-2", "over-3"], "Paused 38 of 41; 3 are over."),
        (["a", "over"], "Paused 1 of 2; 1 is over."),
        (["a", "over", "other"], "Paused 1 of 3; 1 is over; 1 refused: other is another job by now."),
        (["a", "last"], "a done. last done. 1 cannot be undone."),
        (["a", "away", "b"], "Paused 1 of 3; 2 refused: redis://db:6379/0 does not answer."),
    ],
)
def test_the_line_says_what_was_done_and_what_was_not(which: list[str], line: str) -> None:
    assert carried(*which).line == line


def test_a_server_that_is_away_from_the_first_job_on_is_an_error() -> None:
    with pytest.raises(ServerUnreachable):
        carried("away", "a")


def test_undos_alike_are_one_and_the_last_change_is_undone_first() -> None:
    undo = carried("a", "b", "kept-1", "kept-2", "last", "c").undo
    assert [(order.verb, order.which) for order in undo] == [
        ("resume", ("c",)), ("back", ("kept-2",)), ("back", ("kept-1",)), ("resume", ("b", "a")),
    ]  # fmt: skip
