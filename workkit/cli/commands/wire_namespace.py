"""`wire` over a gocraft namespace: every key and job text as it is, or judged against the layout."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from workkit.brokers.connect import open_broker
from workkit.brokers.gocraft.broker import GocraftBroker
from workkit.brokers.gocraft.doctor import Flaw, Verification, id_of
from workkit.brokers.gocraft.doctor.judge import FAULTS
from workkit.brokers.gocraft.doctor.survey import TYPES, Place, raw
from workkit.cli.printing import record as records
from workkit.cli.printing import terminal
from workkit.cli.printing.faults import SHOWN, Report, fault_record, json_bytes
from workkit.contract.doctor import Fault
from workkit.text import wording
from workkit.text.cells import brief_bytes, bytes_text, shorten

if TYPE_CHECKING:
    from workkit.schedule import Schedule


def wire_namespace(
    s: Schedule, action: str, *, where: str | None, limit: int | None, strict: bool, as_json: bool, words: str
) -> int:
    """Dump or verify a namespace."""
    broker = open_broker(s.name, redis=s.redis, layout=s.layout)
    assert isinstance(broker, GocraftBroker)
    walk = broker.doctor.verification()
    wanted = (where or "").encode("utf-8", "surrogateescape")
    if action == "dump":
        return _dump(islice(_matching(walk, wanted), limit), walk, name=s.name, as_json=as_json)
    report = Report(name=s.name, words=words, limit=limit or SHOWN, kinds=FAULTS)
    flaws = ((flaw, flaw.fault) for flaw in walk.flaws() if wanted in flaw.key or wanted in (flaw.text or b""))
    faults = report.counted(flaws)
    if as_json:
        records.show_json(_fault_record(s.name, flaw, fault) for flaw, fault in faults)
    else:
        report.show((_brief(flaw), fault) for flaw, fault in faults)
        report.summary(f"{wording.plural(walk.keys, 'key')} and {wording.plural(walk.texts, 'job text')}")
    return report.status(strict=strict)


Held = tuple[Place, tuple[bytes, ...]]


def _matching(walk: Verification, wanted: bytes) -> Iterator[Held]:
    for place, rows in walk.contents():
        for row in rows:
            if wanted in raw(place.key) or any(wanted in part for part in row):
                yield place, row


def _dump(held: Iterator[Held], walk: Verification, *, name: str, as_json: bool) -> int:
    if as_json:
        records.show_json(_held_record(place, row) for place, row in held)
        return 0
    count, before = 0, ""
    for place, row in held:
        count += 1
        if place.key != before:
            terminal.data(f"{wording.printable(bytes_text(raw(place.key)))}  {TYPES[place.kind]}")
        before = place.key
        terminal.say("  " + "  ".join(wording.printable(part.decode("utf-8", "backslashreplace")) for part in row))
    keys = sum(map(len, walk.survey.found.values()))
    terminal.talk(f"{count:,} shown; {name} has {wording.plural(keys, 'key')}.")
    return 0


def _held_record(place: Place, row: tuple[bytes, ...]) -> dict[str, Any]:
    kind = TYPES[place.kind]
    names = {"zset": ("text", "score"), "hash": ("field", "value"), "set": ("member",), "string": ("value",)}
    record: dict[str, Any] = {**json_bytes("key", raw(place.key)), "type": kind}
    for name, part in zip(names.get(kind, ("text",)), row, strict=True):
        record |= json_bytes(name, part)
    return record


def _fault_record(schedule: str, flaw: Flaw, fault: Fault) -> dict[str, Any]:
    return fault_record(schedule, fault, json_bytes("key", flaw.key) | json_bytes("text", flaw.text))


def _brief(flaw: Flaw) -> str:
    key = wording.printable(brief_bytes(flaw.key))
    if flaw.text is None:
        return key
    id = id_of(flaw.text)
    return f"{key}  {wording.printable(shorten(id, 40) if id else brief_bytes(flaw.text))}"
