"""Peers in other languages beside Python listeners: the scenarios of interop/ that take little time, with every pair.

All of them, several times over, and many jobs over a mixed fleet: interop/README.md.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests import rabbit
from tests.brokers.hutch.peer import ruby_peer
from tests.processes import Processes

RUN = Path(__file__).parent.parent / "interop" / "run.py"
QUICK = ["add-now", "clojure-form", "duplicate", "foreign-bytes", "names", "recurring-shared", "unicode-numbers"]
QUICK_ON_RABBITMQ = "array,capitals-event,namespaces,no-properties,our-retry,ours-direct,theirs-direct,wildcard-event"
MUST = {  # spec/conformance.md, for a consumer without any trait beside a producer in Python
    "add-now", "at", "in", "drain", "recurring", "recurring-shared", "duplicate", "unicode-numbers", "foreign-bytes",
    "put-back", "unreadable", "names", "names-quoted", "failing", "retry", "slow-recurring", "stop", "not-mine",
    "not-mine-recurring", "not-mine-two", "left-alone", "crowd",
}  # fmt: skip
REFUSES_ALL = """
import json, sys
print(json.dumps({"peer": "cobol", "orders": ["published"], "points": ["after-pop"], "traits": TRAITS}), flush=True)
for line in sys.stdin:
    print(json.dumps({"n": json.loads(line)["n"], "error": "not yet"}), flush=True)
