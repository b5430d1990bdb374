"""The time, where a server does not let this user have it: spec/layouts/native.md, "A server without TIME".

A script asks its server for the time. Some managed servers refuse TIME within scripts, and a user may lack the right to
call it at all. Then the client passes the time to the script; the other scripts stay as they are. Nobody pays for this
where TIME works: a server is asked about it only after it has refused a script.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

import redis

from workkit.brokers.redis_server.script import Script, with_text

_Call = tuple[Script, Sequence[str], Sequence[Any]]  # a script, its keys and its arguments
_PROBE = "return redis.pcall('TIME')['err'] and 0 or 1"


@cache
def _part(folder: str) -> str:
    lua = resources.files("workkit.brokers").joinpath("redis_server", "lua", folder, "instant.lua")
    return lua.read_text(encoding="utf-8")


@cache
def without_time(script: Script) -> Script | None:
    """Return the script that takes the time as its last argument, and the key of the last instant as its last key; None
    for a script that needs no time.
    """
    if _part("parts") not in script.text:
        return None
    return with_text(script, script.text.replace(_part("parts"), _part("given_time")))


def last_instant(schedule: str) -> str:
    """Name the key of the last instant that a script has used."""
    return f"{schedule}:instant"


class ScriptTime:
    """How the scripts of one server get the time: from the server, or where it refuses that, from the client."""

    def __init__(self, client: redis.Redis, schedule: str) -> None:
        self._client, self._key = client, last_instant(schedule)
        self.in_scripts: bool | None = None  # None: no script was refused, so nobody has asked

    def is_refused(self, calls: Sequence[_Call]) -> bool:
        """Whether refused scripts run with the time of the client. Each server names this refusal differently, so ask
        once for TIME itself. Raises what redis-py raises.
        """
        if self.in_scripts is not None or not any(without_time(script) for script, _, _ in calls):
            return False
        self.in_scripts = scripts_may_call_time(self._client)
        return self.in_scripts is False

    def given(self, calls: Sequence[_Call]) -> Sequence[_Call]:
        """Pass the time to the scripts that need it, where `in_scripts` is False. Raises what redis-py raises."""
        now: Any = self._client.time()
        micros = int(now[0]) * 1_000_000 + int(now[1])
        return [
            (script, keys, args)
            if (other := without_time(script)) is None
            else (other, (*keys, self._key), (*args, micros))
            for script, keys, args in calls
        ]


def may_call_time(client: redis.Redis) -> bool:
    """Ask whether this user may call TIME outside of scripts. Raises what redis-py raises."""
    try:
        redis.Redis(connection_pool=client.connection_pool).time()
    except redis.exceptions.NoPermissionError:
        return False
    return True


def scripts_may_call_time(client: redis.Redis) -> bool | None:
    """Ask whether scripts of this user may call TIME; None if they may not run at all. Raises what redis-py raises."""
    try:
        return bool(client.eval(_PROBE, 0))
    except redis.exceptions.ResponseError:
        return None
