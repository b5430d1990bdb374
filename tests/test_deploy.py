"""examples/deploy: each file is read by what reads it, and its command lines, probes and settings are ours."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import click
import pytest

from tests.optional import needed
from tests.processes import ROOT, Processes
from tests.servers import Server, free_port
from workkit import schedule
from workkit.cli.tree import tree

DEPLOY = ROOT / "examples" / "deploy"
COMPOSE, UNIT, DOCKERFILE = DEPLOY / "compose.yaml", DEPLOY / "workkit-listen@.service", DEPLOY / "Dockerfile"
KUBERNETES = [DEPLOY / "kubernetes" / name for name in ("listener.yaml", "web.yaml")]
GRACE = 10  # seconds after the deadline in which a listener may end


def documents(file: Path) -> list[Any]:
    return list(needed("yaml").safe_load_all(file.read_text()))


def services() -> dict[str, Any]:
    found: dict[str, Any] = documents(COMPOSE)[0]["services"]
    return {name: service for name, service in found.items() if "build" in service}


def containers() -> list[dict[str, Any]]:
    deployments = [one for file in KUBERNETES for one in documents(file) if one["kind"] == "Deployment"]
    return [container for one in deployments for container in one["spec"]["template"]["spec"]["containers"]]


def unit() -> ConfigParser:
    parser = ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(UNIT)
    return parser


def steps() -> list[tuple[str, str]]:
    """Read the instructions of the Dockerfile."""
    lines = [line for line in DOCKERFILE.read_text().splitlines() if line and not line.startswith("#")]
    text = "\n".join(lines).replace("\\\n", " ")
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in text.splitlines())]


def step(word: str) -> str:
    return next(rest for one, rest in reversed(steps()) if one == word)


def command_lines() -> Iterator[list[str]]:
    yield json.loads(step("CMD"))
    yield from (service["command"] for service in services().values())
    yield from (container["args"] for container in containers())
    yield shlex.split(unit()["Service"]["ExecStart"].replace("%i", "app-tasks"))[1:]


def test_every_command_line_is_accepted() -> None:
    lines = list(command_lines())
    assert len(lines) == 6
    for words in lines:
        command = tree.get_command(click.Context(tree), words[0])
        assert command is not None
        command.make_context(words[0], list(words[1:]))  # refuses what is no option, and what is no value of one


def test_every_probe_asks_for_a_page_that_is_there(server: Server, name: str, processes: Processes) -> None:
    s = schedule.create(name, redis=server.url)
    asked = {container["name"]: {container[f"{kind}Probe"]["httpGet"]["path"]
             for kind in ("startup", "liveness", "readiness")} for container in containers()}  # fmt: skip
    for text in (DOCKERFILE.read_text(), COMPOSE.read_text()):
        for port, path in re.findall(r"http://127\.0\.0\.1:(\d+)(/[^'\"]*)", text):
            asked["web" if port == "5040" else "listener"].add(path)
    assert asked == {"listener": {"/livez", "/readyz"}, "web": {"/-/health", "/-/health?ready=1"}}
    ports = {"listener": free_port(), "web": free_port()}
    with schedule.listener(s, folder=None, health_port=ports["listener"]):
        web = processes.workkit("web", name, "--redis", server.url, "--bind", f"127.0.0.1:{ports['web']}")
        web.wait_for("listening")
        for which, paths in asked.items():
            for path in paths:
                with urllib.request.urlopen(f"http://127.0.0.1:{ports[which]}{path}", timeout=30) as answer:
                    assert answer.status == 200


def test_every_setting_exists() -> None:
    known = set(re.findall(r"WORKKIT_[A-Z_]+", "".join(file.read_text() for file in (ROOT / "workkit").rglob("*.py"))))
    used = {
        word
        for file in DEPLOY.rglob("*")
        if file.is_file()
        for word in re.findall(r"WORKKIT_[A-Z]\w+", file.read_text())
    }
    assert used
    assert used <= known


def test_a_stop_may_take_as_long_as_its_deadline() -> None:
    service = unit()["Service"]
    (listener,) = (d for d in documents(KUBERNETES[0]) if d["kind"] == "Deployment")
    may_take = [
        int(service["TimeoutStopSec"]),
        int(services()["listener"]["stop_grace_period"].removesuffix("s")),
        listener["spec"]["template"]["spec"]["terminationGracePeriodSeconds"],
    ]
    for words, seconds in zip([service["ExecStart"].split(), services()["listener"]["command"],
                               listener["spec"]["template"]["spec"]["containers"][0]["args"]],
                              may_take, strict=True):  # fmt: skip
        deadline = int(words[words.index("--deadline") + 1].removesuffix("s"))
        assert seconds >= deadline + GRACE


def test_selectors_name_what_is_deployed() -> None:
    for file in KUBERNETES:
        deployment, other = documents(file)
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        assert deployment["spec"]["selector"]["matchLabels"] == labels
        assert other["kind"] in ("PodDisruptionBudget", "Service")
        selector = other["spec"]["selector"]
        assert selector.get("matchLabels", selector) == labels


def test_nothing_runs_as_root() -> None:
    assert int(step("USER").partition(":")[0]) > 0
    assert unit()["Service"]["DynamicUser"] == "yes"
    for file in KUBERNETES:
        assert documents(file)[0]["spec"]["template"]["spec"]["securityContext"]["runAsNonRoot"] is True


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    assert unit()["Service"]["Type"] == "notify"
    copy = tmp_path / "workkit-listen@app.service"
    copy.write_text(UNIT.read_text().replace("/srv/app/.venv/bin/workkit", sys.executable).replace("/srv/app", "/tmp"))
    ran = subprocess.run([program, "verify", str(copy)], capture_output=True, text=True, check=False)
    ours = [line for line in ran.stderr.splitlines() if copy.name in line]
    assert ours == []


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Carry out the steps of the Dockerfile one by one in a folder; return it as the root, and the environment."""
    root, context = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("context")
    shutil.copytree(DEPLOY, context, dirs_exist_ok=True)
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(context / "wheels"), str(ROOT)], check=True
    )
    env = {name: os.environ[name] for name in os.environ if not name.startswith(("WORKKIT_", "PYTHON"))}
    for word, rest in steps():
        text = re.sub(r"(?<![\w.])/(venv|wheels|srv)\b", rf"{root}/\1", rest)
        if word == "RUN":
            text = re.sub(r"^python ", f"{shlex.quote(sys.executable)} ", text)
            subprocess.run(["/bin/sh", "-c", text], check=True, cwd=root, env=env)
        elif word == "COPY" and "--from" not in rest:
            source, target = text.split()
            shutil.copytree(context / source, target)
        elif word == "ENV":
            for one in text.split():
                name, _, value = one.partition("=")
                env[name] = value.replace("$PATH", env["PATH"])
    return root, env