"""


def cobol(folder: Path, traits: str) -> Path:
    """A peer in a language that no scenario names. It refuses whatever it is told."""
    (folder / "cobol").mkdir()
    (folder / "cobol" / "peer.py").write_text(REFUSES_ALL.replace("TRAITS", traits))
    (folder / "cobol" / "peer.json").write_text('{"peers": {"cobol": ["$PYTHON", "peer.py"]}}')
    return folder / "cobol"


def test_each_peer_runs_what_each_other_adds(processes: Processes) -> None:
    """Where Clojure, Node or Ruby is not installed, the rest is played, and this is skipped with what is missing; in
    CI it fails.
    """
    playing = processes.run(sys.executable, str(RUN), "--scenarios", ",".join(QUICK))
    status = playing.wait(timeout=240)
    said = playing.transcript()
    absent = re.findall(r"^absent: .*", said, re.MULTILINE)
    if absent and not os.environ.get("CI"):
        assert status == 0, said
        pytest.skip("; ".join(absent))
    assert status == 0, said
    assert re.search(r"^all green$", said, re.MULTILINE), said
    matrix = re.findall(r"^  (\w+) .*?(\d+)/\2 ok", said, re.MULTILINE)
    assert {producer for producer, _ in matrix} == {"python", "published", "later", "node", "ruby"}, said


@pytest.mark.skipif(not (os.environ.get("CI") or shutil.which("node")), reason="no node")
def test_what_a_killed_peer_leaves_is_found_and_repaired(processes: Processes) -> None:
    crashes = "crash-after-hsetnx,crash-after-pop,crash-after-run"
    playing = processes.run(sys.executable, str(RUN), "--peers", "python,node", "--scenarios", crashes)
    assert playing.wait(timeout=120) == 0, playing.transcript()
    playing.wait_for(r"run 1 of 1, 6 plays")


@pytest.fixture
def host(rabbitmq: rabbit.Shared, name: str) -> Iterator[Mapping[str, str]]:
    """An environment that names a virtual host of its own on the broker of the run, so that nothing is left there. A
    broker without the API cannot have one: then the environment names none, and one is started.
    """
    ruby_peer.needed()
    if not rabbitmq.management:
        yield {}
        return
    place = urlsplit(rabbitmq.management)

    def ask(verb: str, path: str, body: str = "{}") -> None:
        connection = HTTPConnection(place.hostname or "", place.port)
        user = base64.b64encode(f"{place.username}:{place.password}".encode()).decode()
        headers = {"Authorization": f"Basic {user}", "Content-Type": "application/json"}
        with closing(connection):
            connection.request(verb, f"/api/{path}", body=body, headers=headers)
            assert connection.getresponse().status < 300, path

    ask("PUT", f"vhosts/{name}")
    ask("PUT", f"permissions/{name}/{place.username}", '{"configure": ".*", "write": ".*", "read": ".*"}')
    yield {"WORKKIT_TEST_AMQP": f"{rabbitmq.url}{name}"}
    ask("DELETE", f"vhosts/{name}")


def test_the_ruby_peer_and_workkit_share_exchanges(processes: Processes, host: Mapping[str, str]) -> None:
    playing = processes.run(sys.executable, str(RUN), "--layout", "hutch", "--scenarios", QUICK_ON_RABBITMQ, env=host)
    assert playing.wait(timeout=120) == 0, playing.transcript()
    said = playing.transcript()
    matrix = re.findall(r"^  (\w+) +(\d+)/\2 ok +(\d+)/\3 ok", said, re.MULTILINE)
    assert matrix == [("hutch", "5", "5"), ("event", "7", "8")], said


def test_a_scenario_that_does_not_hold_fails(processes: Processes, tmp_path: Path, host: Mapping[str, str]) -> None:
    copied = shutil.copytree(RUN.parents[1] / "interop", tmp_path / "interop")
    for name in ("tests", "workkit"):
        (tmp_path / name).symlink_to(RUN.parents[1] / name)
    scenario = copied / "scenarios" / "hutch" / "ours-direct.json"
    steps = json.loads(scenario.read_text())["steps"]
    steps[-1] = {"expect": {"theirs": [{"another": 1}]}, "within": 3}
    scenario.write_text(json.dumps({"about": "", "steps": steps, "theirs": ["hutch"], "layouts": ["hutch"]}))
    words = ["--layout", "hutch", "--scenarios", "ours-direct"]
    playing = processes.run(sys.executable, str(copied / "run.py"), *words, env=host)
    assert playing.wait(timeout=120) == 1, playing.transcript()
    playing.wait_for(r"layout hutch: ours-direct: FAILED step 2: Failed: theirs: expected .*another.*, found .*big")


def test_a_peer_that_does_not_exist_is_refused(processes: Processes) -> None:
    playing = processes.run(sys.executable, str(RUN), "--peers", "python,cobol")
    assert playing.wait(timeout=30) == 2
    playing.wait_for("cobol: not known. Accepted: later, node, published, python, ruby")


def test_a_new_language_is_asked_for_all_that_it_must(processes: Processes, tmp_path: Path) -> None:
    """No file of interop/ knows its name; it declares no trait, so no scenario of a MUST leaves it out."""
    words = ["--also", str(cobol(tmp_path, "[]")), "--peers", "python,cobol"]
    listing = processes.run(sys.executable, str(RUN), *words, "--list")
    assert listing.wait(timeout=30) == 0, listing.transcript()
    asked = re.findall(r"^python -> cobol: ([\w-]+)$", listing.transcript(), re.MULTILINE)
    assert set(asked) == MUST | {"crash-after-pop"}, listing.transcript()
    assert re.search(r"^cobol -> cobol: cron$", listing.transcript(), re.MULTILINE)
    playing = processes.run(sys.executable, str(RUN), *words, "--scenarios", "add-now")
    assert playing.wait(timeout=60) == 1, playing.transcript()
    playing.wait_for("FAILED add-now: python -> cobol: cobol answered .* with not yet")


def test_a_trait_that_no_scenario_knows_is_refused(processes: Processes, tmp_path: Path) -> None:
    words = ["--also", str(cobol(tmp_path, '["lazy"]')), "--peers", "cobol", "--scenarios", "add-now"]
    playing = processes.run(sys.executable, str(RUN), *words)
    assert playing.wait(timeout=30) == 1
    playing.wait_for("cobol: no such trait: lazy. Accepted: evaluates, ")


def test_no_scenario_names_a_peer() -> None:
    for path in (RUN.parent / "scenarios").glob("*.json"):
        assert re.search(r'"(python|later|node|ruby)":|"who"', path.read_text()) is None, path.name


def test_ci_installs_what_the_peers_need() -> None:
    installed = (RUN.parent.parent / ".ci" / "run").read_text().partition("missing() {")[2].partition("\n}")[0]
    for file in RUN.parent.glob("*/peer.json"):
        for package in json.loads(file.read_text()).get("debian", "").split():
            assert re.search(rf"\|\| echo {package}\b", installed), package


def test_a_peer_that_is_not_installed_is_named_and_fails_in_ci(processes: Processes, tmp_path: Path) -> None:
    folder = cobol(tmp_path, "[]")
    folder.joinpath("peer.json").write_text(
        '{"peers": {"cobol": ["cobc", "peer"]}, "programs": ["cobc"], "debian": "gnucobol"}'
    )
    words = ["--also", str(folder), "--peers", "python,cobol", "--scenarios", "add-now"]
    for variable, status in (("", 0), ("1", 1)):
        playing = processes.run(sys.executable, str(RUN), *words, env={"CI": variable})
        assert playing.wait(timeout=60) == status, playing.transcript()
        playing.wait_for("absent: cobol: no cobc; on Debian: apt-get install gnucobol")
