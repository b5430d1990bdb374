"""A peer in Python by workkit's public verbs: `python peer.py PORT`. JSON lines on stdin and stdout: ../README.md."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from peers import say

from workkit import Schedule, schedule, triggers

DIALECTS = {"published": "published", "clojure": "cuckoo"}
IMPORTS = ("peers.jobs", "peers.python")

Command = dict[str, Any]


class Peer:
    """What it listens to, and how it obeys each command: a method of that name."""

    def __init__(self, port: str) -> None:
        self._url = f"redis://127.0.0.1:{port}/0"
        self._listening: dict[str, Any] = {}

    def add(self, command: Command) -> Command:
        s, fn, args, when = self._schedule(command), f"#'{command['fn']}", command["args"], command["when"]
        if when == "now":
            job = schedule.add_now(s, fn, args=args)
        elif "in" in when:
            job = schedule.add(s, fn, args=args, in_=timedelta(milliseconds=when["in"]))
        elif "at" in when:
            job = schedule.add(s, fn, args=args, at=datetime.fromtimestamp(when["at"] / 1000, UTC))
        else:
            job = schedule.add(s, fn, args=args, cron=when["cron"])
        due = None if job.due is None or not job.new else round(job.due.timestamp() * 1000)
        return {"added": job.id, "new": job.new, "due": due}

    def listen(self, command: Command) -> Command:
        s = self._schedule(command)
        self._listening[s.name] = schedule.listener(s, imports=IMPORTS, folder=None, threads=4).start()
        return {"listening": True}

    def stop(self, command: Command) -> Command:
        listener = self._listening.pop(command["schedule"], None)
        if listener is not None:
            listener.stop()
        return {"stopped": listener is not None}

    def drain(self, command: Command) -> Command:
        tally = schedule.drain(self._schedule(command), imports=IMPORTS, folder=None, raise_errors=False)
        return {"drained": tally.ran + tally.failed}

    def next(self, command: Command) -> Command:
        trigger = triggers.cron(command["cron"], dialect=DIALECTS[command["order"]])  # type: ignore[arg-type]
        return {"next": trigger.next_after_ms(command["from"])}

    def _schedule(self, command: Command) -> Schedule:
        return schedule.create(command["schedule"], redis=self._url, dialect=DIALECTS[command["order"]])


def main() -> None:
    """Obey until stdin ends."""
    peer = Peer(sys.argv[1])
    obey: dict[str, Callable[[Command], Command]] = {
        name: getattr(peer, name) for name in ("add", "listen", "stop", "drain", "next")
    }
    say({"peer": "python", "orders": list(DIALECTS), "points": [], "traits": ["puts-off", "queues", "retries"]})
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = obey[command["do"]](command)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        say(answer | {"n": command["n"]})


if __name__ == "__main__":
    main()
