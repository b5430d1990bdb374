"""Make findings of the faults that the judge names: texts that no pool can read, values that are no numbers, keys of a
wrong type, keys of ours without expiry.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from workkit.brokers.gocraft.doctor.fault import Fault
from workkit.brokers.gocraft.doctor.judge import WORDS, judge_fields, judge_life, judge_name, judge_text, judge_value
from workkit.brokers.gocraft.doctor.place import LIVES, TYPES, Place
from workkit.brokers.gocraft.doctor.repair import Aside, Endless
from workkit.brokers.gocraft.doctor.survey import PAGE, Survey, Text, raw
from workkit.brokers.redis_server.checks.checkup import wrong_type
from workkit.contract.doctor import Finding
from workkit.text.raw import brief_bytes, bytes_text

OF_DOCTOR = ("unreadable", "nameless", "stray", "score")
"""Faults of texts that hurt today. The others concern Go pools only: `wire verify` names them."""


def text_findings(made: Survey, text: Text) -> Iterator[Finding]:
    """Yield the faults of one text as findings."""
    for fault in judge_text(text.place, text.data, text.score):
        if fault.kind in OF_DOCTOR and not (fault.kind == "score" and text.place.kind == "dead"):
            yield _of_text(made, text, fault)


def _of_text(made: Survey, text: Text, fault: Fault) -> Finding:
    place, remedy = text.place, f"workkit doctor {made.keys.namespace} --fix"
    subject, what = None, f"{brief_bytes(raw(place.key))} has {_shown(text.data)}: {fault.what}"
    if fault.repairs:
        in_progress = place.kind == "in_progress"
        subject = Aside(
            key=place.key,
            kind=TYPES[place.kind],
            data=text.data,
            name=place.name if in_progress else "",
            pool=place.of if in_progress else "",
        )
        what += f"; the repair sets its bytes aside in {made.keys.unreadable}"
    elif fault.kind == "stray":
        remedy = "find out what put it there; a listener of ours that serves this queue moves it to the dead set"
    else:
        remedy = "find out what wrote it, and remove it with ZREM"
    return Finding(
        kind=fault.kind,
        what=what,
        why=fault.why,
        remedy=remedy,
        repairs=fault.repairs,
        subject=subject,
        about=(bytes_text(text.data),),
    )


def _shown(data: bytes) -> str:
    return brief_bytes(data) if data else "empty bytes"


def key_findings(made: Survey) -> Iterator[Finding]:
    """Name keys of a wrong type, and values that are no numbers."""
    for place, stands in sorted(made.wrong.items(), key=lambda pair: pair[0].key):
        kind = TYPES[place.kind]
        why = "The server refuses requests that need this key: jobs of its name do not run, or none of the namespace."
        yield wrong_type(bytes_text(raw(place.key)), WORDS.get(stands, stands), WORDS.get(kind, kind), why=why)
    for place in (*made.of("max_concurrency"), *made.of("last_periodic_enqueue")):
        for fault in judge_value(place, made.value(place)):
            yield _of_key(place, fault)
    for place in made.of("worker_pool"):
        for fault in judge_fields(place, made.fields(place)):
            yield _of_key(place, fault)
    for name in made.members("known_jobs"):
        for fault in judge_name(name):
            yield Finding(
                kind=fault.kind,
                what=fault.what,
                why=fault.why,
                remedy="rename the job in the program that adds it",
                about=(bytes_text(raw(name)),),
            )


def _of_key(place: Place, fault: Fault) -> Finding:
    key = bytes_text(raw(place.key))
    remedy = (
        f"redis-cli SET {key} NUMBER" if place.kind != "worker_pool" else f"redis-cli DEL {key}, once its pool is gone"
    )
    return Finding(
        kind=fault.kind, what=f"{brief_bytes(raw(place.key))}: {fault.what}", why=fault.why, remedy=remedy, about=(key,)
    )


def lives(made: Survey) -> Iterator[Finding]:
    """Name keys of ours that would never end."""
    places = (place for kind in LIVES for place in made.of(kind))
    while page := list(islice(places, PAGE)):
        ttls = made.asked(("TTL", place.key) for place in page)
        for place, ttl in zip(page, ttls, strict=True):
            for fault in judge_life(place, ttl):
                yield Finding(
                    kind=fault.kind,
                    what=f"{brief_bytes(raw(place.key))} has no expiry",
                    why=fault.why,
                    remedy=f"workkit doctor {made.keys.namespace} --fix",
                    repairs=True,
                    subject=Endless(key=place.key, life=LIVES[place.kind]),
                    about=(bytes_text(raw(place.key)),),
                )
