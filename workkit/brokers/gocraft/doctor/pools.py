"""Check the pools of a namespace: dead pools, pools without a heartbeat, and unlisted pools with jobs in progress; jobs
with which pools died; and waiting jobs: queues that no pool serves, paused and late queues, unknown names, and jobs
that a Go pool would bury.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workkit.brokers.doctor import FIX, WAIT, tally
from workkit.brokers.gocraft.doctor.judge import LIMIT, is_whole
from workkit.brokers.gocraft.doctor.survey import Place, Survey, Text, raw
from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.pool import STEP, hand_back
from workkit.brokers.gocraft.text import JobText, read
from workkit.brokers.redis_server.pages import server_ms
from workkit.brokers.redis_server.pipe import AS_READ
from workkit.brokers.redis_server.server import Server
from workkit.contract.doctor import Advice, CommandLine, Finding, Kind
from workkit.errors import CorruptRecord
from workkit.text.cells import brief_bytes, bytes_text, id_word
from workkit.text.wording import age_text

DEAD_MS = 11_000  # ms after its last heartbeat: ten seconds as in Go, and heartbeats are whole seconds
KILLED = 2  # pools; one may die for another reason with a job in progress, two hardly do
LATE_MS = 60_000  # ms; a job that has been in a queue for longer is a finding
LONG = 1000  # jobs in a paused queue; this many are a finding, however young they are
MOST_KEPT = 20_000  # texts in one finding
MOST_NAMED = 1000  # ids in one finding
LAST_S = 253_402_300_799  # epoch seconds; the end of the year 9999


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """One pool: its heartbeat as stored (empty: none), its names joined by commas, the limits of a pool of ours, and
    its jobs in progress.
    """

    id: str
    beat: str
    beat_ms: int | None
    names: str
    held: int
    lists: tuple[str, ...]
    is_ours: bool
    is_listed: bool
    limits: Mapping[str, int]

    @property
    def lives(self) -> bool:
        """Whether it sends heartbeats."""
        return self.is_listed and self.beat_ms is not None and self.beat_ms <= DEAD_MS

    def serves(self, name: str) -> bool:
        """Whether it lists a name. The name may contain commas."""
        return f",{name}," in f",{self.names},"

    @property
    def is_suspect(self) -> bool:
        """Whether it has no heartbeat. The heartbeat may only be late."""
        return self.beat_ms is None or not self.is_listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """All pools of a namespace that are listed or have jobs in progress."""

    pools: tuple[Pool, ...]

    @property
    def living(self) -> tuple[Pool, ...]:
        """The pools that send heartbeats."""
        return tuple(pool for pool in self.pools if pool.lives)

    @property
    def burying(self) -> tuple[Pool, ...]:
        """The Go pools that bury a due job if they do not serve its name. One without a heartbeat may serve nothing."""
        return tuple(p for p in self.pools if p.is_listed and not p.is_ours and (p.lives or p.beat_ms is None))

    def serves(self, name: str) -> bool:
        """Whether a living pool serves a name."""
        return any(pool.serves(name) for pool in self.living)


def fleet(made: Survey) -> Fleet:
    """Read the pools."""
    listed, lists = made.members("worker_pools"), made.of("in_progress")
    ids = sorted({*listed, *(place.of for place in lists)})
    lengths = made.asked(("LLEN", place.key) for place in lists)
    found = []
    for id in ids:
        heartbeat = made.keys.worker_pool(id)
        fields = [("HGET", heartbeat, field) for field in ("heartbeat_at", "job_names", "limits")]
        beat, names, limits, record = made.asked([*fields, ("EXISTS", made.keys.record(id))])
        beat, names = (value if isinstance(value, bytes) else b"" for value in (beat, names))
        own = [(place.name, length) for place, length in zip(lists, lengths, strict=True) if place.of == id]
        found.append(
            Pool(
                id=id,
                beat=beat.decode("utf-8", "surrogateescape"),
                beat_ms=made.now_ms - 1000 * int(beat) if is_whole(beat) else None,
                names=names.decode("utf-8", "surrogateescape"),
                held=sum(length for _, length in own if isinstance(length, int)),
                lists=tuple(name for name, _ in own),
                is_ours=record == 1,
                is_listed=id in listed,
                limits=_limits(limits) if record == 1 else {},
            )
        )
    return Fleet(pools=tuple(found))


def _limits(data: Any) -> dict[str, int]:
    """Read the limits in the heartbeat of a pool of ours. Another program may have written anything there."""
    try:
        found = json.loads(data) if isinstance(data, bytes) else {}
    except (ValueError, RecursionError):
        return {}
    members = found.items() if isinstance(found, dict) else ()
    return {name: limit for name, limit in members if type(limit) is int and limit > 0}


def limits(made: Survey, known: Fleet) -> Iterator[Finding]:
    """Report limits of our pools that do not hold, because another pool has set another limit or none."""
    wanted = {
        (name, limit): pool for pool in known.living for name, limit in sorted(pool.limits.items()) if pool.serves(name)
    }
    values = made.asked(("GET", made.keys.max_concurrency(name)) for name, _ in wanted)
    for ((name, limit), pool), value in zip(wanted.items(), values, strict=True):
        stands = int(value) if isinstance(value, bytes) and is_whole(value) else 0
        if stands != limit:
            has = f"the limit {stands:,}" if stands > 0 else "no limit"
            yield LIMIT.found(
                f"{brief_bytes(raw(name))} has {has}, and pool {brief_bytes(raw(pool.id))} says limit={limit}",
                f"give the job the same limit everywhere: work.JobOptions{{MaxConcurrency: {limit}}} in Go, "
                f"limit={limit} of @job here",
                why="Each Go pool that starts sets the limit of each of its jobs, to 0 where it has none. "
                "A pool of ours sets a limit that is gone again, with its next heartbeat.",
                about=(bytes_text(raw(name)),),
            )


# Pools that are gone.

UNLISTED = Kind(
    "unlisted", "orphan", "A pool that is not listed has jobs in progress.",
    "No Go pool looks at its list, so these jobs would never run.", "puts its jobs back into their queues",
)  # fmt: skip
NO_HEARTBEAT = Kind(
    "no-heartbeat", "orphan", "A pool is listed without a heartbeat.",
    "A Go pool takes it off the list and leaves its jobs in progress for ever.",
    "puts its jobs back into their queues, and takes it off the list",
)  # fmt: skip
STALE = Kind(
    "stale", "orphan", "A pool has sent no heartbeat for a while.",
    "Its process is gone. A pool of ours takes its jobs back within seconds, a Go pool within minutes.",
    "puts its jobs back into their queues, and takes it off the list",
)  # fmt: skip
CRASHED = Kind(
    "crashed", "hazard", "Several pools died while they ran a job.",
    "It may kill the process that runs it. With its third pool it goes to the dead set.",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """A dead pool, its heartbeat as it was read, and the names of its in-progress lists."""

    pool: str
    beat: str
    names: tuple[str, ...] = ()

    def repair(self, server: Server, keys: Keys) -> bool:
        """Put its jobs back, and remove it from the list."""
        lists = [keys.in_progress(name, self.pool).encode("utf-8", AS_READ) for name in self.names]
        with server.translated() as client:
            is_there = client.sismember(keys.worker_pools, self.pool.encode("utf-8", AS_READ))
            if not is_there and not (lists and client.exists(*lists)):
                return False
        while True:
            done = hand_back(server, keys, pool=self.pool, beat=self.beat, names=self.names)
            if done is None or not done[1]:
                return done is not None


def gone(made: Survey, known: Fleet, *, still: Fleet) -> Iterator[Finding]:
    """Report dead pools. One without a heartbeat is dead if it has none in `still` either, a later look."""
    before = {pool.id: pool for pool in known.pools}
    for pool in still.pools:
        if pool.lives or (pool.is_suspect and not (pool.id in before and before[pool.id].is_suspect)):
            continue
        jobs = tally(pool.held, "job") if pool.held else "nothing"
        name = brief_bytes(raw(pool.id))
        if not pool.is_listed:
            kind, what = UNLISTED, f"pool {name} has {jobs} in progress and is not in {made.keys.worker_pools}"
        elif pool.beat_ms is None:
            kind, what = NO_HEARTBEAT, f"pool {name} is listed without a heartbeat, and holds {jobs}"
        else:
            kind, what = STALE, f"pool {name} has sent no heartbeat for {age_text(pool.beat_ms)} and holds {jobs}"
        subject = Gone(pool=pool.id, beat=pool.beat, names=pool.lists)
        yield kind.found(what, subject=subject, about=(bytes_text(raw(pool.id)),))


def settled(known: Fleet, still: Fleet) -> Sequence[str]:
    """Name the pools with in-progress lists that no script finds by itself, because the pools are not listed."""
    return tuple(pool.id for pool in (*known.pools, *still.pools) if not pool.is_listed)


def again(made: Survey, known: Fleet) -> Fleet:
    """Read the pools a second time, with the server's present time."""
    return fleet(replace(made, now_ms=server_ms(made.server))) if known.pools else known


