"""The event loop for the coroutines of one listener, in a separate thread. A handler can end only its own run: the loop
survives `sys.exit()` and `loop.stop()`, and a new loop replaces one that dies.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import Context
from typing import Any
from weakref import WeakSet

from workkit import events
from workkit.clocks import measured
from workkit.errors import WorkerLost, described
from workkit.jobs.outcome import NotBegun
from workkit.worker.run import interruption
from workkit.worker.run.interruption import Interruption, watched_task

SILENT = "the event loop of coroutines does not answer: a handler blocks it"
TICK = 1.0  # seconds between two ticks, by which others see that the loop moves
Body = Coroutine[Any, Any, Any]


class EventLoop:
    """The event loop of a listener. It starts with the first coroutine. Thread-safe. `of_program`: a loop that the
    program runs, in place of one of the listener.
    """

    def __init__(self, of_program: asyncio.AbstractEventLoop | None = None) -> None:
        self._of_program = of_program
        self.name = "the event loop of coroutines" if of_program is None else "the program's event loop"
        self._lock = threading.Lock()
        self._served: _Served | None = None
        self._is_short = False  # whether the last new loop lacked a resource
        self.has_begun = False  # whether a coroutine was ever run
        self.was_silent = False  # whether `give_back` was ever called

    def run(self, coroutine: Body, *, context: Context, interruption: Interruption) -> Any:
        """Run a coroutine on the loop, wait for its end here, and return its value. An interruption cancels it. Raises
        every error of the coroutine, including SystemExit, and as `start`. Raises WorkerLost if the loop dies during
        the run.
        """
        over = threading.Event()
        waited = _Waited(coroutine, context, over.set)
        served = self._taker(waited)
        # before it begins: from now on no interruption is raised in this thread, which would leave the coroutine behind
        interruption.interrupt_by(lambda: served.call(waited.stop))
        served.call(waited.start)
        over.wait()
        if waited.raised:
            raise waited.raised[0]
        return waited.returned[0] if waited.returned else None

    def start(self, coroutine: Body, *, context: Context, over: Callable[[BaseException | None], None]) -> None:
        """Run a coroutine on the loop. At its end, call `over` there, with its error; if the loop dies, or blocks
        before it has begun, call it elsewhere with WorkerLost or NotBegun. Raises NotBegun if no loop answers.
        """
        waited = _Waited(coroutine, context, lambda: over(waited.raised[0] if waited.raised else None))
        served = self._taker(waited)
        served.call(waited.start)

    def _taker(self, waited: _Waited) -> _Served:
        """Return the loop that has accepted a coroutine. Raises NotBegun, and closes the coroutine."""
        try:
            return self._accepting(waited)
        except NotBegun:
            waited.coroutine.close()
            raise

    def _accepting(self, waited: _Waited) -> _Served:
        with self._lock:
            if self.is_silent:
                raise NotBegun(SILENT)
            if self._served is None or not self._served.take(waited):
                try:
                    made = _Served() if self._of_program is None else _Borrowed(self._of_program)
                    if not made.take(waited):
                        raise NotBegun(f"{self.name} has ended")
                    made.start()
                except (OSError, RuntimeError, MemoryError) as error:  # no file descriptor, or no thread
                    trouble = f"no event loop for coroutines: {described(error)}"
                    if not self._is_short:
                        events.emit("stuck", reason=f"{trouble}. They go back, and are tried again.")
                    self._is_short = True
                    raise NotBegun(trouble) from None
                self._served, self._is_short, self.has_begun = made, False, True
            return self._served

    @property
    def is_silent(self) -> bool:
        """Whether the loop has not moved since `give_back`."""
        served = self._served
        return served is not None and served.silent_at == served.ticks and served.lost is None

    def give_back(self) -> None:
        """Release coroutines that have not begun, and take none until the loop moves again."""
        with self._lock:
            self.was_silent = True
            if (served := self._served) is not None:
                served.silent_at = served.ticks
                served.give_back()

    @property
    def ticks(self) -> int | None:
        """Return a number that changes every second while the loop moves; None if there is no living loop."""
        served = self._served
        return None if served is None or served.lost else served.ticks

    @property
    def lost(self) -> str | None:
        """Return why the loop has died; None once a new loop has replaced it."""
        served = self._served
        if isinstance(served, _Borrowed):
            served.look()
        return None if served is None else served.lost

    def close(self) -> None:
        """End the loop, and cancel its tasks."""
        with self._lock:
            served, self._served = self._served, None
        if served is not None:
            served.stop()


class _Waited:
    """A coroutine; `over` is called once, at its end. Only the loop's thread calls `start` and `stop`; the rest is
    thread-safe.
    """

    def __init__(self, coroutine: Body, context: Context, over: Callable[[], None]) -> None:
        self.coroutine = coroutine
        self.raised: list[BaseException] = []
        self.returned: list[Any] = []
        self.forget: Callable[[_Waited], None] = lambda _: None  # called first at its end
        self._context, self._over = context, [over]
        self._task: asyncio.Task[None] | None = None
        self._is_early = False  # interrupted before it began
        self._unbegun = [True]  # the thread that takes this item begins the coroutine, or releases it

    def start(self) -> None:
        """Begin it, unless it was released."""
        if not self._over:
            return
        self._task = asyncio.get_running_loop().create_task(self._run(), context=self._context)
        self._task.add_done_callback(self._ended)
        if self._is_early:
            self._task.cancel()

    def stop(self) -> None:
        """Cancel it."""
        self._is_early = True
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        if self._is_mine():
            await kept(self.coroutine, self.raised, self.returned)

    def _is_mine(self) -> bool:
        with suppress(IndexError):
            return self._unbegun.pop()
        return False

    def give_back(self, why: str) -> None:
        """End it with NotBegun, unless it has begun."""
        if self._is_mine():
            self.coroutine.close()
            self._end(NotBegun(why))

    def lose(self, why: str) -> None:
        """End it because the loop has died: with WorkerLost if it has begun."""
        self.give_back(why)
        self._end(WorkerLost(f"the event loop of coroutines died in the middle of the run: {why}"))

    def _ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() and self._is_mine():  # before its first step
            self.raised.append(asyncio.CancelledError())
            self.coroutine.close()
        self._end()

    def _end(self, *raised: BaseException) -> None:
        """Report the end, the first time."""
        try:
            over = self._over.pop()
        except IndexError:
            return
        self.raised[:] = raised or self.raised
        self.forget(self)
        over()


class _Served:
    """One loop and its thread, until it is stopped or dies."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.ticks = 0
        self.lost: str | None = None
        self.silent_at = -1  # its number of ticks when it was found not to move
        if loop is None:
            _find_room()
            loop = measured(asyncio.new_event_loop())
            loop.set_task_factory(watched_task)
        self._loop = loop
        self._pipe = _pipe(self._loop)
        self._lock = threading.Lock()
        self._waited: set[_Waited] = set()
        self._is_over = self._is_stopping = False

    def start(self) -> None:
        """Serve from now on."""
        try:
            threading.Thread(target=self._serve, name="workkit-asyncio", daemon=True).start()
        except BaseException:
            self._loop.close()
            raise

    def take(self, waited: _Waited) -> bool:
        """Accept a coroutine; this loop will report its end. Return False if the loop has ended."""
        with self._lock:
            if not self._is_over:
                self._waited.add(waited)
                waited.forget = self._waited.discard
            return not self._is_over

    def give_back(self) -> None:
        """Release coroutines that have not begun."""
        for waited in list(self._waited):
            waited.give_back(SILENT)

    def call(self, act: Callable[[], None]) -> None:
        """Make the loop call `act` soon, if it lives."""
        if not self._is_over:
            with suppress(RuntimeError):  # the loop is closed, and all its coroutines have ended
                self._loop.call_soon_threadsafe(act)

    def stop(self) -> None:
        """Cancel the tasks of the loop, and end it."""
        self._is_stopping = True
        self.call(self._loop.stop)

    def _serve(self) -> None:
        born = interruption.forks
        _loops.add(self._loop)
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.call_soon(self._tick)
            self._run(born)
            if self.lost is None:
                _end(self._loop)
        except BaseException as error:
            self.lost = described(error)
        if interruption.forks != born:
            interruption.end_fork()
        if self.lost is not None:
            _broken.append(self._loop)
        self._lose()

    def _lose(self) -> None:
        with self._lock:
            self._is_over = True
        for waited in list(self._waited):
            waited.lose(self.lost or "this listener has stopped")

    def _run(self, born: int) -> None:
        """Run until stopped from outside. The loop is started again after other ends: asyncio ends it on SystemExit and
        KeyboardInterrupt of a task or a callback (and keeps them for the awaiter), and any handler may call `stop`.
        """
        while not (self._is_stopping or self.lost):
            try:
                self._loop.run_forever()
            except (SystemExit, KeyboardInterrupt) as error:
                if interruption.forks != born:
                    interruption.end_fork(error)
                what = f"{type(error).__name__} in a task or a callback of a handler"
                self._loop.call_exception_handler({"message": what, "exception": error})
            if interruption.forks != born:
                interruption.end_fork()

    def _tick(self) -> None:
        """Count one tick. End the loop if other threads can no longer wake it."""
        self.ticks += 1
        if _pipe(self._loop) == self._pipe:
            self._loop.call_later(TICK, self._tick)
        else:
            self.lost = "a handler closed its file descriptors"
            self._loop.stop()


