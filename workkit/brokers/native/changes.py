"""The bytes of changes: an entry of `S:changes`, packed for the scripts, and as it is read. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from workkit.brokers.native.record import read_count
from workkit.brokers.redis_server.control import pack, read_packed, read_pause, write_pause
from workkit.contract.admin import LONGEST_BY, Author, Change
from workkit.errors import InvalidOptions
from workkit.jobs.admission import Pause
from workkit.jobs.job import Job
from workkit.jobs.terms import instant_of
from workkit.text.wording import epoch_ms

LONGEST = 200  # characters of a target, a function, a reason
TIMES = ("due", "until")  # the instants in `before` and `after`, in ms
DEAD = "dead"  # the target of a step that changes several dead jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """A change by a person, before its time is known. `after`: a map, or a pause as in `S:control`."""

    verb: str
    target: str
    job: Job | None = None
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | bytes | None = None
    reason: str | None = None
    times: int = 1


def job_target(job: Job) -> str:
    """Name a job as the target of a change."""
    return f"job:{job.terms.name or job.name or job.id}"


def pause_act(target: str, pause: Pause, *, job: Job | None = None) -> Act:
    """Make the act of a pause."""
    return Act(
        verb="pause", target=target, job=job, after=write_pause(Pause(until_ms=pause.until_ms)), reason=pause.reason
    )


def packed_change(author: Author | None, act: Act) -> bytes:
    """Pack an act for the scripts; empty if nobody is named."""
    if author is None:
        return b""
    said = {
        "by": author.by[:LONGEST_BY],
        "via": author.via,
        "role": author.role or "",
        "address": (author.address or "")[:LONGEST_BY],
        "verb": act.verb,
        "target": act.target[:LONGEST],
        "id": act.job.id if act.job else "",
        "fn": act.job.fn[:LONGEST] if act.job else "",
        "reason": (act.reason or "")[:LONGEST],
        "times": str(act.times) if act.times != 1 else "",
    }
    fields: list[str | bytes] = [part for pair in said.items() if pair[1] for part in pair]
    for name, value in (("before", act.before), ("after", act.after)):
        if value:
            fields += [name, value if isinstance(value, bytes) else pack(_stored(value))]
    return pack(fields)


def read_change(number: bytes, fields: Mapping[bytes, bytes]) -> Change | None:
    """Read an entry of `S:changes`; None if it cannot be read. Unknown fields belong to later versions."""
    ms, _, _ = number.partition(b"-")
    at, times = instant_of(int(ms)), read_count(fields.get(b"times", b"1"))
    said = {key: fields.get(key, b"").decode("utf-8", "replace") or None for key in _TEXTS}
    verb, target = said[b"verb"], said[b"target"]
    if at is None or times is None or verb is None or target is None:
        return None
    return Change(
        at=at,
        by=said[b"by"],
        via=said[b"via"],
        role=said[b"role"],
        address=said[b"address"],
        number=number.decode("ascii", "replace"),
        verb=verb,
        target=target,
        id=said[b"id"],
        fn=said[b"fn"],
        before=_read_state(fields.get(b"before", b"")),
        after=_read_state(fields.get(b"after", b"")),
        reason=said[b"reason"],
        times=times,
    )


def read_number(text: str) -> str:
    """Read the number of a change from a reader's text. Raises InvalidOptions."""
    if not _NUMBER.fullmatch(text):
        raise InvalidOptions.about(f'after="{text}"', "is no number of a change", where="after", given=text)
    return text


_NUMBER = re.compile(r"[0-9]{1,19}-[0-9]{1,19}")
_TEXTS = (b"by", b"via", b"role", b"address", b"verb", b"target", b"id", b"fn", b"reason")


def _read_state(packed: bytes) -> dict[str, Any]:
    if (pause := read_pause(packed)) is not None:
        found: Mapping[Any, Any] = {"reason": pause.reason, "until": pause.until_ms}
    else:
        value = read_packed(packed) if packed else None
        found = value if isinstance(value, dict) else {}
    state = {str(name): _read_value(str(name), value) for name, value in found.items()}
    return {name: value for name, value in state.items() if value is not None}


def _read_value(name: str, value: Any) -> Any:
    if name in TIMES:
        return instant_of(value) if type(value) is int else None
    if isinstance(value, list | tuple):
        return [text for text in value if isinstance(text, str)]
    return value if isinstance(value, str | int | float) else None


def _stored(state: Mapping[str, Any]) -> dict[str, Any]:
    """Write instants as ms, and leave out unknown values."""
    known = ((name, value) for name, value in state.items() if value is not None)
    return {name: epoch_ms(v) if isinstance(v, datetime) else v for name, v in known}
