"""`python -m tests.model [--all | --bugs | PLAN [BUG]]`: counts, and the trace of what was found."""

from __future__ import annotations

import sys
import time

from tests.model.model import Model
from tests.model.plans import BUGS, LARGE, SMALL
from tests.model.protocol import Plan
from tests.model.search import TooMany, explore


def main(argv: list[str]) -> int:
    """Explore, print, and return how many plans broke, or how many seeded faults were missed."""
    plans = SMALL | LARGE
    if argv == ["--bugs"]:
        return sum(not told(plans[name], bug, name) for bug, name, _ in BUGS)
    if argv and argv[0] != "--all":
        if argv[0] not in plans:
            sys.exit(f"no plan {argv[0]!r}. Plans: {', '.join(plans)}")
        return told(plans[argv[0]], argv[1] if len(argv) > 1 else "", argv[0])
    return sum(told(plan, "", name) for name, plan in (plans if argv else SMALL).items())


def told(plan: Plan, bug: str, name: str) -> bool:
    """Explore one plan and print what came of it: whether something was found."""
    began = time.process_time()
    try:
        found = explore(Model(plan._replace(bugs=frozenset([bug] if bug else []))))
    except TooMany as error:
        print(f"{bug + ' in ' if bug else ''}{name}: {error}", flush=True)
        return False
    took = time.process_time() - began
    verdict = found.violation or f"holds, {found.good} good ends"
    print(f"{bug + ' in ' if bug else ''}{name:34} {found.states:>9} states {took:7.1f} s  {verdict}", flush=True)
    for n, step in enumerate(found.trace, 1):
        print(f"    {n:2} {step}")
    return found.violation is not None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