def crashed(made: Survey) -> Iterator[Finding]:
    """Report jobs with which several pools died."""
    for place in made.of("crashes"):
        for mark, count in sorted(made.fields(place).items()):
            if is_whole(count) and int(count) >= KILLED:
                yield CRASHED.found(
                    f"{int(count):,} pools died while they ran job {brief_bytes(raw(mark))}",
                    "look at its function and arguments: ",
                    CommandLine(verb="show", schedule=made.keys.namespace, which=(id_word(raw(mark)),)),
                    about=(bytes_text(raw(mark)),),
                )


# Waiting jobs.

BURIED = Kind(
    "buried", "hazard", "A Go pool will bury jobs with a name that it does not serve.",
    "A Go pool that finds a job due which it does not serve puts it into the dead set.",
    "moves them to keys where no Go pool looks, if a pool of ours lives",
)  # fmt: skip
HELD = Kind(
    "held", "orphan", "Jobs wait in keys of ours, and no pool of ours lives.",
    "Go pools do not look there: it keeps jobs that one of them would bury.",
)  # fmt: skip
UNKNOWN_NAME = Kind(
    "unknown-name", "deviation", "A name has a queue, and is not among the known names.",
    "The client and the web UI of Go do not show its queue, and dead jobs of it cannot be retried there.",
    "adds it to `NSknown_jobs`",
)  # fmt: skip
PAUSED_QUEUE = Kind(
    "paused", "hazard", "Jobs have waited in a paused queue for more than a minute, or are more than 1,000.",
    "None of them starts before somebody resumes it.",
)  # fmt: skip
OVERDUE = Kind(
    "overdue", "hazard", "The next job of a queue has waited for more than a minute.",
    "The pools that serve it cannot keep up, or its limit is reached.",
)  # fmt: skip
NO_LISTENER = Kind("no-listener", "orphan", "No pool lives, and jobs wait.", "No job runs until a pool starts.")
NOBODY_RUNS = Kind(
    "nobody-runs", "orphan", "Jobs wait in a queue that no living pool serves.",
    "They wait for a pool that serves this name.",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposed:
    """Jobs of one name in `NSscheduled` or `NSretry` (`place`) that a Go pool would bury."""

    place: str
    name: str
    texts: tuple[bytes, ...]

    def repair(self, server: Server, keys: Keys) -> bool:
        """Move them to keys where no Go pool looks."""
        moved, place = 0, 1 if self.place == "scheduled" else 2
        for start in range(0, len(self.texts), STEP):
            rows = [part for text in self.texts[start : start + STEP] for part in (place, self.name, text)]
            moved += int(server.run(keys, "hold", [keys.prefix, "", 0, 0, *rows])[0])
        return moved > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A name with a queue that is missing in `NSknown_jobs`."""

    name: str

    def repair(self, server: Server, keys: Keys) -> bool:
        """List it."""
        return bool(server.run(keys, "know", [keys.prefix, self.name]))


@dataclass(slots=True)
class Waiting:
    """Jobs in the shared sorted sets under names that some Go pool does not serve. `see` takes every text of a walk."""

    survey: Survey
    fleet: Fleet
    exposed: dict[tuple[str, str], list[bytes]] = field(default_factory=dict)

    def see(self, text: Text, job: JobText) -> None:
        """Note a job that a Go pool would bury when it is due."""
        if text.place.kind not in ("scheduled", "retry") or not job.name:
            return
        is_guarded = any(pool.is_ours and pool.serves(job.name) for pool in self.fleet.living)  # by its heartbeats
        if not is_guarded and any(not pool.serves(job.name) for pool in self.fleet.burying):
            texts = self.exposed.setdefault((text.place.kind, job.name), [])
            if len(texts) < MOST_KEPT:
                texts.append(text.data)

    def findings(self) -> Iterator[Finding]:
        """Yield the findings of the walk, and those of the queues."""
        for (place, name), texts in sorted(self.exposed.items()):
            yield self._buried(place, name, texts)
        yield from self._held()
        known = set(self.survey.members("known_jobs"))
        queues = self.survey.of("queue")
        lengths = self.survey.asked(("LLEN", queue.key) for queue in queues)
        unserved = []
        for queue, length in zip(queues, lengths, strict=True):
            if not isinstance(length, int) or not length:
                continue
            if queue.name not in known:
                what = f"{_name(queue)} has a queue and is not in {self.survey.keys.known_jobs}"
                yield UNKNOWN_NAME.found(what, subject=Unknown(name=queue.name), about=_about(queue))
            if (paused := self._paused(queue, length)) is not None:
                yield paused
            elif not self.fleet.serves(queue.name):
                unserved.append((queue, length))
            elif (late := self._oldest(queue)) is not None and late >= LATE_MS:
                jobs = tally(length, "job", *WAIT)
                what = f"{jobs} in the queue of {_name(queue)}; the next of them for {age_text(late)}"
                advice = _do(self.survey, "listen"), ", on more machines or with more --threads"
                yield OVERDUE.found(what, *advice, about=_about(queue))
        if unserved:
            yield from self._unserved(unserved)

    def _buried(self, place: str, name: str, texts: list[bytes]) -> Finding:
        repairs = any(pool.is_ours for pool in self.fleet.living)
        jobs = tally(len(texts), "job")
        pools = [brief_bytes(raw(pool.id)) for pool in self.fleet.burying if not pool.serves(name)]
        key = self.survey.keys.scheduled if place == "scheduled" else self.survey.keys.retry
        fix = _do(self.survey, "doctor", FIX)
        advice: tuple[Advice, ...] = () if repairs else (_do(self.survey, "listen"), "; then ", fix)
        return BURIED.found(
            f"{jobs} of {brief_bytes(raw(name))} in {key} will be buried by the Go pool {pools[0]}"
            + (f" or {len(pools) - 1:,} more" if len(pools) > 1 else ""),
            *advice,
            subject=Exposed(place=place, name=name, texts=tuple(texts)) if repairs else None,
            about=tuple(read(text).id for text in texts[:MOST_NAMED]),
        )

    def _held(self) -> Iterator[Finding]:
        """Report jobs in keys of ours that no pool moves."""
        if any(pool.is_ours for pool in self.fleet.living):
            return
        for place in (*self.survey.of("held"), *self.survey.of("held_retry")):
            (count,) = self.survey.asked([("ZCARD", place.key)])
            yield HELD.found(
                f"{tally(count, 'job', *WAIT)} in {place.key}, and no pool of ours lives", _do(self.survey, "listen")
            )

    def _paused(self, queue: Place, length: int) -> Finding | None:
        (is_paused,) = self.survey.asked([("EXISTS", self.survey.keys.paused(queue.name))])
        if not is_paused or (length < LONG and (self._oldest(queue) or 0) < LATE_MS):
            return None
        whole, options = (" with its namespace", ()) if self.survey.of("paused_all") else ("", (("fn", queue.name),))
        what = f"{_name(queue)} is paused{whole}, and {tally(length, 'job', *WAIT)}"
        return PAUSED_QUEUE.found(what, _do(self.survey, "resume", *options), about=_about(queue))

    def _oldest(self, queue: Place) -> int | None:
        """Return for how many ms the next job has been in its queue."""
        (data,) = self.survey.asked([("LINDEX", queue.key, "-1")])
        try:
            at = read(data).t if isinstance(data, bytes) else 0
        except CorruptRecord:
            return None
        return self.survey.now_ms - 1000 * at if 0 < at <= LAST_S else None

    def _unserved(self, queues: list[tuple[Place, int]]) -> Iterator[Finding]:
        if not self.fleet.living:
            total = tally(sum(length for _, length in queues), "job", *WAIT)
            what = f"no pool lives in {self.survey.keys.namespace}, and {total}"
            yield NO_LISTENER.found(what, _do(self.survey, "listen"))
            return
        for queue, length in queues:
            what = f"{tally(length, 'job', *WAIT)} in the queue of {_name(queue)}, and no pool that lives serves it"
            advice = _do(self.survey, "listen"), f", on a machine with the code of {_name(queue)}"
            yield NOBODY_RUNS.found(what, *advice, about=_about(queue))


def _do(made: Survey, verb: str, *options: tuple[str, str | None]) -> CommandLine:
    return CommandLine(verb=verb, schedule=made.keys.namespace, options=options)


def _name(queue: Place) -> str:
    return brief_bytes(raw(queue.name))


def _about(queue: Place) -> tuple[str, ...]:
    return (bytes_text(raw(queue.name)),)
