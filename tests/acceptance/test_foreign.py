"""Foreign jobs never leave S:next for good, whatever becomes of the listeners that look at them.

`python -m tests.acceptance.foreign` plays more rounds, among more jobs, on each kind of server.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.acceptance.foreign import MARGIN, TIMEOUT, Faced, play, staged
from tests.metronome import Metronome
from tests.servers import PRODUCTS, program

CASTS = {"redis": ("kill", "stop", "stall"), "embedded": ("stall", "kill")}


def test_foreign_jobs_are_back_in_the_queue_soon_after_a_listener_dies_stalls_or_stops(
    tmp_path: Path, machine: Metronome
) -> None:
    for product in PRODUCTS:
        program(product)  # skips here, not in a thread

    def one(place: str) -> list[Faced]:
        folder = tmp_path / place
        folder.mkdir()
        with staged(place, folder=folder) as scene:
            return list(play(scene, jobs=1000, rounds=len(CASTS[place]), kinds=CASTS[place]))

    with ThreadPoolExecutor(len(CASTS)) as pool:
        faced = [each for found in pool.map(one, CASTS) for each in found]
    assert [each.kind for each in faced] == [kind for kinds in CASTS.values() for kind in kinds]
    assert all(each.held and each.took <= TIMEOUT + MARGIN + machine.slack for each in faced)
