"""Which peers exist: one folder a language, each with a `peer.json` that says how its peers are started.

A new peer is a new folder; nothing here names one.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PLACES = {  # what may stand in a command of peer.json
    "$PYTHON": sys.executable,
    "$DATA_JSON": os.environ.get("DATA_JSON_JAR", "/usr/share/java/data.json.jar"),
}
TRAITS = {  # what a peer may declare in its first line; a scenario asks for traits, and never for a name
    "evaluates": "evaluates the text of a job, as Clojure does; without it a peer looks names up",
    "takes-blindly": "takes an item before it looks whether it can run the job, and gives it back",
    "in-steps": "takes an item in one step, and puts its next item back in another",
    "puts-off": "gives a job that it cannot run back once, up to 2 s later",
    "queues": "adds a job of its own where an equal one waits: its payload has a nonce",
    "retries": "tries a job again that failed, as its function says",
    "loses": "loses what it cannot run or read; breaks a MUST",
    "rewrites": "puts an item back under another text; breaks a MUST",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One peer that can be started: its name, the folder of its language, and what it needs on this machine."""

    name: str
    folder: Path
    command: tuple[str, ...]
    programs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    debian: str = ""

    @property
    def language(self) -> str:
        return self.folder.name

    def started_on(self, port: int) -> list[str]:
        """The command that starts it in its folder."""
        return [*self.command, str(port)]

    def absence(self) -> str | None:
        """What it lacks on this machine, or None."""
        lacking = [name for name in self.programs if not shutil.which(name)]
        lacking += [name for name in self.files if not Path(name).exists()]
        return f"no {' and no '.join(lacking)}; on Debian: apt-get install {self.debian}" if lacking else None


def read(folder: Path) -> dict[str, Kind]:
    """The peers of a folder, by name. Raises KeyError or TypeError for a `peer.json` that says something else."""
    said = json.loads((folder / "peer.json").read_text())
    commands, debian = said.pop("peers"), said.pop("debian", "")
    needs = {name: _filled(texts) for name, texts in said.items()}
    return {
        name: Kind(name=name, folder=folder.resolve(), command=_filled(command), debian=debian, **needs)
        for name, command in commands.items()
    }


def _filled(texts: list[str]) -> tuple[str, ...]:
    for place, value in PLACES.items():
        texts = [text.replace(place, value) for text in texts]
    return tuple(texts)


KINDS = {name: kind for file in sorted(HERE.glob("*/peer.json")) for name, kind in read(file.parent).items()}
