"""Questions to servers wait for a turn, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import pytest

from workkit.errors import ServerUnreachable
from workkit.web import response
from workkit.web.response import THREADS, Asking, Refused


def test_one_question_too_many_is_refused_and_later_ones_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response, "PATIENCE_S", 0.05)
    gate = threading.Event()

    async def all_of_them() -> None:
        ours = Asking()
        running = [asyncio.create_task(ours.call(lambda: gate.wait(20))) for _ in range(THREADS)]
        await asyncio.sleep(0)
        with pytest.raises(Refused, match="Too many pages are asked for at once"):
            await ours.call(lambda: True)
        waiting = asyncio.create_task(ours.call(lambda: True))
        await asyncio.sleep(0)
        gate.set()
        assert await waiting
        assert all([await one for one in running])
        assert [await ours.call(partial(int, n)) for n in range(3 * THREADS)] == list(range(3 * THREADS))

    asyncio.run(all_of_them())


def test_an_error_is_passed_on_and_frees_the_thread() -> None:
    async def often() -> None:
        ours = Asking()
        for _ in range(2 * THREADS):
            with pytest.raises(ZeroDivisionError):
                await ours.call(lambda: 1 // 0)
        assert await ours.call(lambda: True)

    asyncio.run(often())


def test_a_server_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response, "LONGEST_S", 0.05)
    gate = threading.Event()

    async def hangs() -> None:
        with pytest.raises(ServerUnreachable, match="has not answered within"):
            await Asking().call(lambda: gate.wait(20))
        gate.set()

    asyncio.run(hangs())
