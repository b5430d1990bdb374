"""Check the pools of a namespace: those that are dead, have no heartbeat, or are not listed but have jobs in progress;
jobs that no pool serves; jobs with which pools died.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workkit.brokers.gocraft.doctor.judge import is_whole
from workkit.brokers.gocraft.doctor.repair import Dead
from workkit.brokers.gocraft.doctor.survey import Survey, raw
from workkit.brokers.redis_server.pages import server_ms
from workkit.contract.doctor import Finding
from workkit.text.duration import age_text
from workkit.text.raw import brief_bytes, bytes_text

DEAD_MS = 11_000  # after its last heartbeat: ten seconds as in Go, and heartbeats are whole seconds
KILLED = 2  # a pool may die for another reason with a job in progress; two pools hardly do


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """One pool: its heartbeat as it is written (empty: none), its names joined by commas, the limits of a pool of ours,
    and what it has in progress.
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
        """Whether it lists a name, which may have commas itself."""
        return f",{name}," in f",{self.names},"

    @property
    def is_suspect(self) -> bool:
        """Whether it has no heartbeat, which may only be late."""
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
        """The Go pools that bury a due job whose name they do not serve. One without a heartbeat may serve nothing."""
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
    """Read the limits in the heartbeat of a pool of ours; another program may have written anything there."""
    try:
        found = json.loads(data) if isinstance(data, bytes) else {}
    except (ValueError, RecursionError):
        return {}
    members = found.items() if isinstance(found, dict) else ()
    return {name: limit for name, limit in members if type(limit) is int and limit > 0}


def limits(made: Survey, known: Fleet) -> Iterator[Finding]:
    """Name the limits of pools of ours that do not hold, because another pool has set another one or none."""
    said = {
        (name, limit): pool for pool in known.living for name, limit in sorted(pool.limits.items()) if pool.serves(name)
    }
    values = made.asked(("GET", made.keys.max_concurrency(name)) for name, _ in said)
    for ((name, limit), pool), value in zip(said.items(), values, strict=True):
        stands = int(value) if isinstance(value, bytes) and is_whole(value) else 0
        if stands == limit:
            continue
        shown = brief_bytes(raw(name))
        yield Finding(
            kind="limit",
            what=f"{shown} has {f'the limit {stands:,}' if stands > 0 else 'no limit'}, "
            f"and pool {brief_bytes(raw(pool.id))} says limit={limit}",
            why="Each Go pool that starts sets the limit of each of its jobs, to 0 where it has none. "
            "A pool of ours sets a limit that is gone again, with its next heartbeat.",
            remedy=f"give the job the same limit everywhere: work.JobOptions{{MaxConcurrency: {limit}}} in Go, "
            f"limit={limit} of @job here",
            about=(bytes_text(raw(name)),),
        )


def gone(made: Survey, known: Fleet, *, still: Fleet) -> Iterator[Finding]:
    """Name pools that are dead. One without a heartbeat is dead if it is without one in `still` too, a later look."""
    before = {pool.id: pool for pool in known.pools}
    for pool in still.pools:
        if pool.lives or (pool.is_suspect and not (pool.id in before and before[pool.id].is_suspect)):
            continue
        jobs = "nothing" if not pool.held else "1 job" if pool.held == 1 else f"{pool.held:,} jobs"
        name = brief_bytes(raw(pool.id))
        if not pool.is_listed:
            kind, what = "unlisted", f"pool {name} has {jobs} in progress and is not in {made.keys.worker_pools}"
            why = "No Go pool looks at its list, so these jobs would never run."
        elif pool.beat_ms is None:
            kind, what = "no-heartbeat", f"pool {name} is listed without a heartbeat, and holds {jobs}"
            why = "A Go pool takes it off the list and leaves its jobs in progress for ever."
        else:
            kind, what = "stale", f"pool {name} has sent no heartbeat for {age_text(pool.beat_ms)} and holds {jobs}"
            why = "Its process is gone. A pool of ours takes its jobs back within seconds, a Go pool within minutes."
        yield Finding(
            kind=kind,
            what=what,
            why=why,
            remedy=f"workkit doctor {made.keys.namespace} --fix",
            repairs=True,
            subject=Dead(pool=pool.id, beat=pool.beat, names=pool.lists),
            about=(bytes_text(raw(pool.id)),),
        )


def settled(known: Fleet, still: Fleet) -> Sequence[str]:
    """Name the pools whose in-progress lists no script finds by itself: those that are not listed."""
    return tuple(pool.id for pool in (*known.pools, *still.pools) if not pool.is_listed)


def crashed(made: Survey) -> Iterator[Finding]:
    """Name jobs with which several pools died."""
    for place in made.of("crashes"):
        for mark, count in sorted(made.fields(place).items()):
            if is_whole(count) and int(count) >= KILLED:
                yield Finding(
                    kind="crashed",
                    what=f"{int(count):,} pools died while they ran job {brief_bytes(raw(mark))}",
                    why="It may kill the process that runs it. With its third pool it goes to the dead set.",
                    remedy=f"look at its function and arguments: workkit show {made.keys.namespace} "
                    f"{brief_bytes(raw(mark))}",
                    about=(bytes_text(raw(mark)),),
                )


def again(made: Survey, known: Fleet) -> Fleet:
    """Look at the pools a second time, with the server's clock of now."""
    return fleet(replace(made, now_ms=server_ms(made.server))) if known.pools else known
