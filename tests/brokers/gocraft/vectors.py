"""The recordings of gocraft/work in spec/vectors/gocraft/, and what the tests of this layout pick from them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[3] / "spec" / "vectors" / "gocraft"
SORTED_SETS = ("scheduled", "retry", "dead")


def load(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def recordings(name: str) -> list[Mapping[str, Any]]:
    found = load(name)
    return list(found.get("recordings", [found]))


def steps(name: str) -> Iterator[Mapping[str, Any]]:
    for recording in recordings(name):
        yield from recording["steps"]


def job_texts(name: str) -> list[str]:
    """Every job text that Go wrote into a list or sorted set of one recording, or sent there."""
    found: dict[str, None] = {}
    for step in steps(name):
        for entry in step.get("dump", {}).values():
            if entry["type"] in ("list", "zset"):
                for value in entry["value"]:
                    found[value if entry["type"] == "list" else value[0]] = None
        for command in step.get("commands", ()):
            if command[0] in ("LPUSH", "ZADD"):
                found[command[-1]] = None
    return list(found)
