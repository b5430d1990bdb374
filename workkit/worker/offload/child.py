"""A worker process: runs the handlers that a listener sends, one by one, and ends with it. See `offload.py`."""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, NoReturn, cast

from workkit.contract.claim import Claim
from workkit.errors import FunctionNotFound, InvalidFunction, described
from workkit.jobs.middleware import AROUND, Around, within, within_async
from workkit.jobs.names import shown
from workkit.jobs.registry import Handler, Registry, importing
from workkit.worker.lane import Lane
from workkit.worker.offload.pool import Begun, Cancelled, Ended, Extends, Says, Setting, Task
from workkit.worker.run import forks
from workkit.worker.run.current import Run, current
from workkit.worker.run.event_loop import Watched, run_alone
from workkit.worker.run.executor import invoke
from workkit.worker.run.failure import explained, failure_of
from workkit.worker.run.interruption import Clock
from workkit.worker.run.progress import Words

APART = 0.1  # seconds between two things that a run says of itself
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # for the listener: it decides when this process ends


def main(end: int) -> None:
    """Serve the listener at the other end of this socket."""
    os.set_inheritable(end, False)  # not for programs that handlers start
    for number in IGNORED:
        signal.signal(number, lambda *_: None)  # programs that handlers start hear these again
    Offloaded(Connection(end)).serve()


class Offloaded:
    """This process."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self._tasks: SimpleQueue[Task] = SimpleQueue()
        self._news: SimpleQueue[Words] = SimpleQueue()
        self._run: Run | None = None
        self._born = forks.count

    def serve(self) -> None:
        """Run what comes in, in this thread, as long as the listener is there."""
        setting: Setting = self._connection.recv()
        registry = Registry(imports=setting.imports, folder=setting.folder)
        for serve in (self._hear, self._tell):
            threading.Thread(target=serve, name="workkit-offloaded", daemon=True).start()
        is_loaded = False
        while True:
            task = self._tasks.get()
            try:
                if not is_loaded:
                    registry.load()
                    is_loaded = True
                ended = self._ended(task, registry)
            except BaseException as error:  # imports, too, may raise anything
                ended = _ended(error)
            for stream in (sys.stdout, sys.stderr):  # nothing is flushed when this process ends
                with suppress(OSError, ValueError, AttributeError):
                    stream.flush()
            self._send(ended)

    def _ended(self, task: Task, registry: Registry) -> Ended:
        """Run a task to its end."""
        job, stage = task.job, Lane(cast(Any, None))
        _import({module for module, _ in (task.handler, *task.around)}, fn=job.fn)
        handler, _ = registry.handler(job.fn)
        around = _around(task)
        claim = Claim(
            receipt=None,
            describe=lambda _: job,
            id=job.id,
            fn=job.fn,
            args=job.args,
            due_ms=0,
            kwargs=job.kwargs,
        )
        run = Run(claim, stage, late_ms=task.late_ms, started=time.monotonic(), clock=_Clock(self._send))
        run.show()._say = Words(run, hear=self._news.put).say
        self._run = run
        self._send(Begun())
        token = current.set(run)
        try:
            within(around.plain, partial(_call, handler, claim, around))
        except BaseException as error:  # a handler may raise anything, SystemExit included
            return _ended(explained(error, handler, args=claim.args, kwargs=claim.kwargs))
        finally:
            current.reset(token)
        return Ended()

    def _send(self, said: Begun | Says | Extends | Ended) -> None:
        if forks.count != self._born:  # a child that a handler or its middleware forked: the socket is its parent's
            forks.leave()
        with self._sending:
            if isinstance(said, Ended):
                self._run = None
            try:
                self._connection.send(said)
            except OSError:
                _end()

    def _hear(self) -> None:
        """Hear the listener, in a thread of its own: when it is gone, so is this process."""
        while True:
            try:
                told = self._connection.recv()
            except (EOFError, OSError):
                _end()
            match told:
                case Task():
                    self._tasks.put(told)
                case Cancelled() if (run := self._run) is not None:
                    run.ask_to_stop()

    def _tell(self) -> None:
        """Pass on what runs say of themselves, in a thread of its own: the last words, now and then."""
        while True:
            words = self._news.get()
            with self._sending:
                is_running = words.run is self._run
            if is_running:
                words.are_news = False  # before reading: what is said from here on is news again
                self._send(Says(said=words.said))
            time.sleep(APART)


class _Clock(Clock):
    """The time of a run, which the listener counts."""

    def __init__(self, send: Callable[[Extends], None]) -> None:
        super().__init__(0)
        self._send = send

    def extend(self, seconds: float) -> None:
        """Have the listener give it so long from now."""
        self._send(Extends(seconds=seconds))


def _call(handler: Handler, claim: Claim, around: Around) -> None:
    if (coroutine := invoke(handler, claim.args, claim.kwargs)) is not None:
        run_alone(within_async(around.coroutines, Watched(coroutine)))


def _import(modules: Iterable[str], *, fn: str) -> None:
    """Import what defines the handler and its middleware: they were found there. Raises FunctionNotFound."""
    for module in modules:
        token = importing.set(module)
        try:
            importlib.import_module(module)
        except BaseException as error:  # an import may raise anything
            reason = described(error)
            raise FunctionNotFound(
                f"cannot run {shown(fn)} in a worker process: importing {module} there failed: {reason}", given=fn
            ) from error
        finally:
            importing.reset(token)


def _around(task: Task) -> Around:
    """The same middleware as in the listener. Raises InvalidFunction."""
    here = AROUND.get(task.schedule, Around())
    known = {(fn.__module__, fn.__qualname__): fn for fn in (*here.plain, *here.coroutines)}
    for module, name in task.around:
        if (module, name) not in known:
            raise InvalidFunction(
                f"middleware {module}.{name} is not registered where {module} is imported, as a worker process does. "
                f"Register it at module level.",
                given=name,
            )
    wanted = [known[name] for name in task.around]
    return Around(tuple(fn for fn in wanted if fn in here.plain), tuple(fn for fn in wanted if fn in here.coroutines))


def _ended(error: BaseException) -> Ended:
    try:
        pickled = pickle.dumps(error)
    except BaseException:  # whatever an unusual class does when it is taken apart
        return Ended(failure=failure_of(error))
    return Ended(failure=failure_of(error), error=pickled)


def _end() -> NoReturn:
    """The listener is gone: end at once, with what handlers have started."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
