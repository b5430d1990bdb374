"""Many additions: in batches, two of them on their way at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from workkit.contract.producer import Added, NewJob, Producer
from workkit.contract.tally import Tally
from workkit.errors import Invalid, WorkkitError
from workkit.verbs.addition import addition
from workkit.verbs.opening import Schedule

CHUNK = 500  # jobs in one round trip
AT_ONCE = 2  # batches on their way


class BadRow(Exception):
    """A row cannot be added. `number` counts from 1; the rows 1 to `added` are added; `error` is what is wrong."""

    def __init__(self, *, number: int, added: int, error: Invalid) -> None:
        super().__init__(number, added, error)
        self.number = number
        self.added = added
        self.error = error

    @property
    def done(self) -> str:
        """Say which rows are added, without a full stop."""
        return f"Rows 1 to {self.added:,} are added" if self.added else "Nothing is added"


def add_rows(rows: Iterable[Mapping[str, object]], *, s: Schedule, broker: Producer) -> Tally:
    """Add a job for each row. Rows of one batch share the present. Raises BadRow; what reading the rows raises."""
    now_ms = 0

    def present() -> int:
        return now_ms

    with Bulk(broker.adding) as bulk:
        for number, row in enumerate(rows, 1):
            if number % CHUNK == 1:
                now_ms = broker.now_ms()
            try:
                new = addition(row, s=s, now_ms=present)
            except Invalid as error:
                raise BadRow(number=number, added=bulk.settled(), error=error) from error
            bulk.put(new)
    return bulk.tally


class Bulk:
    """Additions in batches: while some are on their way, the next is made. Leaving the block sends what is left and
    waits for all; after an error nothing more is sent.
    """

    def __init__(self, add: Callable[[Sequence[NewJob]], Callable[[], list[Added]]]) -> None:
        self._add = add
        self._batch: list[NewJob] = []
        self._on_their_way: deque[Callable[[], list[Added]]] = deque()
        self._new = self._known = 0

    @property
    def tally(self) -> Tally:
        """How many were new, and how many known, of those that have arrived."""
        return Tally(new=self._new, known=self._known)

    def put(self, new: NewJob) -> None:
        """Add one, sooner or later. Raises what an earlier batch met with."""
        self._batch.append(new)
        if len(self._batch) == CHUNK:
            self._send()

    def settled(self) -> int:
        """Wait for what is on its way; how many have arrived, without those of the batch in the making."""
        while self._on_their_way:
            self._arrive()
        return self._new + self._known

    def _send(self) -> None:
        while len(self._on_their_way) >= AT_ONCE:
            self._arrive()
        batch, self._batch = self._batch, []
        self._on_their_way.append(self._add(batch))

    def _arrive(self) -> None:
        added = self._on_their_way.popleft()()
        new = sum(1 for one in added if one.new)
        self._new, self._known = self._new + new, self._known + len(added) - new

    def __enter__(self) -> Bulk:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                if self._batch:
                    self._send()
                self.settled()
        finally:  # after an error: what is on its way arrives all the same
            for arrived in self._on_their_way:
                with suppress(WorkkitError):
                    arrived()
