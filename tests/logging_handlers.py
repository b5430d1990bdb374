"""Handlers that log, for a listener in this process or in one of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

from workkit import Discard, Retry, current_job, job

log = logging.getLogger("shop")
gate = threading.Event()


def work(times: int) -> None:
    for n in range(times):
        log.info("step %d", n)
    gate.wait(20)


async def work_async(times: int) -> None:
    for n in range(times):
        log.info("step %d", n)
    while not gate.is_set():
        await asyncio.sleep(0.01)


def work_elsewhere(times: int) -> None:
    """As asyncio.to_thread does: a thread with the context of the run."""
    asyncio.run(asyncio.to_thread(work, times))


def warn_and_wait() -> None:
    log.warning("<b>halfway</b>")
    gate.wait(20)


def work_for_ever() -> None:
    work(1)
    threading.Event().wait()


def fail_each_time(n: int = 0) -> None:
    log.warning("attempt %d fails", current_job().attempt)
    raise OSError("disk full")


@job(cpu=True)
def fail_in_a_process(times: int) -> None:
    for n in range(times):
        log.warning("step %d", n)
    try:
        raise OSError("disk full")
    except OSError:
        log.exception("it fails")
        raise


def answer(how: str) -> None:
    log.warning("answers")
    raise Discard("no") if how == "discard" else Retry(after="1h")


def quiet(n: int) -> None:
    pass


class _Bad:
    def __str__(self) -> str:
        raise RuntimeError("cannot be written")


def log_badly() -> None:
    logging.raiseExceptions = False
    log.warning("%s", _Bad())
    log.warning("%d", "no number")


def log_for_ever() -> None:
    """To a logger whose handlers do nothing: those of `logging` take any error for one of theirs."""
    endless = logging.getLogger("shop.endless")
    endless.addHandler(logging.NullHandler())
    endless.propagate = False
    while True:
        endless.warning("on and on")


def log_beside() -> None:
    logging.getLogger("workkit").warning("of the listener")
    logging.getLogger("workkit.web").warning("of the web")
    thread = threading.Thread(target=lambda: log.warning("a thread without a context"))
    thread.start()
    thread.join()
    log.warning("mine")
    raise OSError("disk full")


def secret(*args: Any, **kwargs: Any) -> None:
    log.warning("login with token=hunter2 of %s", kwargs.get("password", ""))
    raise OSError("disk full")
