"""Bend phrases and cron strings at random, by the million: no error but our own, and how long the slowest took.

    python -m tests.benchmarks.fuzz [INPUTS] [SEED]

Half are phrases, half cron strings. Times are of the process; a slow one is repeated, and the least counts, as a
garbage collection or an interrupt would be counted otherwise. Prints the slowest per 100 characters (a shorter text
counts as 100).
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import partial
from time import process_time

from tests.triggers.test_phrase_fuzz import NOW, ZONES, bent
from workkit.errors import TriggerError
from workkit.triggers import cron, parse
from workkit.triggers.dialect import Dialect

CHARACTERS = "0123456789*/-,#LWMONJAN? \t\n&=@é\x00"
DIALECTS: tuple[Dialect, ...] = ("auto", "published", "standard", "cuckoo")
REPEATS = 4
LIMIT = 0.001  # seconds per 100 characters


def cron_text(draw: random.Random) -> str:
    """Draw a string that is nearly a cron string."""
    item = ("*", "*/{}", "{}", "{}-{}", "{}/{}", "{}-{}/{}", "{},{}", "{}#{}", "{}L", "L", "?", "MON-FRI", "mar")
    fields = [draw.choice(item) for _ in range(draw.choice((5, 6, 7, 7, 7, 7)))]
    texts = [f.format(*(draw.choice((0, 1, 2, 5, 29, 31, 59, 60, 2027, 10**9)) for _ in range(3))) for f in fields]
    text = " ".join(texts)
    if draw.random() < 0.3:
        at = draw.randint(0, len(text))
        text = text[:at] + draw.choice(CHARACTERS) * draw.choice((1, 1, 1, 300)) + text[at + 1 :]
    return text


def main(inputs: int, seed: int) -> None:
    """Run and print."""
    draw = random.Random(seed)
    slow: list[tuple[float, str]] = []
    understood = 0
    for n in range(inputs):
        text = bent(draw) if n % 2 else cron_text(draw)
        call = (
            partial(parse, text, now=NOW, tz=draw.choice(ZONES))
            if n % 2
            else partial(cron, text, draw.choice(DIALECTS))
        )
        took, good = timed(call)
        understood += good
        cost = took / max(len(text) / 100, 1)
        if cost > LIMIT:
            cost = min(cost, *(timed(call)[0] / max(len(text) / 100, 1) for _ in range(REPEATS)))
            slow.append((cost, text))
    over = sorted((s for s in slow if s[0] > LIMIT), reverse=True)
    print(f"{inputs:,} inputs, {understood:,} understood, none raised anything but our own errors")
    print(f"{len(over)} took more than 1 ms per 100 characters each of {REPEATS + 1} times; slowest: {over[:5]}")


def timed(call: Callable[[], object]) -> tuple[float, bool]:
    """Seconds of one call, and whether it was understood. Anything but our own errors passes through."""
    begun = process_time()
    try:
        call()
    except TriggerError:
        return process_time() - begun, False
    return process_time() - begun, True


if __name__ == "__main__":
    arguments = [int(argument) for argument in sys.argv[1:]]
    main(*(arguments + [1_000_000, 1][len(arguments) :]))
