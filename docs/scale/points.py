"""The measured points, as docs/scale/measured.json keeps them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Final

from docs.scale.model import Idle, Point

FILE: Final = Path(__file__).parent / "measured.json"


def write_points(points: Iterable[Point], idle: Iterable[Idle]) -> None:
    """Write them down, to four digits."""
    found = {"points": [asdict(one) for one in points], "idle": [asdict(one) for one in idle]}
    for row in (*found["points"], *found["idle"]):
        row |= {name: float(f"{value:.4g}") for name, value in row.items() if isinstance(value, float)}
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def read_points() -> tuple[list[Point], list[Idle]]:
    """Read them."""
    found = json.loads(FILE.read_text(encoding="utf-8"))
    return [Point(**row) for row in found["points"]], [Idle(**row) for row in found["idle"]]
