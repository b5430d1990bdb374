"""The measured points, as docs/scale/measured.json keeps them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from docs.scale.model import Idle, Point

NUMBERS: Final = re.compile(r"\[([-+.\de,\s]+)\]")  # a list of numbers has one line
FILE: Final = Path(__file__).parent / "measured.json"


def write_points(points: Iterable[Point], idle: Iterable[Idle]) -> None:
    """Write them down."""
    write_section("points", [asdict(one) for one in points])
    write_section("idle", [asdict(one) for one in idle])


def read_points() -> tuple[list[Point], list[Idle]]:
    """Read them."""
    return [Point(**row) for row in read_section("points")], [Idle(**row) for row in read_section("idle")]


def write_section(name: str, found: Any) -> None:
    """Write the figures of one benchmark, to four digits; keep those of others."""
    text = json.dumps(_all() | {name: _short(found)}, indent=1, ensure_ascii=False)
    FILE.write_text(NUMBERS.sub(lambda list_: f"[{' '.join(list_[1].split())}]", text) + "\n", encoding="utf-8")


def read_section(name: str) -> Any:
    """Read what one benchmark has found; None where it did not run yet."""
    return _all().get(name)


def _all() -> dict[str, Any]:
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def _short(found: Any) -> Any:
    match found:
        case float():
            return float(f"{found:.4g}")
        case dict():
            return {name: _short(value) for name, value in found.items()}
        case list():
            return [_short(value) for value in found]
    return found
