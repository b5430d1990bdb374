"""Words with two common readings: Python warns as `workkit next` does, at the line of the program that has them."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.servers import Server
from workkit import aio, errors, job, schedule
from workkit.cli import main
from workkit.schedule import Schedule

TODAY = f"{datetime.now(UTC):%A}"  # a weekday that is read as that of next week
pytestmark = pytest.mark.parametrize("server", ["redis"], indirect=True)  # nothing here depends on the product
PHRASES = [
    ("every day at 5", "UTC"),
    ("every 15 minutes between 9am and 5pm", "UTC"),
    ("every monday at midnight", "UTC"),
    ("the 31st of every month at 9am", "UTC"),
    ("every workday at 9am", "UTC"),
    ("end of month at 9am", "UTC"),
    ("0 0 13 * 5", "UTC"),
    ("every day at 2:30", "Europe/Paris"),
    (f"{TODAY} at 23:59", "UTC"),
]
REMARK = 'Without am or pm that is 5:00. Say "17:00" for the afternoon.'


@job
def look() -> None: ...


@pytest.fixture
def s(server: Server, name: str) -> Schedule:
    return schedule.create(name, redis=server.url)


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """Run one command line in this process, with the filters of Python, and return its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(list(words)) == 0
    return [line.removeprefix("warning: ") for line in capsys.readouterr().err.splitlines()]


@contextmanager
def caught() -> Iterator[list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found


def texts(found: list[warnings.WarningMessage]) -> list[str]:
    """Return the warnings, which are ours and of this file."""
    assert {(one.category, one.filename) for one in found} <= {(errors.WorkkitWarning, __file__)}
    return [str(one.message) for one in found]


@pytest.mark.parametrize(("phrase", "tz"), PHRASES)
def test_an_addition_warns_as_next_does(s: Schedule, capsys: pytest.CaptureFixture[str], phrase: str, tz: str) -> None:
    printed = shown(capsys, "next", phrase, "--tz", tz)
    with caught() as found:
        schedule.add(s, look, when=phrase, tz=None if tz == "UTC" else tz)
    assert [text.removeprefix("cron=") for text in texts(found)] == printed
    assert len(printed) == len(set(printed)) > 0


def added_many(s: Schedule) -> None:
    schedule.add_many(s, [{"fn": look, "every": "day at 5"}])


def sent(s: Schedule) -> None:
    s.bind(look).every("day at 5").send()


def rescheduled(s: Schedule) -> None:
    schedule.add(s, look, every="day at 9am", name="daily")
    schedule.reschedule(s, "daily", every="day at 5")


def awaited(s: Schedule) -> None:
    async def main() -> None:
        await aio.add(s, look, every="day at 5")

    asyncio.run(main())


def awaited_many(s: Schedule) -> None:
    async def main() -> None:
        await aio.add_many(s, [{"fn": look, "every": "day at 5"}])

    asyncio.run(main())


def awaited_task(s: Schedule) -> None:
    asyncio.run(aio.add(s, look, every="day at 5"))


def awaited_reschedule(s: Schedule) -> None:
    async def main() -> None:
        await aio.add(s, look, every="day at 9am", name="daily")
        await aio.reschedule(s, "daily", every="day at 5")

    asyncio.run(main())


def sent_by_a_coroutine(s: Schedule) -> None:
    async def main() -> None:
        await s.bind(look).every("day at 5").asend()

    asyncio.run(main())


@pytest.mark.parametrize(
    "do", [added_many, sent, rescheduled, awaited, awaited_many, awaited_task, awaited_reschedule, sent_by_a_coroutine]
)
def test_each_way_to_add_warns_at_the_line_of_the_program(s: Schedule, do: Callable[[Schedule], None]) -> None:
    with caught() as found:
        do(s)
    assert texts(found) == [REMARK]
    code: Any = do.__code__
    first = code.co_firstlineno
    assert first < found[0].lineno < first + 6


def test_a_line_warns_once(s: Schedule) -> None:
    async def main() -> None:
        for _ in range(3):
            await aio.add(s, look, every="day at 5")

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        asyncio.run(main())
    assert texts(found) == [REMARK]


def test_the_bounds_of_an_addition_warn_with_their_names(s: Schedule, capsys: pytest.CaptureFixture[str]) -> None:
    with caught() as found:
        schedule.add(s, look, every="hour", start="tomorrow at 5", end="2037-03-01 at 5", name="hourly")
    assert texts(found) == [f'start="tomorrow at 5": {REMARK}', f'end="2037-03-01 at 5": {REMARK}']
    words = ["every hour", f"{__name__}:look", "--start", "tomorrow at 5", "--redis", str(s.redis)]
    assert f'--start "tomorrow at 5": {REMARK}' in shown(capsys, "add", s.name, *words)


def test_the_end_of_a_pause_warns(s: Schedule, capsys: pytest.CaptureFixture[str]) -> None:
    with caught() as found:
        schedule.pause(s, until="tomorrow at 5")
    assert texts(found) == [f'until="tomorrow at 5": {REMARK}']
    words = ["--until", "tomorrow at 5", "--redis", str(s.redis)]
    assert f'--until "tomorrow at 5": {REMARK}' in shown(capsys, "pause", s.name, *words)


def test_words_with_one_reading_do_not_warn(s: Schedule) -> None:
    with caught() as found:
        schedule.add(s, look, every="hour", start="2027-03-01 9am", end="2037-03-01", name="hourly")
        schedule.add(s, look, at="tomorrow at 5pm")
        schedule.pause(s, until="tomorrow at 5pm")
    assert texts(found) == []
