"""Which schedules a server knows, whether it knows one, and what only some layouts tell of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from workkit.brokers.layout import Keeps, chosen_layout, layout_of
from workkit.contract.broker import Inspector
from workkit.contract.inspector import LimitUse, QueueInfo
from workkit.contract.optional import ByTime, Limits, Queues
from workkit.errors import InvalidSchedule, ServerRefused, Unsupported
from workkit.verbs.creation import Schedule, create
from workkit.verbs.opening import producer_of

if TYPE_CHECKING:
    from workkit.verbs.creation import Client


def schedules(*, redis: str | Client | None = None, layout: str | None = None) -> list[Schedule]:
    """List the schedules of a server, by their names: `redis` and `layout` are those of `create`.

    A schedule is there from its first job, listener, pause or plan on, and as long as the server keeps anything of it,
    such as past runs. Shards are one schedule: its `shards` reach to the highest one that has a key. With layout
    "gocraft" the namespaces are listed. The names of all keys are looked through in pages, a million in about two
    seconds; the server serves others meanwhile.

    Raises ServerUnreachable; ServerRefused for a user who may not SCAN; InvalidSchedule; Unsupported for RabbitMQ,
    which does not tell the exchanges of schedules from others.
    """
    found, _ = schedules_at(redis, layout=layout)
    return found


def schedules_at(redis: Any, *, layout: str | None, seconds: float | None = None) -> tuple[list[Schedule], bool]:
    """List the schedules of a server as `schedules` does, and say whether these are all: it looks for so many `seconds`
    at most.
    """
    from workkit.brokers.connect import find_schedules

    chosen = chosen_layout(layout)
    found = find_schedules(redis=redis, layout=chosen.name, seconds=seconds)
    made: list[Schedule] = []
    for name, shards in (_as_wholes(found.names) if chosen.takes("shards") else dict.fromkeys(found.names, 1)).items():
        with suppress(InvalidSchedule):  # a key of another program, whose name no schedule has
            made.append(create(name, redis=redis, layout=chosen.name, shards=shards))
    return made, found.is_whole


def _as_wholes(names: Iterable[str]) -> dict[str, int]:
    """Put the shards of a schedule together: its name, and how many shards it has at least."""
    from workkit.brokers.shards import shard_in

    wholes: dict[str, int] = {}
    for name in names:
        whole, number = shard_in(name) or (name, 0)
        wholes[whole] = max(wholes.get(whole, 1), number + 1)
    return dict(sorted(wholes.items()))


def is_known(s: Schedule) -> bool | None:
    """Say whether the server knows a schedule; None where it does not tell, or not this user. Raises
    ServerUnreachable, InvalidSchedule.
    """
    try:
        return producer_of(s).inspector.is_known()
    except ServerRefused:
        return None


def queues_of(s: Schedule, jobs: Sequence[str] = ()) -> list[QueueInfo]:
    """List the queues of a schedule: see `Queues`. Raises Unsupported on Redis: `counts` says all that there is."""
    trouble, remedy = "are something that only layouts on RabbitMQ have", f"Count its jobs: workkit stats {s.name}."
    return cast("Queues", _with(Keeps.QUEUES, s, f"queues of {s.name}", trouble, remedy)).queues(jobs=jobs)


def by_time_of(s: Schedule) -> ByTime:
    """The side that looks at jobs by their times: see `ByTime`. Raises Unsupported where the server cannot."""
    trouble = f"cannot be counted by its time in {layout_of(s.layout).server}"
    remedy = f"Count them: workkit stats {s.name}."
    return cast("ByTime", _with(Keeps.BY_TIME, s, "what is planned", trouble, remedy))


def limits_of(s: Schedule, *, like: str = "") -> list[LimitUse]:
    """Tell which limits are in use: see `Limits`. Raises Unsupported."""
    layout = layout_of(s.layout)
    remedy = "Put a Redis beside it, which counts them: redis=." if Keeps.LIMITS in layout.keeps_beside else ""
    side = _with(Keeps.LIMITS, s, "limits", f"are not kept by {layout.server}", remedy)
    return cast("Limits", side).limits(like=like)


def _with(side: Keeps, s: Schedule, what: str, trouble: str, remedy: str) -> Inspector:
    """The inspector of a schedule, where it has this optional side. Raises Unsupported."""
    if side not in layout_of(s.layout).kept(with_redis=s.redis is not None):
        raise Unsupported.about(what, trouble, remedy)
    return producer_of(s).inspector
