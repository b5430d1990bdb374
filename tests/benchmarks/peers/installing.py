"""Install the peers once, each into a folder of its own under a cache, and find them there again.

The cache is $WORKKIT_BENCH_CACHE, else ~/.cache/workkit-bench. A folder's name tells what is pinned in it, so that new
pins make a new one.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.peers.peer import Peer
from tests.processes import ROOT

APPS = Path(__file__).parent / "apps"
REQUIREMENTS = Path(__file__).parent.parent / "requirements.txt"
SECONDS = 600  # for one installation

VERSIONS = """
import json, sys
from importlib.metadata import version
print(json.dumps({name: version(name) for name in sys.argv[1:]}))
"""


class Absent(Exception):
    """A peer that cannot be had here; says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a peer's programs are. `modules` is the folder of node packages, `root` that of workkit's own code."""

    programs: Path
    modules: Path | None = None
    root: Path | None = None

    def command(self, words: Sequence[str]) -> list[str]:
        """Turn the first word into the path of that program."""
        found = shutil.which(words[0]) if words[0] == "node" else str(self.programs / words[0])
        if found is None:
            raise Absent(f"no {words[0]} on PATH")
        return [found, *words[1:]]


def cache() -> Path:
    """Return the folder that holds all of them."""
    given = os.environ.get("WORKKIT_BENCH_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "workkit-bench"


def place(peer: Peer) -> Place:
    """Return where the peer is, installed if it was not. Raises Absent."""
    if peer.name == "workkit":
        return checkout(ROOT)
    return _node_packages() if peer.is_node else virtualenv(peer.name)


def checkout(root: Path) -> Place:
    """Return the workkit of a folder, with the packages of this interpreter."""
    return Place(programs=Path(sys.executable).parent, root=root)


@contextlib.contextmanager
def commit(name: str) -> Iterator[Place]:
    """Give the workkit of a commit, in a folder that ends with the block. Raises Absent."""
    git = ["git", "-C", str(ROOT), "archive", "--format=tar", name, "workkit"]
    packed = subprocess.run(git, capture_output=True, check=False)
    if packed.returncode:
        raise Absent(f"git archive: {packed.stderr.decode(errors='replace').strip()}")
    with tempfile.TemporaryDirectory(prefix="workkit-bench-commit-") as folder:
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as tar:
            tar.extractall(folder, filter="data")
        yield checkout(Path(folder))


def virtualenv(name: str) -> Place:
    """Return the virtualenv of one section of requirements.txt, made if it is not there. Raises Absent."""
    pins = _pins(name)
    folder = cache() / f"{name}-{_digest(*pins, sys.version)}"
    if not _is_done(folder):
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        _install([*pip, *pins], folder)
    return Place(programs=folder / "bin")


def versions(peer: Peer, where: Place) -> dict[str, str]:
    """Return the versions of what the peer consists of."""
    if where.modules is not None:
        manifests = {name: where.modules / "node_modules" / name / "package.json" for name in peer.packages}
        return {name: json.loads(manifest.read_text())["version"] for name, manifest in manifests.items()}
    command = [*where.command(["python"]), "-c", VERSIONS, *peer.packages]
    found: dict[str, str] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    if peer.name == "workkit":
        from workkit import __version__

        return {"workkit": __version__, **found}
    return found


def _node_packages() -> Place:
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise Absent(f"no {program} on PATH; on Debian: apt-get install nodejs npm")
    manifest = (APPS / "package.json").read_text()
    folder = cache() / f"node-{_digest(manifest)}"
    if not _is_done(folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "package.json").write_text(manifest)
        _install(["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel=error"], folder)
    return Place(programs=folder, modules=folder)


def _install(command: list[str], folder: Path) -> None:
    print(f"installing into {folder}", file=sys.stderr)
    try:
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS)
    except subprocess.CalledProcessError as error:
        raise Absent(f"cannot be installed: {error.stderr.strip().splitlines()[-1:]}") from error
    except subprocess.TimeoutExpired as error:
        raise Absent(f"cannot be installed within {SECONDS} s") from error
    (folder / ".done").touch()


def _is_done(folder: Path) -> bool:
    return (folder / ".done").exists()


def _pins(name: str) -> list[str]:
    sections = re.split(r"^# \[(\w+)\]$", REQUIREMENTS.read_text(), flags=re.MULTILINE)
    found = dict(zip(sections[1::2], sections[2::2], strict=True))
    return found[name].split()


def _digest(*texts: str) -> str:
    return hashlib.sha1("\n".join(texts).encode()).hexdigest()[:10]
