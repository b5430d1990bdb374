"""What a program runs around its jobs, and on their way in.

python examples/middleware.py
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from workkit import Discard, Job, current_job, schedule

s = schedule.create("middleware", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")


@s.middleware
def timed() -> Iterator[None]:
    """Measure every run, and hand it something."""
    began = time.perf_counter()
    current_job().context["user"] = "tracy"
    try:
        yield
    except KeyError as error:
        raise Discard(f"nobody of that name: {error}") from error
    finally:
        print(f"a run took {'a moment' if time.perf_counter() - began < 1 else 'long'}", flush=True)


@s.middleware(on="add")
def trimmed(job: Job) -> Iterator[Job]:
    """Change what is added: no blanks around texts."""
    yield replace(job, args=tuple(arg.strip() for arg in job.args))


@s.job
def greet(name: str) -> None:
    """Use what the middleware has left."""
    print(f"{current_job().context['user']} greets {name}", flush=True)
    if name == "nobody":
        raise KeyError(name)


if __name__ == "__main__":
    greet.send("  ada ")
    greet.send("nobody")
    tally = schedule.drain(s, folder=Path(__file__).parent)
    print(f"ran {tally.ran}, failed {tally.failed}")
