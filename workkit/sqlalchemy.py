"""Jobs that wait for the commit of a SQLAlchemy session: ``add_on_commit(session, s, fn, ...)``.

    from workkit.sqlalchemy import add_on_commit

    with Session(engine) as session, session.begin():
        session.add(order)
        session.flush()  # gives the order its number
        add_on_commit(session, s, mail.receipt, args=[order.id])

It takes a `Session`, an `AsyncSession`, and a scoped session of either kind, as Flask-SQLAlchemy's ``db.session``. The
job is added after the COMMIT of the outermost transaction. Jobs of a savepoint wait for it too, and are dropped if
their savepoint is rolled back. Jobs of one transaction are added in the order of the calls. If the session has joined a
transaction of a test, ``session.commit()`` adds them.

A process that ends between the commit and the addition leaves the job out. If that must not happen, let a recurring
job look for rows without their job.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from workkit.errors import InvalidOptions
from workkit.jobs.importing import refuse_addition
from workkit.jobs.names import Fn
from workkit.schedule import Schedule
from workkit.verbs.bulk import prepared

try:
    from sqlalchemy import event
    from sqlalchemy.exc import MissingGreenlet
    from sqlalchemy.orm import Session, SessionTransaction, scoped_session
    from sqlalchemy.util import await_only
except ImportError as error:
    raise ImportError(
        f"workkit.sqlalchemy needs SQLAlchemy 2 ({error}). Install it: pip install 'workkit[sqlalchemy]'"
    ) from error

_HAS_ASYNC = find_spec("greenlet") is not None  # without it SQLAlchemy has no asynchronous sessions
if TYPE_CHECKING or _HAS_ASYNC:
    from sqlalchemy.ext.asyncio import AsyncSession, async_scoped_session

Send = Callable[[], object]


class _Waiting:
    """The jobs of one session that wait, in the order of their calls, each with the transaction or savepoint that it
    belongs to. `committed`: the transaction that is committed and has not ended yet.
    """

    def __init__(self) -> None:
        self.jobs: list[tuple[SessionTransaction | None, Send]] = []
        self.committed: SessionTransaction | None = None


def add_on_commit(
    session: Session | AsyncSession | scoped_session[Any] | async_scoped_session[Any],
    s: Schedule,
    fn: Fn | None = None,
    **given: Any,
) -> None:
    """Add a job when the present transaction of the session is committed; if it is rolled back, add nothing. A session
    without a transaction begins one, as it does for a statement.

    `given`: the keywords of `schedule.add`; without a time the job runs at once, as with `add_now`. This call reads
    words, from now on, and checks the whole job: it raises an `Invalid`. ServerUnreachable or ServerRefused may come
    from the commit; then the data is stored, and this job and later ones of the transaction are not added.

    An AsyncSession adds in another thread, so the event loop is not blocked.
    """
    refuse_addition("add_on_commit")
    own = _session_of(session)
    send = prepared(s, {"fn": fn, **given})
    if not own.in_transaction():
        if not own.autobegin:
            raise InvalidOptions.about("session", "has no transaction", "Call session.begin() first.", where="session")
        own.begin()
    waiting: _Waiting = own.info.setdefault(_Waiting, _Waiting())
    waiting.jobs.append((own.get_nested_transaction() or own.get_transaction(), send))


def _session_of(given: Any) -> Session:
    """Return the synchronous session behind a session of any kind. Raises InvalidOptions."""
    found = given() if hasattr(given, "registry") else given  # a scoped session
    found = getattr(found, "sync_session", found)
    if not isinstance(found, Session):
        trouble, remedy = "is not a session of SQLAlchemy", "Write add_on_commit(session, s, fn, ...)."
        raise InvalidOptions.about(repr(given)[:100], trouble, remedy, where="session", given=given)
    return found


@event.listens_for(Session, "after_commit")
def _committed(session: Session) -> None:
    """Give the jobs of a released savepoint to the transaction around it, and note the COMMIT of the outermost one."""
    waiting: _Waiting | None = session.info.get(_Waiting)
    if waiting is None:
        return
    savepoint = session.get_nested_transaction()
    if savepoint is None:
        waiting.committed = session.get_transaction()
        return
    outer = savepoint.parent
    while outer is not None and outer.parent is not None and not outer.nested:  # that of a flush
        outer = outer.parent
    waiting.jobs = [(outer if of is savepoint else of, send) for of, send in waiting.jobs]


@event.listens_for(Session, "after_transaction_end")
def _ended(session: Session, transaction: SessionTransaction) -> None:
    """Send the jobs of a committed transaction. Drop those of one that was rolled back or closed."""
    waiting: _Waiting | None = session.info.get(_Waiting)
    if waiting is None:
        return
    ended = [send for of, send in waiting.jobs if of is transaction]
    waiting.jobs = [(of, send) for of, send in waiting.jobs if of is not transaction]
    if transaction is waiting.committed:
        waiting.committed = None
        if ended:
            _send(ended)


def _send(sends: Sequence[Send]) -> None:
    """Send jobs one by one; for an AsyncSession in another thread. Raises the first error, with a note on the rest."""

    def work() -> None:
        for n, send in enumerate(sends):
            try:
                send()
            except Exception as error:
                left = f"{len(sends) - n} of its {len(sends)} jobs are not added"
                error.add_note(f"The transaction is committed, but {left}. Add them again.")
                raise

    if _HAS_ASYNC and _has_event_loop():
        threaded = asyncio.to_thread(work)
        try:
            await_only(threaded)
        except MissingGreenlet:  # a synchronous session within a coroutine
            threaded.close()
        else:
            return
    work()


def _has_event_loop() -> bool:
    with suppress(RuntimeError):
        return asyncio.get_running_loop() is not None
    return False
