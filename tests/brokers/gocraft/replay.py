"""Play a recording of gocraft/work at the pace of the recording, and compare each of its steps.

Who plays it is a `Player`: the Go peer of interop/go/, or anything else that does the calls of the recordings.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from tests.brokers.gocraft.namespace import SLACK, Side, differences, dump, moved
from tests.processes import until

PATIENCE = 4.0  # seconds beyond the recorded time in which a step may come true
AT_RANDOM = ("failing jobs",)  # the jobs of this recording fail with the default pause, which has a random part
RANDOM_BACKOFF = 58 + SLACK
# Two jobs of this recording are due in the same second. Such members stand in the order of their texts, so of ids.
TIED = {"unique job life cycle": (":jobs:clear_cache",)}  # ends of the keys of lists whose order is chance
BLOCKS = [{"block": "for ever"}]

# The two processes of some recordings share a namespace; what the first one does is only noted there.
FIRST_POOLS: dict[str, dict[str, Any]] = {
    "pool killed, another pool reaps it": {
        "concurrency": 2,
        "jobs": [{"name": "export", "max_concurrency": 2, "do": BLOCKS}, {"name": "export_idle", "do": BLOCKS}],
        "enqueued": [0, 1, 2],
    },
    "pool killed and its heartbeat hash lost": {
        "concurrency": 1,
        "jobs": [{"name": "export", "max_concurrency": 1, "do": BLOCKS}],
        "enqueued": [1],
    },
}
PAGES = {"/scheduled_jobs": "scheduled_jobs", "/retry_jobs": "retry_jobs", "/dead_jobs": "dead_jobs"}
LISTS = {"/queues": "queues", "/worker_pools": "worker_pools", "/busy_workers": "worker_observations"}


class Player(Protocol):
    """Does the calls of a recording, one after another."""

    def set_clock(self, at: float) -> bool:
        """Have it be this epoch second now to the player; False if its time is always that of the machine."""

    def ask(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """Do a call, and return `returned` with, where there is one, `count` and `error`."""

    def news(self) -> list[dict[str, Any]]:
        """Return the events and the lines of the log, as in the recordings, since the last time."""

    def close(self) -> None:
        """Die at once."""


class Replay:
    """One recording, played on a server of its own, or in a database. `play` returns the differences, each with the
    step it is in.
    """

    def __init__(
        self,
        recording: Mapping[str, Any],
        *,
        begin: Callable[[], Player],
        client: Any,
    ) -> None:
        self.recording = recording
        self.namespace: str = recording["namespace"]
        self.client = client
        self._begin = begin
        self._first_at = float(next(step["at"] for step in recording["steps"] if "at" in step))
        self._ids: tuple[dict[str, str], dict[str, str]] = ({}, {})
        self._jobs: dict[str, dict[str, Any]] = {}  # the job of this replay by the id of the recorded one
        self._unordered = TIED.get(recording["scenario"], ())
        self._slack = RANDOM_BACKOFF if recording["scenario"] in AT_RANDOM else SLACK
        self._later = 0  # seconds from the recording to now, for a player that does not change its clock
        self._first: Player | None = None

    def play(self) -> list[str]:
        self._player = self._begin()
        self._began = time.monotonic()
        if not self._player.set_clock(self._now()):
            self._later = round(time.time() - self._now())
        found: list[str] = []
        try:
            self._begin_first()
            for step in self.recording["steps"]:
                found += [f"{step.get('step', 'a request')}: {difference}" for difference in self._step(step)]
            found += self._compare_news()
        finally:
            self._player.close()
            if self._first:
                self._first.close()
        return found

    def _now(self) -> float:
        """Return the time of the recording that it is in this replay."""
        return self._first_at + time.monotonic() - self._began

    def _resume_at(self, at: float) -> None:
        """Take the time back by what a busy machine is late: what comes next depends on parts of a second."""
        self._began += max(0.0, self._now() - at)
        self._player.set_clock(self._now())

    def _begin_first(self) -> None:
        first = FIRST_POOLS.get(self.recording["scenario"])
        if first is None:
            return
        self._first = self._begin()
        self._first.set_clock(self._now())
        for number in first["enqueued"]:
            self._first.ask(
                {"op": "enqueue", "name": "export", "args": json.dumps({"i": number}), "ns": self.namespace}
            )
        self._first.ask({"op": "pool", "id": "first", "ns": self.namespace, **first})
        self._first.ask({"op": "start", "id": "first"})
        if "note" not in self.recording["steps"][0]:  # it is killed before the recording begins
            until(self._first.news, what="the job to begin")
            self._kill_first()

    def _kill_first(self) -> None:
        assert self._first is not None
        time.sleep(0.1)  # what the handler's worker still writes about it has no reply to wait for
        self._first.close()

    def _step(self, step: Mapping[str, Any]) -> Iterator[str]:
        if "note" in step:
            if "killed" in step["note"]:
                self._kill_first()
            return
        if "http" in step:
            yield from self._request(step["http"])
            return
        time.sleep(max(0.0, step["at"] - self._now()))
        if "redis" in step:
            self.client.execute_command(*map(self._translated, step["redis"]))
        if "call" in step:
            self._resume_at(step["at"])
            yield from self._call(step)
        if "dump" in step:
            yield from self._compare_dump(step)

    def _translated(self, word: Any) -> Any:
        """Write a recorded word of a command with the times of this replay, and a key of a heartbeat with its pool."""
        word = moved(str(word), at=self._first_at, by=self._later)
        pool = re.fullmatch(r"(.*worker_pools:)[0-9a-f]{24}", word)
        if pool is None:
            return word
        (member,) = self.client.smembers(pool[1].removesuffix(":"))
        return f"{pool[1]}{member.decode()}"

    def _call(self, step: Mapping[str, Any]) -> Iterator[str]:
        answer = self._player.ask(self._of_this_replay(step["call"]))
        recorded = {"returned": step.get("returned")}
        recorded.update({name: step[name] for name in ("count", "error") if name in step})
        if step["call"]["op"] == "enqueue" and recorded["returned"] and answer["returned"]:
            for side, job in zip(self._ids, (recorded["returned"], answer["returned"]), strict=True):
                side[job["id"]] = f"job {len(side) + 1}"
            self._jobs[recorded["returned"]["id"]] = answer["returned"]
        yield from self._compare_values(recorded, answer, at=step["at"])

    def _of_this_replay(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """Name the job of this replay in a call that names a recorded one."""
        job = self._jobs.get(call.get("id", ""))
        return {**call, "id": job["id"], "score": job["run_at"]} if job else {**call}

    def _request(self, http: Mapping[str, Any]) -> Iterator[str]:
        """Ask the client of the peer for what the web page asked its own."""
        path, _, query = http["path"].partition("?page=")
        operation, *words = path.strip("/").split("/")
        if http["status"] == 404 or query == "x":
            return
        call: dict[str, Any] = {"op": {**PAGES, **LISTS}.get(path, operation), "ns": self.namespace}
        if query:
            call["page"] = int(query)
        if words:
            call.update(score=int(words[0]), id=words[1])
        answer = self._player.ask(call)
        if http["status"] != 200:
            if not answer.get("error"):
                yield f"{path}: no error"
            return
        value = answer["returned"]
        if path in PAGES:
            value = {"count": answer["count"], "jobs": value}
        elif path == "/busy_workers":
            value = [each for each in value if each["is_busy"]] or None
        elif path not in LISTS:
            value = {"status": "failed" if answer.get("error") else "ok"}
        body = json.loads(http["body"])
        for each in (*(body if isinstance(body, list) else ()), *(value if isinstance(value, list) else ())):
            each.update({name: None for name in ("host", "pid", "worker_ids") if name in each})
        yield from self._compare_values(body, value, at=self._now())

    def _compare_values(self, recorded: Any, actual: Any, *, at: float) -> Iterator[str]:
        sides = [
            Side(dump={"answer": {"type": "string", "value": _with_times(value, at=when)}}, at=when, ids=ids)
            for value, when, ids in zip((recorded, actual), (at, self._now() + self._later), self._ids, strict=True)
        ]
        yield from differences(*sides)

    def _compare_dump(self, step: Mapping[str, Any]) -> list[str]:
        deadline = time.monotonic() + PATIENCE
        recorded = Side(dump=step["dump"], at=step["at"], ids=self._ids[0])
        while True:
            actual = Side(dump=dump(self.client, self.namespace), at=self._now() + self._later, ids=self._ids[1])
            found = differences(recorded, actual, slack=self._slack, unordered=self._unordered)
            if not found or time.monotonic() > deadline:
                return found
            time.sleep(0.05)

    def _compare_news(self) -> Iterator[str]:
        """Compare what ran, and what the library wrote about errors, over the whole recording."""
        news, steps = self._player.news(), self.recording["steps"]
        recorded = Counter(self._told(each, self._ids[0]) for step in steps for each in step.get("events") or ())
        actual = Counter(self._told(each, self._ids[1]) for each in news if "event" in each)
        if recorded - actual:  # not all that happened was recorded
            yield f"events: recorded {dict(recorded)}, found {dict(actual)}"
        logged = {self._logged(each) for step in steps for each in step.get("library_log", ())}
        found = {self._logged(each["log"]) for each in news if "log" in each}
        if logged != found:
            yield f"log: recorded {sorted(logged)}, found {sorted(found)}"

    @staticmethod
    def _told(event: Mapping[str, Any], ids: Mapping[str, str]) -> str:
        job = event.get("job", event)
        return f"{event['event']} {ids.get(job['id'], 'another')} {json.dumps(job.get('args'), sort_keys=True)}"

    @staticmethod
    def _logged(line: str) -> str:
        """Leave out where in a script an error is, and the hash of that script."""
        return line.partition("user_script")[0]


def _with_times(value: Any, *, at: float) -> str:
    """Write an answer as JSON, with the time at which the next job of a queue was added in place of its latency."""

    def timed(each: dict[str, Any]) -> dict[str, Any]:
        return {**each, "latency": int(at) - each["latency"]} if each.get("count") and "latency" in each else each

    return json.dumps(json.loads(json.dumps(value), object_hook=timed), sort_keys=True)
