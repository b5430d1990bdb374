"""`workkit.sqlalchemy`: additions within transactions of a real database, of synchronous and asynchronous sessions."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.optional import needed
from tests.processes import Processes
from tests.servers import Server
from workkit import schedule
from workkit.errors import InvalidArguments, InvalidOptions, PhraseError, ServerUnreachable, Unsupported
from workkit.schedule import Schedule

needed("sqlalchemy")
needed("aiosqlite")

from sqlalchemy import Engine, create_engine, event, text  # noqa: E402 (without SQLAlchemy there is no such module)
from sqlalchemy.exc import IntegrityError  # noqa: E402
from sqlalchemy.ext.asyncio import (  # noqa: E402
    AsyncEngine,
    AsyncSession,
    async_scoped_session,
    async_sessionmaker,
    create_async_engine,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, scoped_session, sessionmaker  # noqa: E402

from workkit.sqlalchemy import add_on_commit  # noqa: E402


def take(n: int, m: int = 0) -> None:
    """Do nothing: the tests look at the jobs."""


class Undone(Exception):
    pass


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)


def with_savepoints(engine: Engine) -> Engine:
    """Leave BEGIN to SQLAlchemy: the driver of SQLite sends it too late for a savepoint."""

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _: Any) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def begun(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = with_savepoints(create_engine(f"sqlite:///{tmp_path}/shop.sqlite3"))
    Base.metadata.create_all(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def async_engine(engine: Engine) -> AsyncEngine:
    made = create_async_engine(str(engine.url).replace("sqlite:", "sqlite+aiosqlite:"))
    with_savepoints(made.sync_engine)
    return made


@pytest.fixture
def s(server: Server, name: str) -> Schedule:
    return schedule.create(name, redis=server.url)


def waiting(s: Schedule) -> list[Any]:
    return sorted(job.args[0] for job in schedule.jobs(s))


def orders(engine: Engine) -> list[int]:
    with engine.connect() as connection:
        return [number for (number,) in connection.execute(text("SELECT id FROM orders ORDER BY id"))]


def test_a_job_is_added_after_the_commit(s: Schedule, engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        session.add(Order(id=1))
        add_on_commit(session, s, take, args=[1, 2])
        session.flush()
        assert waiting(s) == []
    assert waiting(s) == [1]
    assert orders(engine) == [1]
    assert schedule.drain(s, imports=[__name__]).ran == 1


@pytest.mark.parametrize("end", ["rollback", "close", "raise", "reset"])
def test_nothing_is_added_after_a_rollback(s: Schedule, engine: Engine, end: str) -> None:
    session = Session(engine)
    with suppress(Undone):
        if end == "raise":
            with session.begin():
                add_on_commit(session, s, take, args=[1, 2])
                raise Undone
        add_on_commit(session, s, take, args=[1, 2])
        getattr(session, end)()
    add_on_commit(session, s, take, args=[2, 2])  # the session is used again
    session.commit()
    session.commit()
    assert waiting(s) == [2]
    session.close()


def test_a_failed_flush_adds_nothing(s: Schedule, engine: Engine) -> None:
    with Session(engine) as session:
        session.add(Order(id=1))
        session.commit()
    with Session(engine) as session:
        add_on_commit(session, s, take, args=[1, 2])
        session.add(Order(id=1))
        with pytest.raises(IntegrityError):
            session.commit()
        session.rollback()
        session.commit()
    assert waiting(s) == []


def test_the_jobs_of_a_savepoint_share_its_fate(s: Schedule, engine: Engine) -> None:
    def add(n: int) -> None:
        session.add(Order(id=n))
        add_on_commit(session, s, take, args=[n, 0])

    with Session(engine) as session, session.begin():
        add(1)
        with session.begin_nested():
            add(2)
            with suppress(Undone), session.begin_nested():
                add(3)
                raise Undone
            with session.begin_nested():
                add(4)
        with suppress(Undone), session.begin_nested():
            add(5)
            with session.begin_nested():  # released, and its outer one rolled back
                add(6)
            raise Undone
        add(7)
        assert waiting(s) == []
    assert waiting(s) == [1, 2, 4, 7]
    assert orders(engine) == [1, 2, 4, 7]


def test_a_savepoint_whose_flush_fails_is_left_out(s: Schedule, engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        session.add(Order(id=1))
        add_on_commit(session, s, take, args=[1, 0])
        with suppress(IntegrityError), session.begin_nested():
            add_on_commit(session, s, take, args=[2, 0])
            session.execute(text("INSERT INTO orders VALUES (1)"))
        with suppress(IntegrityError), session.begin_nested():
            add_on_commit(session, s, take, args=[3, 0])
            session.add_all([Order(id=9), Order(id=1)])
    assert waiting(s) == [1]
    assert orders(engine) == [1]


def test_a_commit_within_a_savepoint_adds_all(s: Schedule, engine: Engine) -> None:
    with Session(engine) as session:
        session.add(Order(id=1))
        add_on_commit(session, s, take, args=[1, 0])
        session.begin_nested()
        add_on_commit(session, s, take, args=[2, 0])
        session.commit()
        assert waiting(s) == [1, 2]
        assert orders(engine) == [1]


def test_a_job_that_an_event_of_a_flush_adds_waits_for_the_commit(s: Schedule, engine: Engine) -> None:
    with Session(engine) as session:

        @event.listens_for(session, "after_flush")
        def flushed(of: Session, _: Any) -> None:
            for order in of.new:
                add_on_commit(of, s, take, args=[order.id, 0])

        with session.begin_nested():
            session.add(Order(id=1))
        assert waiting(s) == []
        session.add(Order(id=2))
        session.commit()
    assert waiting(s) == [1, 2]


def test_the_jobs_of_a_transaction_are_added_in_order(s: Schedule, engine: Engine) -> None:
    def add(n: int) -> None:
        add_on_commit(session, s, take, args=[n], name="the first", on_conflict="keep")
        add_on_commit(session, s, take, args=[10 * n], name="the last")

    with Session(engine) as session, session.begin():
        add(3)
        with session.begin_nested():
            add(1)
        add(2)
    assert waiting(s) == [3, 20]


def test_a_job_has_its_time_and_options(s: Schedule, engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        add_on_commit(session, s, take, args=[1, 2], every="day at 9am", name="nightly", retries=3)
        add_on_commit(session, s, take, args=[2, 2], in_="5 minutes")
    first, second = sorted(schedule.jobs(s), key=lambda job: int(job.args[0]))
    assert (first.name, first.recurs, first.options.retries) == ("nightly", True, 3)
    assert (second.recurs, second.state) == (False, "waiting")


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"in_": "5 mintues"}, PhraseError),
        ({"args": [1, 2, 3]}, InvalidArguments),
        ({"args": [float("nan"), 1]}, InvalidArguments),
        ({"args": ["x" * 10_000_001, 1]}, InvalidArguments),
        ({"retrys": 1}, InvalidOptions),
        ({"at": "noon tomorrow", "every": "day at 9am"}, InvalidOptions),
    ],
)
def test_what_is_wrong_is_refused_at_the_call(
    s: Schedule, engine: Engine, given: dict[str, Any], error: type[Exception]
) -> None:
    with Session(engine) as session:
        with pytest.raises(error):
            add_on_commit(session, s, take, **{"args": [1, 2], **given})
        assert not session.in_transaction()
        session.commit()
    assert waiting(s) == []


def test_what_a_layout_cannot_carry_is_refused_at_the_call(server: Server, name: str, engine: Engine) -> None:
    other = schedule.create(name, redis=server.url, layout="gocraft")
    with Session(engine) as session, pytest.raises(Unsupported):
        add_on_commit(session, other, "export", kwargs={"n": 1}, every="day at 9am", name="exports")


def test_another_object_than_a_session_is_refused(s: Schedule, engine: Engine) -> None:
    given: Any = engine
    with pytest.raises(InvalidOptions, match="is not a session of SQLAlchemy") as refused:
        add_on_commit(given, s, take, args=[1, 2])
    assert refused.value.where == "session"


def test_a_session_that_must_be_begun_by_hand_refuses(s: Schedule, engine: Engine) -> None:
    with Session(engine, autobegin=False) as session:
        with pytest.raises(InvalidOptions, match="has no transaction"):
            add_on_commit(session, s, take, args=[1, 2])
        with session.begin():
            add_on_commit(session, s, take, args=[2, 2])
    assert waiting(s) == [2]


def test_a_scoped_session_is_that_of_its_thread(s: Schedule, engine: Engine) -> None:
    db = scoped_session(sessionmaker(engine))
    add_on_commit(db, s, take, args=[1, 2])
    db.rollback()
    add_on_commit(db, s, take, args=[2, 2])
    db.commit()
    db.remove()
    assert waiting(s) == [2]


def test_sessions_do_not_share_their_jobs(s: Schedule, engine: Engine) -> None:
    with Session(engine) as one, Session(engine) as other:
        add_on_commit(one, s, take, args=[1, 2])
        add_on_commit(other, s, take, args=[2, 2])
        one.commit()
        assert waiting(s) == [1]
        other.rollback()
    assert waiting(s) == [1]


def test_an_unreachable_server_is_reported_by_the_commit(own_server: Server, name: str, engine: Engine) -> None:
    s = schedule.create(name, redis=own_server.url)
    own_server.kill()
    with Session(engine) as session:
        session.add(Order(id=1))
        for n in (1, 2):
            add_on_commit(session, s, take, args=[n, 2])
        with pytest.raises(ServerUnreachable) as raised:
            session.commit()
        assert raised.value.__notes__ == [
            "The transaction is committed, but 2 of its 2 jobs are not added. Add them again."
        ]
        assert orders(engine) == [1]
        own_server.start()
        with session.begin():  # the session is as after a commit
            session.add(Order(id=2))
            add_on_commit(session, s, take, args=[3, 2])
    assert waiting(s) == [3]
    assert orders(engine) == [1, 2]


def test_an_asynchronous_session_adds_after_its_commit(s: Schedule, engine: Engine, async_engine: AsyncEngine) -> None:
    async def main() -> None:
        async with AsyncSession(async_engine) as session:
            async with session.begin():
                session.add(Order(id=1))
                add_on_commit(session, s, take, args=[1, 2])
                async with session.begin_nested():
                    add_on_commit(session, s, take, args=[2, 2])
                with suppress(Undone):
                    async with session.begin_nested():
                        add_on_commit(session, s, take, args=[3, 2])
                        raise Undone
                assert waiting(s) == []
            assert waiting(s) == [1, 2]
            add_on_commit(session, s, take, args=[4, 2])
            await session.rollback()
            add_on_commit(session, s, take, args=[5, 2])
            await session.close()
            await session.run_sync(lambda own: add_on_commit(own, s, take, args=[6, 2]))
            await session.commit()
        scoped = async_scoped_session(async_sessionmaker(async_engine), scopefunc=asyncio.current_task)
        add_on_commit(scoped, s, take, args=[7, 2])
        await scoped.commit()
        await scoped.remove()
        await async_engine.dispose()

    asyncio.run(main())
    assert waiting(s) == [1, 2, 6, 7]
    assert orders(engine) == [1]


def test_an_asynchronous_commit_does_not_block_the_event_loop(
    own_server: Server, name: str, async_engine: AsyncEngine
) -> None:
    s = schedule.create(name, redis=own_server.url)
    schedule.add_now(s, take, args=[0, 0])  # connects

    async def main() -> None:
        async with AsyncSession(async_engine) as session:
            session.add(Order(id=1))
            add_on_commit(session, s, take, args=[1, 2])
            os.kill(own_server.pid, signal.SIGSTOP)
            commit = asyncio.create_task(session.commit())
            try:
                async with asyncio.timeout(10):
                    while orders_are_none():
                        await asyncio.sleep(0.01)
                await asyncio.sleep(0)
                assert not commit.done()
            finally:
                os.kill(own_server.pid, signal.SIGCONT)
            await commit
        await async_engine.dispose()

    def orders_are_none() -> bool:
        engine = create_engine(str(async_engine.url).replace("+aiosqlite", ""))
        found = orders(engine)
        engine.dispose()
        return not found

    asyncio.run(main())
    assert waiting(s) == [0, 1]


def test_a_session_within_a_coroutine_adds_after_its_commit(s: Schedule, engine: Engine) -> None:
    async def main() -> None:
        with Session(engine) as session, session.begin():
            add_on_commit(session, s, take, args=[1, 2])

    asyncio.run(main())
    assert waiting(s) == [1]


PROGRAM = """
import sys

from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

from tests.test_sqlalchemy import take
from workkit import schedule
from workkit.sqlalchemy import add_on_commit

s = schedule.create({name!r}, redis={url!r})
with Session(create_engine({database!r})) as session:
    for n in (1, 2):
        session.execute(text(f"INSERT INTO orders VALUES ({{n}})"))
        add_on_commit(session, s, take, args=[n])
        if n == 1:
            session.commit()
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_a_process_that_is_killed_in_a_transaction_adds_nothing(
    s: Schedule, engine: Engine, processes: Processes, server: Server
) -> None:
    program = processes.python(PROGRAM.format(name=s.name, url=server.url, database=str(engine.url)))
    program.wait_for("ready")
    program.send(signal.SIGKILL)
    program.wait()
    assert orders(engine) == [1]
    assert waiting(s) == [1]
