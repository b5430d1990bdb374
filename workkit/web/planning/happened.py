"""What happened to a schedule and may explain what is drawn: marks, syncs of a plan, a new version among listeners."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final, Literal

from workkit.contract.changes import LONGEST_MARK, MARK, Change
from workkit.contract.listener import ListenerInfo
from workkit.errors import Unsupported
from workkit.text.duration import MILLISECOND
from workkit.text.wording import iso
from workkit.web.page import Asked

LOOKED_AT: Final = 2_000  # changes, the last ones
MOST: Final = 40  # that are shown, the last ones
FRESH_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """Something that happened: in words, and by whom where that is known."""

    at: datetime
    kind: Literal["mark", "sync", "version"]
    says: str
    by: str = ""

    @property
    def sentence(self) -> str:
        """What it is, and who says so or did so."""
        if self.kind == "mark":
            return f"Marked: {self.says}" + (f", by {self.by}" if self.by else "")
        return self.says + (f" by {self.by}" if self.by else "")

    def record(self) -> dict[str, Any]:
        """Write it as JSON does."""
        return {"at": iso(self.at), "kind": self.kind, "says": self.says, "by": self.by or None}


def read_happened(asked: Asked, since: datetime, until: datetime, unknown: dict[str, str]) -> list[Happened]:
    """Read what happened in a window of time, the last one first."""
    try:
        kept = asked.served.fresh("happened", lambda: _read(asked), seconds=FRESH_S)
    except Unsupported as error:
        unknown.setdefault("history", str(error))
        kept = ()
    found = [_happened(asked.veil.change(change)) for change in kept if since <= change.at <= until]
    found += (one for one in versions(asked.pulse.listeners, asked.now) if since <= one.at <= until)
    return sorted(found, key=lambda one: one.at, reverse=True)[:MOST]


def _read(asked: Asked) -> Sequence[Change]:
    return [one for one in islice(asked.served.inspector().history.changes(), LOOKED_AT) if one.verb in (MARK, "sync")]


def _happened(change: Change) -> Happened:
    if change.verb == "sync":
        return Happened(at=change.at, kind="sync", says="A plan was synced", by=change.by or "")
    text = str(change.after.get("text") or "something")  # what another program wrote may be anything
    return Happened(at=change.at, kind="mark", says=text[:LONGEST_MARK], by=change.by or "")


def versions(listeners: Sequence[ListenerInfo], now: datetime) -> Iterator[Happened]:
    """Find the newest version, where listeners of an earlier one are there still."""
    began: dict[str, datetime] = {}
    for info in listeners:
        if info.up_ms:
            at = now - info.up_ms * MILLISECOND
            began[info.version] = min(at, began.get(info.version, at))
    if len(began) > 1:
        version, at = max(began.items(), key=lambda one: one[1])
        yield Happened(at=at, kind="version", says=f"Version {version} began to listen")
