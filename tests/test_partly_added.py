"""What a bulk says where a layout adds one by one: only what is so."""

from __future__ import annotations

import pytest

from workkit.errors import ServerError, ServerRefused, ServerUnreachable
from workkit.verbs.bulk import PartlyAdded


def refusal(name: str = "nobody") -> ServerRefused:
    return ServerRefused.about(f'"{name}"', "leads to no queue", "Correct it.")


def partial(*, added: set[int], refused: set[int] = frozenset(), unanswered: bool = False) -> ServerError:  # type: ignore[assignment]
    error = ServerUnreachable("lost.") if unanswered or not refused else refusal()
    error.added, error.refused, error.unanswered = frozenset(added), {n: refusal() for n in refused}, unanswered
    return error


LEADS = 'row {}: "nobody" leads to no queue. Correct it. '


@pytest.mark.parametrize(
    ("requests", "says"),
    [
        (
            [(1, 5, partial(added={0, 1, 3, 4}, refused={2}))],
            LEADS.format(3) + "Not added: row 3. All other rows up to 5 are added, and none after it.",
        ),
        ([(1, 1, partial(added=set(), refused={0}))], LEADS.format(1) + "Not added: row 1. No other row is added."),
        (
            [(501, 500, partial(added=set(range(1, 500)), refused={0})), (1001, 2, None)],
            LEADS.format(501) + "Not added: row 501. All other rows up to 1,002 are added, and none after it.",
        ),
        (
            [(1, 20, partial(added=set(), refused=set(range(20))))],
            LEADS.format(1) + "Not added: 20 rows, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, .... No other row is added.",
        ),
        ([(1, 500, partial(added=set())), (501, 500, partial(added=set()))], "lost. Nothing is added."),
        (
            [(501, 500, partial(added=set())), (1001, 500, partial(added=set()))],
            "lost. The rows up to 500 are added, and none after it.",
        ),
        (
            [(1, 500, partial(added={0, 1, 2}, unanswered=True)), (501, 500, partial(added=set(), unanswered=True))],
            "lost. It is not known whether rows 4 to 1,000 are added. All other rows up to 1,000 are added, and none "
            "after it.",
        ),
        (
            [(1, 10, partial(added={0}, refused={1}, unanswered=True)), (11, 10, None)],
            LEADS.format(2) + "Not added: row 2. It is not known whether rows 3 to 10 are added. "
            "All other rows up to 20 are added, and none after it.",
        ),
        (
            [(1, 10, partial(added=set())), (11, 10, None)],
            "lost. It is not known whether rows 1 to 10 are added. "
            "All other rows up to 20 are added, and none after it.",
        ),
    ],
)  # fmt: skip
def test_a_sentence_names_what_is_added_refused_and_unknown(
    requests: list[tuple[int, int, ServerError | None]], says: str
) -> None:
    first = next(error for _, _, error in requests if error is not None)
    partly = PartlyAdded(first)
    for start, count, error in requests:
        partly.note(start, count, error)
    worded = partly.worded(lambda number: f"row {number:,}")
    assert str(worded) == says