def test_the_steps_of_the_dockerfile_give_a_listener_that_lives_and_stops(
    built: tuple[Path, dict[str, str]], server: Server, name: str, processes: Processes
) -> None:
    root, env = built
    port = free_port()
    env = {**env, "WORKKIT_REDIS_URL": server.url, "WORKKIT_HEALTH_PORT": f"127.0.0.1:{port}", "PYTHONPATH": ""}
    words = [*json.loads(step("ENTRYPOINT")), *json.loads(step("CMD"))]
    words = [str(root / "venv" / "bin" / words[0]), *(name if word == "app-tasks" else word for word in words[1:])]
    folder = root / step("WORKDIR").removeprefix("/")
    listener = processes.run("/usr/bin/env", "-u", "PYTHONPATH", *words, cwd=folder, env=env)
    listener.wait_for('"listening"', timeout=60)
    schedule.add_now(schedule.create(name, redis=server.url), "app.jobs:greet", args=["ada"])
    listener.wait_for("hello, ada")
    check = json.loads(step("HEALTHCHECK").partition("CMD ")[2].replace("8080", str(port)))
    subprocess.run([str(root / "venv" / "bin" / check[0]), *check[1:]], check=True)
    listener.send(signal.SIGTERM)
    assert listener.wait() == 0
