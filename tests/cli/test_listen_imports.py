"""How `listen` refuses what it cannot import: a sentence and status 2, before it talks to a server."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.jobs.test_lookups import HOSTILE
from tests.processes import ROOT, Processes
from tests.servers import Server
from workkit import schedule

NOWHERE = "redis://127.0.0.1:1"


@pytest.mark.parametrize("kind", [kind for kind in HOSTILE if kind != "interrupts"])
def test_a_module_that_fails_or_exits_is_refused(run: Run, folder: Path, kind: str) -> None:
    (folder / f"listen_{kind}.py").write_text(HOSTILE[kind][0])
    ran = run("listen", "t", "--redis", NOWHERE, "--import", f"listen_{kind}")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"error: --import listen_{kind}: importing it failed: ")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        ("../x", "--import ../x is relative."),
        ("", '--import "" is not the name of a module.'),
        (".x", "--import .x is relative."),
        ("a/b.py", "--import a/b.py names a file. Name the module, as Python imports it: a.b."),
    ],
)
def test_what_names_no_module_is_refused(run: Run, module: str, sentence: str) -> None:
    ran = run("listen", "t", "--redis", NOWHERE, "--import", module)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {sentence}")
    assert ran.err.count("\n") == 1


def test_an_empty_variable_names_no_module(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKKIT_IMPORT", ",")
    assert run("listen", "t", "--redis", NOWHERE).status == 69


@pytest.mark.parametrize(
    ("module", "sentence"),
    [("exits", r"^error: --import exits: importing it failed: SystemExit: 0 \(exits.py:1\)"), ("../x", "is relative")],
)
def test_several_processes_refuse_it_once(
    processes: Processes, server: Server, name: str, folder: Path, module: str, sentence: str
) -> None:
    (folder / "exits.py").write_text("raise SystemExit(0)\n")
    listener = processes.workkit("listen", name, "--redis", server.url, "--processes", "2", "--import", module)
    assert listener.wait() == 2
    listener.wait_for(sentence)
    assert len([line for line in listener.lines if line.startswith("error")]) == 1, listener.transcript()


def test_a_module_in_src_is_refused_with_what_helps_and_that_helps(
    processes: Processes, server: Server, name: str, folder: Path
) -> None:
    (folder / "src" / "shop").mkdir(parents=True)
    (folder / "src" / "shop" / "jobs.py").write_text("def hi(): print('hi', flush=True)\n")
    refused = processes.workkit("listen", name, "--redis", server.url, "--import", "shop.jobs")
    assert refused.wait() == 2
    refused.wait_for(r"no such module\..* It is under src/: start with PYTHONPATH=src\.$")
    schedule.add_now(schedule.create(name, redis=server.url), "shop.jobs:hi")
    listener = processes.workkit("listen", name, "--redis", server.url)
    listener.wait_for(r"no module shop\.jobs under \./, but it is under src/: start with PYTHONPATH=src\.")
    env = {"PYTHONPATH": f"{ROOT}{os.pathsep}src"}
    processes.workkit("listen", name, "--redis", server.url, env=env).wait_for("^hi$")
