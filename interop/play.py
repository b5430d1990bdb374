"""Plays one scenario with one producer and one consumer; interop/README.md says what a scenario may hold."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kinds import HERE, TRAITS
from processes import Peer, PeerError, Record, Server, shared_order

sys.path.insert(0, str(HERE.parent))
from tests.metronome import Metronome

SCENARIOS = HERE / "scenarios"
WITHIN = 10.0  # seconds, unless a step says another time
DOCTOR_PATIENCE = 1  # seconds after which a job that waits nowhere is an orphan


class Failed(Exception):
    """Something else happened than the scenario expects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A file of `scenarios/`, and for which peers it is."""

    name: str
    about: str
    steps: list[Record]
    only: dict[str, list[str]] = field(default_factory=dict)
    without: dict[str, list[str]] = field(default_factory=dict)
    crashes: dict[str, str] = field(default_factory=dict)
    other_language: bool = False
    alone: bool = False
    heavy: bool = False

    def leaves_out(self, producer: Peer, consumer: Peer) -> bool:
        """Whether it is not for these two."""
        roles = {"producer": producer, "consumer": consumer}
        return (
            any(not set(traits) <= set(roles[role].traits) for role, traits in self.only.items())
            or any(set(traits) & set(roles[role].traits) for role, traits in self.without.items())
            or any(point not in roles[role].points for role, point in self.crashes.items())
            or (self.other_language and producer.language == consumer.language)
            or (self.alone and producer is not consumer)
        )


def read(path: Path) -> Scenario:
    """Raises TypeError for a field that is not known, and for a trait that no peer can have."""
    scenario = Scenario(name=path.stem, **json.loads(path.read_text()))
    asked = [trait for traits in (*scenario.only.values(), *scenario.without.values()) for trait in traits]
    if unknown := set(asked) - TRAITS.keys():
        raise TypeError(f"{path.name}: no such trait: {', '.join(unknown)}")
    return scenario


class Play:
    """One scenario on a schedule of its own. `peers` are those of the roles; a role that is to die gets its own."""

    def __init__(
        self, scenario: Scenario, server: Server, *, producer: Peer, consumer: Peer, machine: Metronome
    ) -> None:
        self.scenario = scenario
        self.machine = machine  # a run may be late by as much as a busy machine holds it up
        self.server = server
        self.schedule = f"{scenario.name}-{uuid.uuid4().hex[:8]}"
        self.order = shared_order(producer, consumer) or ""
        self.peers = {"producer": producer, "consumer": consumer}
        self.own: list[Peer] = []
        for role in scenario.crashes:
            self._start(role)
        self.saved: dict[str, Any] = {
            "schedule": self.schedule,
            "producer-only": f"peers.{producer.language}/only",
            "consumer-only": f"peers.{consumer.language}/only",
        }
        self.expected: list[Record] = []
        self.listening: list[Peer] = []
        self._watch: Watch | None = None

    def run(self) -> None:
        """Raises Failed or PeerError."""
        try:
            for step in self.scenario.steps:
                self._step(step)
            self._stop_all()
            for expected in self.expected:
                self._check_total(expected)
        finally:
            self._stop_all()
            if self._watch is not None:
                self._watch.close()
            for peer in self.own:
                peer.close()

    def all_runs(self) -> list[Record]:
        """What either side announced on this schedule."""
        peers = {id(peer): peer for peer in (*self.peers.values(), *self.own)}.values()
        return [run for peer in peers for run in peer.runs(self.schedule)]

    def transcript(self) -> str:
        """What each side saw, and what Redis holds."""
        lines = []
        for role, peer in self.peers.items():
            seen = [r for r in peer.seen if r.get("schedule") == self.schedule]
            lines += [f"  {role} {peer.name} saw {json.dumps(record)}" for record in seen[-8:]] or [
                f"  {role} {peer.name} saw nothing"
            ]
        jobs, items = list(self._jobs().items()), self._items()
        for key, held in (("jobs", jobs), ("next", items)):
            lines.append(f"  S:{key} holds {len(held):,}: {held[:3]}{'...' if held[3:] else ''}")
        return "\n".join(lines)

    # Steps.

    def _step(self, step: Record) -> None:
        (verb,) = [key for key in step if key in VERBS]
        given = self._filled(step[verb])
        VERBS[verb](self, given, step)

    def _command(self, role: str, given: Record, step: Record) -> None:
        if role not in self.peers:  # "beside": one more of the consumer's kind
            self.peers[role] = Peer(self.peers["consumer"].name, self.server.port)
            self.own.append(self.peers[role])
        command = given | {"schedule": self.schedule, "order": self.order}
        if isinstance(when := command.get("when"), dict) and "cron" in when:
            command["when"] = {"cron": when["cron"][self.order]}
        if command.pop("dies", False):
            self.peers[role].tell(command)
            self.peers[role].wait_for_death()
            return
        peer = self.peers[role]
        if command["do"] == "listen":
            if peer in self.listening:  # one process plays both roles
                return
            self.listening.append(peer)
        elif command["do"] == "stop" and peer in self.listening:
            self.listening.remove(peer)
        answer = peer.ask(command)
        for key, value in self._filled(step.get("answer", {})).items():
            if answer.get(key) != value:
                raise Failed(f"{role} answered {command['do']} with {key}={answer.get(key)!r}, not {value!r}")
        if "as" in step:
            self.saved[step["as"]] = answer["added"]

    def _store(self, given: Record, step: Record) -> None:
        """Write a job byte for byte, as some other peer would have; `copies` of it, $copy being the number."""
        for copy in range(given.get("copies", 1)):
            payload = given["payload"].replace("$copy", str(copy)).encode()
            job_id = hashlib.sha1(payload).hexdigest()
            item = given.get("item", '{"id":"$id"}').replace("$id", job_id)
            self.server.client.hset(f"{self.schedule}:jobs", job_id, payload)
            self.server.client.zadd(f"{self.schedule}:next", {item: given["due"]})
            self.saved[step.get("as", "stored")] = job_id

    def _expect(self, given: Record, step: Record) -> None:
        if "ran" not in given:
            self._await(lambda: self._holds(given), f"{given}", step)
            return
        least = given["at_least"] if "at_least" in given else self._times(given)
        self.expected.append(given)
        self._await(lambda: len(self._found(given)) >= least, f"{least} runs of {given}", step)

    def _doctor(self, given: Record, step: Record) -> None:
        """Have it find what `finds` says, and repair it."""
        self._await(lambda: given["finds"] in self._examine(fix=False), f"doctor to find {given}", step)
        self._examine(fix=True)

    def _cron(self, given: Record, step: Record) -> None:
        """Compare next times with recorded ones. A peer may refuse what it does not read, and must answer `least`."""
        peer = self.peers["consumer"]
        for order in peer.orders:
            cases = json.loads((HERE / given[order]["vectors"]).read_text())["cases"]
            answers = [(case, _next(peer, case, order)) for case in cases]
            if wrong := [(case, got) for case, got in answers if got not in ("refused", _first(case["next"]))]:
                raise Failed(f"{len(wrong)} wrong next times in {order} order, the first: {wrong[0]}")
            read = sum(got != "refused" for _, got in answers)
            if read < given[order]["least"]:
                raise Failed(f"reads {read} cron strings in {order} order, {given[order]['least']} are needed")

    def _hold(self, given: Record, step: Record) -> None:
        time.sleep(given["for"])
        if "runs" in given and len(self._found({"ran": given["of"]})) != given["runs"]:
            raise Failed(f"{given['of']} ran, and should have been left")

    def _restart(self, role: str, step: Record) -> None:
        self._start(role)

    def _count_moves(self, given: Record, step: Record) -> None:
        """Watch the due time of a job; `at_most` so many others are allowed after the first one seen."""
        if self._watch is None:
            self._watch = Watch(self._score_of(given["job"]))
            return
        if (moves := self._watch.moves()) > given["at_most"]:
            raise Failed(f"the job was moved {moves} times, and {given['at_most']} are allowed")

    # What happened.

    def _found(self, expected: Record) -> list[Record]:
        by = [expected["by"]] if "by" in expected else self.peers
        peers = {id(self.peers[role]): self.peers[role] for role in by}.values()
        runs = [run for peer in peers for run in peer.runs(self.schedule)]
        return [run for run in runs if _is_as_expected(run, expected)]

    def _check_total(self, expected: Record) -> None:
        runs = self._found({key: expected[key] for key in ("ran", "args") if key in expected})
        if "at_least" in expected:
            ticks = [(run["id"], run["due"]) for run in runs]
            if len(set(ticks)) != len(ticks):
                raise Failed(f"a tick ran twice: {sorted(ticks)}")
        elif len(runs) != (times := self._times(expected)):
            raise Failed(f"{expected['ran']} {expected.get('args', '')} ran {len(runs)} times, not {times}")
        limit = self._of_consumer(expected.get("within_ms", 10**9))
        for run in runs:
            late_ms = run["at"] - expected.get("since", run["due"])
            if late_ms > limit + 1000 * self.machine.slack:
                raise Failed(f"ran {late_ms} ms after its time, {limit} are allowed: {run}")

    def _times(self, expected: Record) -> int:
        return self._of_consumer(expected.get("times", 1))

    def _of_consumer(self, value: Any) -> int:
        """A number, or one for each trait that a consumer may have: {"retries": 2, "others": 1}."""
        if isinstance(value, int):
            return value
        return int(next((n for trait, n in value.items() if trait in self.peers["consumer"].traits), value["others"]))

    def _holds(self, given: Record) -> bool:
        found: Record = {
            "jobs": len(self._jobs()),
            "next": len(self._items()),
            "dead": self.server.client.zcard(f"{self.schedule}:dead"),
            "items": [item for item, _ in self._items()],
        }
        return all(found[key] == value for key, value in given.items())

    def _jobs(self) -> Any:
        return self.server.client.hgetall(f"{self.schedule}:jobs")

    def _items(self) -> list[tuple[str, float]]:
        return [
            (item.decode(errors="replace"), score)
            for item, score in self.server.client.zrange(f"{self.schedule}:next", 0, -1, withscores=True)
        ]

    def _score_of(self, job: str) -> Callable[[], float | None]:
        return lambda: next((score for item, score in self._items() if job in item), None)

    def _examine(self, *, fix: bool) -> list[str]:
        place = f"redis://127.0.0.1:{self.server.port}/0"
        command = [sys.executable, "-m", "workkit", "doctor", self.schedule, "--redis", place, "--json"]
        command += ["--older-than", f"{DOCTOR_PATIENCE}s", *(["--fix", "--yes"] if fix else [])]
        command += ["--dialect", "cuckoo"] if self.order == "clojure" else []
        said = subprocess.run(command, capture_output=True, text=True)
        if not said.stdout.strip():
            raise Failed(f"doctor said nothing: {said.stderr}")
        return [finding["kind"] for finding in json.loads(said.stdout)]

    # Small things.

    def _start(self, role: str) -> None:
        peer = Peer(self.peers[role].name, self.server.port)
        self.peers[role] = peer
        self.own.append(peer)
        if role in self.scenario.crashes and len(self.own) == 1:  # not when it is started anew
            peer.ask({"do": "crash_at", "point": self.scenario.crashes[role]})

    def _stop_all(self) -> None:
        for peer in self.listening:
            if peer.is_running:
                peer.ask({"do": "stop", "schedule": self.schedule})

    def _await(self, condition: Callable[[], bool], what: str, step: Record) -> None:
        deadline = time.monotonic() + step.get("within", WITHIN)
        while not condition():
            if time.monotonic() > deadline:
                raise Failed(f"waited in vain for {what}")
            time.sleep(0.02)

    def _filled(self, given: Any) -> Any:
        """Put what was saved in the place of "$name"; a text that is nothing else becomes the value itself."""
        if isinstance(given, dict):
            return {key: self._filled(value) for key, value in given.items()}
        if isinstance(given, list):
            return [self._filled(value) for value in given]
        if not isinstance(given, str):
            return given
        if given[:1] == "$" and self._value(given[1:]) is not None:
            return self._value(given[1:])
        return re.sub(r"\$([a-z-]+)", lambda m: str(v) if (v := self._value(m[1])) is not None else m[0], given)

    def _value(self, name: str) -> Any:
        """$soon: a whole second, four to five from when it was first asked for; $soon-cron: the text that names it."""
        if name == "soon":
            return self.saved.setdefault("soon", (time.time_ns() // 10**9 + 5) * 1000)
        if name == "soon-cron":
            t = datetime.fromtimestamp(self._value("soon") / 1000, UTC)
            if self.order == "clojure":
                return f"{t.second} {t.minute} {t.hour} {t.month} {t.day} ? {t.year}"
            return f"{t.year} {t.month} {t.day} * {t.hour} {t.minute} {t.second}"
        return self.saved.get(name)


class Watch:
    """Looks at a due time every few milliseconds, and remembers each new one."""

    def __init__(self, look: Callable[[], float | None]) -> None:
        self._seen: list[float] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(look,), daemon=True)
        self._thread.start()

    def moves(self) -> int:
        return max(0, len(self._seen) - 1)

    def close(self) -> None:
        self._end.set()
        self._thread.join()

    def _run(self, look: Callable[[], float | None]) -> None:
        while not self._end.wait(0.01):
            score = look()
            if score is not None and score not in self._seen:
                self._seen.append(score)


def _next(peer: Peer, case: Record, order: str) -> Any:
    start = case["from"]
    if order == "clojure":  # recorded from code that cuts to the second, and counts that second too
        start = start - start % 1000 - 1
    try:
        return peer.ask({"do": "next", "cron": case["cron"], "order": order, "from": start})["next"]
    except PeerError as error:
        if "answered" in str(error):
            return "refused"
        raise


def _first(times: Any) -> Any:
    return (times[0] if times else None) if isinstance(times, list) else times


def _is_as_expected(run: Record, expected: Record) -> bool:
    """Compare as JSON texts: 1, 1.0 and true are equal to Python, and not to a job."""
    return all(
        json.dumps(run[key], sort_keys=True) == json.dumps(expected[key], sort_keys=True)
        for key in ("ran", "args", "id")
        if key in expected
    )


VERBS: dict[str, Callable[[Play, Any, Record], None]] = {
    "producer": lambda play, given, step: play._command("producer", given, step),
    "consumer": lambda play, given, step: play._command("consumer", given, step),
    "beside": lambda play, given, step: play._command("beside", given, step),
    "store": Play._store,
    "expect": Play._expect,
    "doctor": Play._doctor,
    "cron": Play._cron,
    "hold": Play._hold,
    "restart": Play._restart,
    "moves": Play._count_moves,
}
