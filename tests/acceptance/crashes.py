"""The crash suite: one scene for each fault point and kind of fault, many at once, each judged by its history.

``python -m tests.acceptance.crashes --seeds 3`` plays all of them and prints a table; `test_crashes` plays each once.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from tests.acceptance import faulty
from tests.acceptance.faulty_points import KINDS, VARIANTS
from tests.acceptance.history import Verdict
from tests.acceptance.pool_scene import PoolScene
from tests.acceptance.scene import OF_PRODUCER, STOPPED, Fault, Scene
from tests.acceptance.stage import Stage
from tests.metronome import Metronome
from tests.servers import PRODUCTS, program

AT_ONCE = 20  # scenes; they mostly wait
ONCE = frozenset({
    "publish", "register", "leave", "reap", "resync", "given back", "lost", "decided Dead", "admitted", "tell", "log",
    "tally", "counted", "late", "group", "gather",
})  # fmt: skip
ONCE_IN_A_POOL = frozenset({"hold", "move", "periodic", "relock", "take_unique", "decided Again"})
SCENES: dict[str, type[Scene]] = {"native": Scene, "gocraft": PoolScene}
TRIES = 3  # of a scene whose fault does not happen
ADDITIONS = {"native": {"add": 7, "put": 16}, "gocraft": {}}  # of the cast, by the script that adds them
SELDOM = frozenset({"cancel", "put", "admit", "decided Again", "settle", "settle+claim"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One scene played: whether its fault happened at all, and the verdict on its history."""

    fault: Fault
    fired: bool
    verdict: Verdict
    seconds: float
    folder: Path

    @property
    def complaints(self) -> tuple[str, ...]:
        return (() if self.fired else (f"the fault {self.fault} never happened",)) + self.verdict.complaints


def faults(kinds: Iterable[str], *, seeds: Iterable[int], layout: str = "native") -> Iterator[Fault]:
    """Every point with every kind; which time it happens, and how, is drawn by the seed."""
    once = ONCE if layout == "native" else ONCE | ONCE_IN_A_POOL
    for seed in seeds:
        for kind in kinds:
            for place, point in enumerate(faulty.points(layout)):
                if kind == "stop" and _is_in(point, (*OF_PRODUCER, *STOPPED)):
                    continue  # nobody is there to be stopped, or it is stopped anyway
                chance = Random(f"{point} {kind} {seed}")
                most = 1 if _is_in(point, once) else 2 if _is_in(point, SELDOM) else 4
                most = ADDITIONS[layout].get(point.rpartition(" ")[0], most)
                least, most = (
                    (2, 4) if _is_in(point, ("turn",)) else (1, most)
                )  # the first turn of a pool takes nothing
                yield Fault(
                    point=point,
                    kind=kind,
                    nth=chance.randint(least, most),
                    variant=VARIANTS[(place + seed) % 2],
                    product=PRODUCTS[(place // 2 + seed) % 2],
                )


def once_cut(seed: int) -> Iterator[Fault]:
    """Every point with every kind, but one of the two that cut connections where a process can be told to stop."""
    every = list(faults(KINDS, seeds=[seed]))
    stoppable = {fault.point for fault in every if fault.kind == "stop"}
    for fault in every:
        is_stopped = fault.point in stoppable and Random(f"{fault.point} {seed} cut").random() < 0.5
        if fault.kind not in ("connection", "stop") or (fault.kind == "stop") is is_stopped:
            yield fault


def fewer(seed: int) -> Iterator[Fault]:
    """Every point of the gocraft layout with a killed process, and every answer to a request with one of the other
    kinds in turn; first those scenes that take longest.
    """
    every = sorted(
        faults(["process"], seeds=[seed], layout="gocraft"), key=lambda fault: not fault.is_at("reap", "lost")
    )
    for place, fault in enumerate(every):
        yield fault
        if not fault.point.endswith(" answered"):
            continue
        kinds = KINDS[1:-1] if _is_in(fault.point, (*OF_PRODUCER, *STOPPED)) else KINDS[1:]
        yield replace(fault, kind=kinds[(place + seed) % len(kinds)])


def play(chosen: Sequence[Fault], *, folder: Path, layout: str = "native", at_once: int = AT_ONCE) -> list[Result]:
    """Play a scene for each fault, many at once; the results in the same order."""
    with closing(Stage()) as stage, closing(Metronome()) as machine, ThreadPoolExecutor(at_once) as pool:

        def one(numbered: tuple[int, Fault]) -> Result:
            """Play a scene again if its fault did not come in time: it says nothing then."""
            number, fault = numbered
            for attempt in range(TRIES):
                result = once(fault, folder / f"{number:03}.{attempt}")
                if result.fired:
                    break
            return result

        def once(fault: Fault, place: Path) -> Result:
            place.mkdir()
            began = time.monotonic()
            how: dict[str, Any] = {
                "stage": stage,
                "machine": machine,
                "folder": place,
                "program": program(fault.product),
            }
            with closing(SCENES[layout](fault, **how)) as scene:
                scene.play()
                verdict = scene.verdict()
            seconds = time.monotonic() - began
            return Result(fault=fault, fired=scene.has_fired, verdict=verdict, seconds=seconds, folder=place)

        return list(pool.map(one, enumerate(chosen)))


def table(results: Sequence[Result]) -> str:
    """Points by kinds: scenes, faults that happened, runs run twice by cause, and what was wrong."""
    lines = [f"{'point':24} {'kind':11} scenes  fired  wrong  run twice"]
    groups: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        groups[result.fault.point, result.fault.kind].append(result)
    for (point, kind), group in sorted(groups.items()):
        fired, wrong = sum(r.fired for r in group), sum(bool(r.complaints) for r in group)
        lines.append(f"{point:24} {kind:11} {len(group):6} {fired:6} {wrong:6}  {_causes(group)}")
    fired, wrong = sum(r.fired for r in results), sum(bool(r.complaints) for r in results)
    lines.append(f"{'all':36} {len(results):6} {fired:6} {wrong:6}  {_causes(results)}")
    return "\n".join(lines)


def _causes(group: Iterable[Result]) -> str:
    causes: dict[str, int] = defaultdict(int)
    for result in group:
        for cause, number in result.verdict.twice.items():
            causes[cause] += number
    return ", ".join(f"{number} {cause}" for cause, number in sorted(causes.items()))


def _is_in(point: str, names: Iterable[str]) -> bool:
    return point in names or point.rpartition(" ")[0] in names


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.crashes")
    parser.add_argument("--seeds", type=int, default=3, help="scenes for each point and kind")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS)
    parser.add_argument("--layout", choices=SCENES, default="native")
    parser.add_argument("--only", default="", help="points that contain this text")
    given = parser.parse_args()
    every = faults(given.kinds, seeds=range(given.seeds), layout=given.layout)
    chosen = [fault for fault in every if given.only in fault.point]
    folder = Path(tempfile.mkdtemp(prefix="crashes-"))
    began = time.monotonic()
    results = play(chosen, folder=folder, layout=given.layout)
    print(table(results))
    wrong = [result for result in results if result.complaints]
    for result in wrong:
        print(f"\n{result.fault}  {result.folder}", *result.complaints, sep="\n  ")
    longest = max(results, key=lambda result: result.seconds)
    print(f"{time.monotonic() - began:.0f} s; the longest scene {longest.seconds:.1f} s, {longest.fault}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
