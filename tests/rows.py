"""Tables of pure functions as tests: one test for a whole table, which names each row that fails.

`pytest.mark.parametrize` makes a test of each row. Every worker process of a parallel run collects all of them, and
each is reported three times: for hundreds of rows this takes longer than the checks. It stays right for few rows, and
where a test uses a fixture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

MOST_TRACEBACKS = 10


def every_row(names: str | Sequence[str], rows: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Make a test that runs its function for every row, also after one has failed, and then names all that failed.

    `names` and `rows` are as for `pytest.mark.parametrize`: with one name a row is a value, else a sequence of values.
    Raises `ValueError` where the table has no rows, because such a test could not fail.
    """
    columns = names.split(",") if isinstance(names, str) else list(names)
    table: list[Sequence[Any]] = [[row] if len(columns) == 1 else row for row in rows]
    if not table:
        raise ValueError(f"the table of {', '.join(columns)} has no rows")

    def test_of(check: Callable[..., None]) -> Callable[[], None]:
        def test() -> None:
            failed: list[BaseException] = []
            for number, row in enumerate(table):
                given = dict(zip(columns, row, strict=True))
                try:
                    check(**given)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"in row {number}: {given!r:.300}")
                    failed.append(error)
            if failed:
                named = "".join(f"\n  {error.__notes__[-1]}" for error in failed)
                raise BaseExceptionGroup(f"{len(failed)} of {len(table)} rows fail:{named}\n", failed[:MOST_TRACEBACKS])

        # Not `functools.wraps`: pytest would look for fixtures of the names of the columns.
        test.__name__, test.__qualname__ = check.__name__, check.__qualname__
        test.__module__, test.__doc__ = check.__module__, check.__doc__
        return test

    return test_of
