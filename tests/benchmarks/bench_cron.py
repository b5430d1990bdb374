"""Next times a second: workkit against croniter and, if it is installed, cronsim.

    python -m tests.benchmarks.bench_cron

All run the same strings from the same instants in one process, warmed, in turns; the median of five rounds is
printed. Every call starts from another instant, so that nothing can be answered from memory, and whatever all of them
found is compared first. Reading the text is measured apart. Not run by pytest.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib import import_module
from importlib.util import find_spec
from statistics import median
from time import perf_counter
from typing import Any

from croniter import croniter

from workkit import triggers
from workkit.triggers.crons.cron import parse_cron

CronSim: Any = import_module("cronsim").CronSim if find_spec("cronsim") else None

ROUNDS, CALLS = 5, 400
START = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
# The step is no multiple of anything in the strings, and crosses many months.
INSTANTS = [START + timedelta(seconds=7_919 * 61 * n) for n in range(CALLS)]

STRINGS = {
    "every minute": "* * * * *",
    "every 5 minutes": "*/5 * * * *",
    "weekdays at 9": "0 9 * * 1-5",
    "office hours": "*/15 9-17 * * 1-5",
    "1st of the month": "0 0 1 * *",
    "13th or friday": "30 4 13 * 5",
    "christmas": "0 8 25 12 *",
    "29 february": "0 0 29 2 *",
}
OURS_ALONE = {
    "every other sunday": "* * * 0/2 17 0 0",
    "readme example": "* 3 * 0/2,3 9-17 * */5",
    "every 90 minutes": "* * * * * * 0/90",
    "last friday": "* * * 5L 9 0 0",
}

Next = Callable[[datetime], datetime | None]


def ours(text: str) -> Next:
    """Next times by workkit, as its users call it."""
    return triggers.cron(text, "auto").next_after


def theirs(text: str) -> Next:
    """Next times by croniter, on one object that is moved, which is its fastest way."""
    found = croniter(text, START)
    return lambda t: found.get_next(datetime, start_time=t)


def simulated(text: str) -> Next:
    """Next times by cronsim, which has to be made anew for each instant."""
    return lambda t: next(CronSim(text, t))


def microseconds(call: Next) -> float:
    """Time one call, over all instants."""
    began = perf_counter()
    for t in INSTANTS:
        call(t)
    return (perf_counter() - began) / CALLS * 1e6


def compare(text: str, rivals: dict[str, Callable[[str], Next]]) -> dict[str, float]:
    """Warm all up by comparing what they find, then give each one's median."""
    calls = {name: make(text) for name, make in rivals.items()}
    for t in INSTANTS[:50]:
        found = {name: call(t) for name, call in calls.items()}
        if len(set(found.values())) > 1:
            sys.exit(f"{text!r} after {t}: {found}")
    rounds = [{name: microseconds(call) for name, call in calls.items()} for _ in range(ROUNDS)]
    return {name: median(one[name] for one in rounds) for name in calls}


def reading(make: Callable[[], object]) -> float:
    """Time reading one text, in microseconds."""
    rounds = []
    for _ in range(ROUNDS):
        began = perf_counter()
        for _ in range(200):
            make()
        rounds.append((perf_counter() - began) / 200 * 1e6)
    return median(rounds)


def unread(text: str) -> Callable[[], object]:
    """Read a seven-field text as if for the first time."""
    from workkit.triggers.crons.cron import _parse

    def read() -> object:
        _parse.cache_clear()
        return parse_cron(text)

    return read


def main() -> None:
    """Print microseconds a call, and how many times as long the others take."""
    rivals: dict[str, Callable[[str], Next]] = {"workkit": ours, "croniter": theirs}
    if CronSim is not None:
        rivals["cronsim"] = simulated
    print(f"Python {sys.version.split()[0]}; microseconds a call, median of {ROUNDS} rounds of {CALLS}")
    print(f"{'':20}" + "".join(f"{name:>12}" for name in rivals) + "   ratio")
    for name, text in STRINGS.items():
        found = compare(text, rivals)
        ratios = ", ".join(f"{found[rival] / found['workkit']:.0f}x" for rival in rivals if rival != "workkit")
        print(f"{name:20}" + "".join(f"{found[rival]:12.2f}" for rival in rivals) + f"   {ratios}")
    for name, text in OURS_ALONE.items():
        print(f"{name:20}{compare(text, {'workkit': ours})['workkit']:12.2f}")
    read, oracle = reading(unread("* * * 1-5 9-17 */15 0")), reading(lambda: croniter("*/15 9-17 * * 1-5"))
    print(f"{'reading a text':20}{read:12.2f}{oracle:12.2f}")


if __name__ == "__main__":
    main()
