# mypy: ignore-errors
"""Add jobs when told to, by the app of one peer: python producing.py APP. A line of JSON in, a line of JSON out.

An app has `add(numbers)`, its fastest way to add many; `one(n)`; `later(n, due)`, due in seconds since 1970, where it
can; and `tell()`. Each may be a coroutine. `STEPS`, where an app has it, names its single steps, functions of a number;
an app without it has one, `one`.
"""

import asyncio
import inspect
import json
import sys
from importlib import import_module
from random import uniform
from time import perf_counter, process_time, sleep, time

app = import_module(sys.argv[1])
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)


def act(function, *arguments):
    """Call it, and if it is a coroutine run it."""
    given = function(*arguments)
    return loop.run_until_complete(given) if inspect.isawaitable(given) else given


def add(jobs, warm):
    """Add numbers 0 to jobs; say how many seconds, and CPU seconds, those after `warm` took."""
    act(app.add, range(warm))
    began, cpu = perf_counter(), process_time()
    act(app.add, range(warm, jobs))
    return perf_counter() - began, process_time() - cpu


def each(kind, first, jobs):
    """Do a single step so often; say how many seconds, and CPU seconds, it took."""
    step = app.one if kind == "one" else app.STEPS[kind]
    return act(timed, step, range(first, first + jobs))


async def timed(step, numbers):
    """Do it in one coroutine, so that a loop is not started for each."""
    began, cpu = perf_counter(), process_time()
    if inspect.iscoroutinefunction(step):
        for n in numbers:
            await step(n)
    else:
        for n in numbers:
            step(n)
    return perf_counter() - began, process_time() - cpu


def now(first, jobs, gap):
    """Add one by one, 2/3 to 4/3 of `gap` seconds apart, at random; say when each addition began."""
    began = []
    for n in range(first, first + jobs):
        began.append((n, time()))
        act(app.one, n)
        sleep(max(0.0, began[-1][1] + gap * uniform(2 / 3, 4 / 3) - time()))
    return began


def later(first, dues):
    """Add one for each due time."""
    for n, due in enumerate(dues, first):
        act(app.later, n, due)


def tell():
    """Have the worker tell what ran."""
    act(app.tell)


VERBS = {verb.__name__: verb for verb in (add, each, now, later, tell)}

if hasattr(app, "open"):
    act(app.open)
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps(VERBS[asked.pop("do")](**asked)), flush=True)
