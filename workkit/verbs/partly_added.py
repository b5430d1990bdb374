"""What became of the rows of a bulk where the layout adds one by one: which are refused, and which nobody knows of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from workkit.errors import ServerError, located
from workkit.text.wording import listed

MOST_NAMED = 10  # rows that a sentence names


class PartlyAdded(Exception):
    """Some rows are not added, or may not be. Rows count from 1; nothing after row `last` was sent.

    `error`: what the first trouble was; `refused`: the rows that are not added, with the reasons; `unknown`: the first
    and the last of the rows of which some may be added and some not.
    """

    def __init__(self, error: ServerError) -> None:
        super().__init__(error)
        self.error = error
        self.refused: dict[int, ServerError] = {}
        self.unknown: tuple[int, int] | None = None
        self.last = 0
        self._unsent: tuple[int, int] | None = None
        self._answered = 0  # the last row of which the broker has said something

    def note(self, first: int, count: int, error: ServerError | None = None) -> None:
        """Take in how a request of `count` rows from row `first` on has ended; without an error, all are added."""
        self.last = max(self.last, first + count - 1)
        if error is None:
            self._answered = self.last
            return
        added = error.added or frozenset()
        self.refused |= {first + place: refusal for place, refusal in error.refused.items()}
        self._answered = max(self._answered, *(first + place for place in (*added, *error.refused)), 0)
        left = [first + place for place in range(count) if place not in added and place not in error.refused]
        if left and error.unanswered:
            self.unknown = _joined(self.unknown, left)
        elif left:
            self._unsent = _joined(self._unsent, left)

    def worded(self, place: Callable[[int], str], *, row: Callable[[int], int] = lambda number: number) -> ServerError:
        """Return the error with its row, and with what became of the others. `place` names one row, `row` numbers it as
        the reader knows it.
        """
        self._place_unsent()
        said = []
        if self.refused:
            rows = [f"{row(number):,}" for number in sorted(self.refused)]
            named = listed(rows) if len(rows) <= MOST_NAMED else f"{', '.join(rows[:MOST_NAMED])}, ..."
            said.append(f"Not added: {'row' if len(rows) == 1 else f'{len(rows):,} rows,'} {named}")
        if self.unknown is not None:
            first, last = self.unknown
            which = f"row {row(first):,} is" if first == last else f"rows {row(first):,} to {row(last):,} are"
            said.append(f"It is not known whether {which} added")
        if self._others():
            said.append(f"{'All other' if said else 'The'} rows up to {row(self.last):,} are added, and none after it")
        else:
            said.append("No other row is added" if said else "Nothing is added")
        then = " ".join(f"{sentence}." for sentence in said)
        error = self.refused[min(self.refused)] if self.refused else self.error
        error.added, error.unanswered = None, self.unknown is not None
        error.refused = {number - 1: refusal for number, refusal in self.refused.items()}
        if self.refused:
            return located(error, place(min(self.refused)), then=f" {then}")
        error.args = (f"{error} {then}",)
        return error

    def _others(self) -> int:
        """Count the rows that are added."""
        first, last = self.unknown or (1, 0)
        refused = sum(number <= self.last and not first <= number <= last for number in self.refused)
        return self.last - refused - (last - first + 1)

    def _place_unsent(self) -> None:
        """Take rows that were not sent as the end of all; where later ones were added, nobody knows of them."""
        if self._unsent is not None and self._unsent[0] > self._answered:
            self.last = min(self.last, self._unsent[0] - 1)
        elif self._unsent is not None:
            self.unknown = _joined(self.unknown, self._unsent)
        if self.unknown is not None and self.unknown[0] > self.last:
            self.unknown = None


def _joined(known: tuple[int, int] | None, rows: Sequence[int]) -> tuple[int, int]:
    return (rows[0], rows[-1]) if known is None else (min(known[0], rows[0]), max(known[1], rows[-1]))
