"""The id of the request that added a job stands in every log line of its run.

python examples/request_id.py
"""

import logging
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path

from workkit import Job, current_job, schedule

s = schedule.create("request-id", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")
request_id = ContextVar("request_id", default="-")
log = logging.getLogger("shop")


@s.middleware(on="add")
def carry(job: Job) -> Iterator[Job]:
    """Let each job take along the id of the request that adds it."""
    yield replace(job, kwargs={**(job.kwargs or {}), "request": request_id.get()})


@s.middleware
def bind() -> Iterator[None]:
    """Bind it again, around the run."""
    token = request_id.set((current_job().kwargs or {}).get("request", "-"))
    try:
        yield
    finally:
        request_id.reset(token)


def stamp(record: logging.LogRecord) -> bool:
    """Put it into a log record."""
    record.request = request_id.get()
    return True


@s.job
def charge(order: int, *, request: str = "-") -> None:
    """Log, without a thought of requests."""
    log.info("charged order %s", order)


@s.job
async def thank(order: int, *, request: str = "-") -> None:
    """The same, on the listener's event loop."""
    log.info("thanked for order %s", order)


def main() -> None:
    """Add two jobs in one request, and run them."""
    handler = logging.StreamHandler(sys.stdout)
    handler.addFilter(stamp)
    logging.basicConfig(format="%(request)s: %(message)s", handlers=[handler], level=logging.INFO)
    token = request_id.set("request-7")
    charge.send(42)
    thank.send(42)
    request_id.reset(token)
    schedule.drain(s, folder=Path(__file__).parent)
    log.info("no request here")


if __name__ == "__main__":
    main()
