"""Blocking calls off the event loop: at most 8 at once, and nobody waits longer than 2 s for a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from workkit.errors import ServerError, ServerUnreachable
from workkit.web.answering.answer import Refused
from workkit.web.served import Served

THREADS: Final = 8
PATIENCE_S: Final = 2.0
LONGEST_S: Final = 10.0

T = TypeVar("T")


class Asking:
    """The threads that ask servers. They begin with the first question."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._busy = 0
        self._turns: list[asyncio.Future[None]] = []

    async def call(self, function: Callable[[], T]) -> T:
        """Call a function in a thread. Raises Refused (503) where no thread was free for 2 s; ServerUnreachable
        where it has not answered after 15 s.
        """
        await self._turn()
        self._pool = self._pool or ThreadPoolExecutor(THREADS, thread_name_prefix="workkit-web")
        loop = asyncio.get_running_loop()
        asked = loop.run_in_executor(self._pool, function)
        asked.add_done_callback(self._free)
        asked.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may wait any more
        try:
            return await asyncio.wait_for(asyncio.shield(asked), LONGEST_S)
        except TimeoutError:
            raise ServerUnreachable(f"the server has not answered within {LONGEST_S:g} s.") from None

    async def of(self, served: Served, function: Callable[[], T]) -> T:
        """Ask the server of a schedule, and note whether it answers. Raises as `call`."""
        try:
            found = await self.call(function)
        except ServerError as error:
            served.lost(error)
            raise
        served.reached()
        return found

    async def _turn(self) -> None:
        if self._busy < THREADS:
            self._busy += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._turns.append(turn)
        try:
            await asyncio.wait_for(turn, PATIENCE_S)
        except TimeoutError:
            if turn in self._turns:
                self._turns.remove(turn)
            raise Refused(503, "Too many pages are asked for at once. Try again.") from None

    def _free(self, _: object) -> None:
        while self._turns:
            turn = self._turns.pop(0)
            if not turn.done():
                turn.set_result(None)
                return
        self._busy -= 1
