"""Read what is paused in a namespace: names, and all of it at once."""

from __future__ import annotations

from typing import Any, Final

from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.redis_server.server import Server
from workkit.jobs.admission import SCHEDULE, Control, Pause

WITH_ALL: Final = b"workkit:all"
"""What the key of a name holds that is paused with its whole namespace; `lua/parts/pausing.lua` says the same."""

NO_REASON: Final = "1"  # as Go programs write it
_NO_REASONS: Final = ("", "0", NO_REASON, "true")


def read_control(server: Server, keys: Keys) -> Control:
    """Read the pauses. Any value of any type pauses a name; a text is its reason."""
    with server.translated() as client:
        pipe = client.pipeline(transaction=False)
        pipe.smembers(keys.known_jobs)
        pipe.smembers(keys.paused_names)
        pipe.time()
        known, paused, (seconds, micros) = pipe.execute()
        names = sorted(name.decode("utf-8", "surrogateescape") for name in known | paused)
        looked = [keys.paused_all, *map(keys.paused, names)]
        for key in looked:
            pipe.get(key)
            pipe.pexpiretime(key)  # exact, from Redis 7.0 on
            pipe.pttl(key)
        answers = pipe.execute(raise_on_error=False)
    now_ms = int(seconds) * 1000 + int(micros) // 1000
    targets = [SCHEDULE, *(f"fn:{name}" for name in names)]
    found = {}
    for target, value, end, life in zip(targets, answers[::3], answers[1::3], answers[2::3], strict=True):
        if value is not None and value != WITH_ALL:
            until_ms = end if isinstance(end, int) else now_ms + life
            found[target] = Pause(reason=_reason(value), until_ms=until_ms if life > 0 else None)
    return Control(paused=found)


def pause_of(name: str, control: Control) -> Pause | None:
    """Find the pause under which the jobs of a name wait."""
    return control.paused.get(SCHEDULE) or control.paused.get(f"fn:{name}")


def _reason(value: Any) -> str | None:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
    return None if text in _NO_REASONS else text
