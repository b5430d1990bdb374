"""Judge every key and text of a namespace, for `wire verify`; and read it as it is, for `wire dump`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from workkit.brokers.gocraft.doctor.judge import (
    LEAKED,
    judge_fields,
    judge_life,
    judge_list,
    judge_name,
    judge_text,
    judge_type,
    judge_value,
)
from workkit.brokers.gocraft.doctor.keys import carried
from workkit.brokers.gocraft.doctor.survey import LIVES, PAGE, TYPES, Holding, Place, Survey, raw, survey
from workkit.brokers.gocraft.text import read
from workkit.contract.doctor import Fault
from workkit.errors import CorruptRecord

_VALUED: tuple[Holding, ...] = ("lock", "max_concurrency", "last_periodic_enqueue")
_HASHES: tuple[Holding, ...] = ("worker_pool", "lock_info")
_ENDING: tuple[Holding, ...] = ("unique", *LIVES)


@dataclass(frozen=True, slots=True)
class Flaw:
    """One fault, in the bytes of a key, and of a text in it (None: the key itself)."""

    key: bytes
    text: bytes | None
    fault: Fault


@dataclass(slots=True, kw_only=True)
class Verification:
    """One walk over a namespace. `keys` and `texts` count what was judged so far."""

    survey: Survey
    keys: int = 0
    texts: int = 0
    _left: set[str] = field(default_factory=set)

    def flaws(self) -> Iterator[Flaw]:
        """Judge every key, then every job text, then the unique keys whose job was nowhere."""
        made = self.survey
        self.keys = sum(map(len, made.found.values())) + len(made.wrong)
        for place, stands in sorted(made.wrong.items(), key=lambda pair: pair[0].key):
            yield _flaw(place, judge_type(place, stands))
        yield from self._values()
        yield from self._texts()
        if self._left:
            again = carried(survey(made.server, made.keys), self._left)
            for text in again.survey.texts():
                again.see(text)
            there = {place.key for place in again.survey.of("unique")}
            for key in sorted(again.left & there):
                yield _flaw(Place(key, "unique"), Fault(LEAKED, "no job has this unique key", True))

    def contents(self) -> Iterator[tuple[Place, list[tuple[bytes, ...]]]]:
        """Read every key with what it holds: texts, members with their scores, fields with their values."""
        made = self.survey
        for place in sorted((place for places in made.found.values() for place in places), key=lambda place: place.key):
            match TYPES[place.kind]:
                case "hash":
                    rows: list[tuple[bytes, ...]] = [(raw(name), value) for name, value in made.fields(place).items()]
                case "set":
                    rows = [(raw(member),) for member in made.members_of(place)]
                case "string":
                    rows = [(made.value(place),)]
                case _:
                    rows = [
                        (text.data,) if text.score is None else (text.data, b"%.17g" % text.score)
                        for text in made.texts_in(place)
                    ]
            yield place, rows

    def _values(self) -> Iterator[Flaw]:
        made = self.survey
        for name in made.members("known_jobs"):
            for fault in judge_name(name):
                yield Flaw(raw(made.keys.known_jobs), raw(name), fault)
        for place in (place for kind in _VALUED for place in made.of(kind)):
            yield from (_flaw(place, fault) for fault in judge_value(place, made.value(place)))
        for place in (place for kind in _HASHES for place in made.of(kind)):
            yield from (_flaw(place, fault) for fault in judge_fields(place, made.fields(place)))
        pools = set(made.members("worker_pools"))
        for place in made.of("in_progress"):
            yield from (_flaw(place, fault) for fault in judge_list(place, pools))
        ending = (place for kind in _ENDING for place in made.of(kind))
        while page := list(islice(ending, PAGE)):
            ttls = made.asked(("TTL", place.key) for place in page)
            for place, ttl in zip(page, ttls, strict=True):
                yield from (_flaw(place, fault) for fault in judge_life(place, ttl))

    def _texts(self) -> Iterator[Flaw]:
        seen = carried(self.survey)
        for text in self.survey.texts():
            self.texts += 1
            seen.see(text)
            for fault in judge_text(text.place, text.data, text.score):
                yield Flaw(raw(text.place.key), text.data, fault)
        self._left = seen.left


def _flaw(place: Place, fault: Fault) -> Flaw:
    return Flaw(raw(place.key), None, fault)


def id_of(data: bytes) -> str | None:
    """Read the id of a job text; None where there is none."""
    try:
        return read(data).id or None
    except CorruptRecord:
        return None