class _Borrowed(_Served):
    """The loop of the program, until the listener stops or the program ends it."""

    def start(self) -> None:
        """Count its ticks from now on."""
        self.call(self._tick)

    def take(self, waited: _Waited) -> bool:
        """Accept a coroutine; return False if the program has ended the loop."""
        return not self._loop.is_closed() and super().take(waited)

    def stop(self) -> None:
        """Cancel the coroutines of the listener that are left."""
        self._is_stopping = True
        for waited in list(self._waited):
            self.call(waited.stop)

    def look(self) -> None:
        """Report its coroutines as lost if the program has ended the loop."""
        if self._loop.is_closed() and not self._is_over:
            self.lost = "the program has ended it"
            self._lose()

    def _tick(self) -> None:
        self.ticks += 1
        if not self._is_stopping:
            self._loop.call_later(TICK, self._tick)


async def kept(coroutine: Awaitable[Any], raised: list[BaseException], returned: list[Any]) -> None:
    """Await it, and store its value or its error: asyncio adds frames to a traceback, and ends on some errors."""
    try:
        returned.append(await coroutine)
    except BaseException as error:
        raised.append(error)


def stopper() -> Callable[[], None]:
    """Return a function that cancels the task which calls this. Any thread may call it, at any time."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None, "called by a coroutine"

    def stop() -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(task.cancel)

    return stop


def run_alone(coroutine: Body) -> Any:
    """Run a coroutine here, on a separate event loop, and return its value. Raises every error of the coroutine."""
    raised: list[BaseException] = []
    returned: list[Any] = []

    async def main() -> None:
        asyncio.get_running_loop().set_task_factory(watched_task)
        await kept(coroutine, raised, returned)

    asyncio.run(main())
    if raised:
        raise raised[0]
    return returned[0]


def _find_room() -> None:
    """Raise OSError if there are no file descriptors for a loop: a half-made loop would complain on stderr."""
    ends = [*os.pipe()]
    try:
        ends += os.pipe()
    finally:
        for end in ends:
            os.close(end)


def _end(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel the tasks of a loop, and close it."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


def _pipe(loop: asyncio.AbstractEventLoop) -> list[tuple[int, int] | None]:
    """Return the system's identities of the sockets that wake a loop from other threads; other kinds of loops have
    none.
    """
    found: list[tuple[int, int] | None] = []
    for name in ("_ssock", "_csock"):
        if (end := getattr(loop, name, None)) is not None:
            try:
                stat = os.fstat(end.fileno())
                found.append((stat.st_dev, stat.st_ino))
            except OSError:
                found.append(None)
    return found


def _stop_in_child() -> None:
    for loop in _loops:
        loop.stop()  # a callback has forked: in the child, the loop ends after its current callbacks


_loops: WeakSet[asyncio.AbstractEventLoop] = WeakSet()
_broken: list[asyncio.AbstractEventLoop] = []  # never closed: other files may have their descriptor numbers by now
os.register_at_fork(after_in_child=_stop_in_child)
