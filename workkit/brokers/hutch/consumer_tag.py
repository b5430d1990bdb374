"""What a consumer of ours says of its listener: by its tag, and by its arguments, which the management API shows. Pure.

Normative: spec/layouts/hutch.md, section 8.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from workkit.brokers.hutch.message import text, whole
from workkit.contract.listener import ListenerInfo

LOOKING: Final = "workkit-look-"  # how the tags of those begin who only look

_OURS = re.compile(r"(workkit-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-\d+")
_HOST, _PID, _VERSION, _THREADS, _SINCE = (f"workkit-{name}" for name in ("host", "pid", "version", "threads", "since"))


def consumer_tag(listener: str, number: int) -> str:
    """Name a consumer of a listener."""
    return f"{listener}-{number}"


def listener_of(tag: str) -> str | None:
    """Tell which listener of ours a consumer belongs to; None: to another program."""
    found = _OURS.fullmatch(tag)
    return None if found is None else found[1]


def is_ours(tag: str) -> bool:
    """Whether a tag, or the name of a listener, is one of ours."""
    return tag.startswith("workkit-")


def is_looking(tag: str) -> bool:
    """Whether a consumer of ours only looks at a queue, for a moment."""
    return is_ours(tag) and listener_of(tag) is None


def said_of(info: ListenerInfo, *, now_ms: int) -> dict[str, Any]:
    """Write what its consumers say of a listener, as their arguments."""
    return {_HOST: info.host, _PID: info.pid, _VERSION: info.version, _THREADS: info.threads, _SINCE: now_ms}


def read_said(
    arguments: Mapping[str, Any], *, listener: str, schedule: str, now_ms: int, host: str, version: str
) -> ListenerInfo:
    """Read what a consumer says of its listener. `host` and `version` count where it says none."""
    since = whole(arguments.get(_SINCE))
    return ListenerInfo(
        listener=listener,
        host=text(arguments.get(_HOST)) or host,
        pid=max(0, whole(arguments.get(_PID)) or 0),
        version=text(arguments.get(_VERSION)) or version,
        schedules={schedule: 1},
        threads=max(0, whole(arguments.get(_THREADS)) or 0),
        beat_ms=None,
        up_ms=None if since is None else max(0, now_ms - since),
    )
