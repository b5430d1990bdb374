"""Check the locks of a namespace against what is in progress, and find texts that stay there though they have ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from workkit.brokers.gocraft.doctor.repair import Aside, Locked
from workkit.brokers.gocraft.doctor.survey import Survey, Text, raw, text_of
from workkit.brokers.gocraft.reap import ENDED
from workkit.brokers.gocraft.relock import Lock, relock
from workkit.brokers.gocraft.text import read, rewrite
from workkit.contract.doctor import Finding
from workkit.errors import CorruptRecord
from workkit.text.raw import brief_bytes, bytes_text


def locks(made: Survey, pools: Sequence[str]) -> dict[str, Lock]:
    """Look at the lock of every name that differs from what is in progress."""
    found = relock(made.server, made.keys, dict.fromkeys(_counted(made), b""), pools=pools)
    return {name: lock for name, lock in found.items() if lock.how}


def _counted(made: Survey) -> list[str]:
    return sorted({place.name for place in (*made.of("lock"), *made.of("lock_info"), *made.of("in_progress"))})


def wrong_locks(made: Survey, before: Mapping[str, Lock], pools: Sequence[str]) -> Iterator[Finding]:
    """Name the locks that still differ in the same way."""
    later = relock(made.server, made.keys, dict.fromkeys(sorted(before), b""), pools=pools)
    for name, lock in later.items():
        if lock.how == before[name].how:
            yield _finding(made, name, lock, pools)


def _finding(made: Survey, name: str, lock: Lock, pools: Sequence[str]) -> Finding:
    shown, jobs = brief_bytes(raw(name)), "1 job is" if lock.running == 1 else f"{lock.running:,} jobs are"
    value, number = brief_bytes(lock.value) if lock.value else "missing", lock.number
    differs = number != lock.running and (lock.value != b"" or lock.running != 0)
    if differs:
        kind, what = (
            "lock",
            f"the lock of {shown} is {value}, and {jobs} in progress",
        )
        if number is None and lock.value:
            why = "It is no number, so pools cannot take a job of this name."
        elif (number or 0) > lock.running:
            why = "Slots that nobody uses count as taken. If the name has a limit, fewer jobs start, or none."
        else:
            why = "Go pools let more jobs start than the limit allows."
    elif lock.gone:
        pools_gone = "1 pool that is" if lock.gone == 1 else f"{lock.gone:,} pools that are"
        kind, what = "lock-info", f"{brief_bytes(raw(made.keys.lock_info(name)))} counts {pools_gone} gone"
        why = "Go pools leave a field there for every pool that ever started. Nothing else removes it."
    else:
        kind, what = (
            "lock-info",
            f"{brief_bytes(raw(made.keys.lock_info(name)))} counts other jobs than are in progress",
        )
        why = "A Go pool subtracts it from the lock when it reaps the pool, and the lock is wrong from then on."
    return Finding(
        kind=kind,
        what=what,
        why=why,
        remedy=f"workkit doctor {made.keys.namespace} --fix",
        repairs=True,
        subject=Locked(name=name, how=lock.how, pools=tuple(pools)),
        about=(bytes_text(raw(name)),),
    )


def unended(made: Survey, before: Sequence[Text]) -> list[Text]:
    """Find texts that are in progress though their pool, which lives, runs nothing of their name: the script of Go ends
    another text of a unique job than the listed one. `before`: the texts that were found so at an earlier look.
    """
    known = Counter((text.place, text.data) for text in before)
    found = []
    for place in made.of("in_progress"):
        told, ids = made.asked(
            [
                ("HGET", made.keys.lock_info(place.name), place.of),
                ("HGET", made.keys.worker_pool(place.of), "worker_ids"),
            ]
        )
        is_told = isinstance(told, bytes) and told.lstrip(b"-").isdigit() and len(told) < 16
        if not is_told or int(told) > 0 or not isinstance(ids, bytes):
            continue
        busy = made.asked(("HGET", made.keys.worker(id), "job_name") for id in text_of(ids).split(",") if id)
        if raw(place.name) in busy:
            continue
        found += [text for text in made.texts_in(place) if _is_unique(text.data)]
    return [text for text in found if (text.place, text.data) in known] if before else found


def _is_unique(data: bytes) -> bool:
    try:
        return read(data).unique
    except CorruptRecord:
        return False


def left_over(made: Survey, texts: Sequence[Text]) -> Iterator[Finding]:
    """Name texts that stay in progress though they have ended."""
    for text in texts:
        job, place = read(text.data), text.place
        copy = rewrite(text.data, err=ENDED, failed_at=made.now_ms // 1000)
        yield Finding(
            kind="unended",
            what=f"job {brief_bytes(job.id.encode('utf-8', 'replace'))} is in progress in pool "
            f"{brief_bytes(raw(place.of))}, which runs nothing of {brief_bytes(raw(place.name))}",
            why="A Go pool ran a newer job with its unique key in its place. It would run too when that pool dies. "
            "The repair puts it into the dead set.",
            remedy=f"workkit doctor {made.keys.namespace} --fix",
            repairs=True,
            subject=Aside(key=place.key, kind="list", data=text.data, name=place.name, pool=place.of, copy=copy),
            about=(job.id,),
        )
