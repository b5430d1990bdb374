"""Listeners and forwarders of schedules, made from the arguments of the verbs, and run as a whole process.

The table of their options: `workkit.jobs.options`.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from workkit.brokers.layout import layout_of, layouts
from workkit.contract.producer import Tally
from workkit.errors import InvalidOptions, ListenerStopped
from workkit.jobs.importing import importing
from workkit.jobs.names import is_consumed, is_plain
from workkit.jobs.option_readers import option_error
from workkit.jobs.options import FORWARD, LISTEN, read_options
from workkit.text.wording import epoch_ms
from workkit.verbs.creation import Schedule, check_schedule
from workkit.verbs.opening import forwarding_ends, listening_brokers
from workkit.worker.listener import Listener, obeyed
from workkit.worker.loop import How


def listener_of(
    s: Schedule | Sequence[Schedule] | Mapping[Schedule, int],
    how: Mapping[str, Any],
    *,
    once_imported: Callable[[Sequence[Schedule]], None] | None = None,
    loop: AbstractEventLoop | None = None,
) -> Listener:
    """Make a listener: see `schedule.listener`. It calls `once_imported` with its schedules before it registers.
    `loop`: the program's event loop, for coroutines.
    """
    if not isinstance(s, Iterable) or isinstance(s, str):
        check_schedule(s)
    chosen = {s: 1} if isinstance(s, Schedule) else dict(s) if isinstance(s, Mapping) else dict.fromkeys(s, 1)
    if not chosen:
        raise InvalidOptions("no schedule was given to listen to.")
    for one, weight in chosen.items():
        check_schedule(one)
        if type(weight) not in (int, float) or not 0 < weight < float("inf"):
            remedy = "Accepted: numbers above 0, such as 10 or 0.5."
            raise InvalidOptions.about(f"{one.name}: {weight!r}", "is not a weight", remedy, given=weight)
    read, timeout_ms = read_how(how)
    _check_patterns(chosen, read)
    brokers = [
        (broker, weight) for one, weight in chosen.items() for broker in listening_brokers(one, timeout_ms=timeout_ms)
    ]
    passes = not any(layout_of(one.layout).has_job_names for one in chosen)
    ours = Listener(brokers, how=replace(read, loop=loop, passes=passes))
    if once_imported is not None:
        ours.call_once_imported(partial(once_imported, list(chosen)))
    return ours


def _check_patterns(schedules: Iterable[Schedule], how: How) -> None:
    """Refuse a pattern among the names of a listener if its schedules have no job names."""
    given = (("consumers", dict(how.consumers)), ("jobs", dict(how.jobs or ())))
    patterns = [(option, name) for option, names in given for name in names if not is_plain(name) and is_consumed(name)]
    if not patterns or any(layout_of(one.layout).has_job_names for one in schedules):
        return
    have_them = " or ".join(f"{one.noun} of the layout {one.name}" for one in layouts() if one.has_patterns)
    raise option_error(*patterns[0], f"holds a wildcard, and only {have_them} has patterns", "Name each job.")


def forwarder_of(s: Schedule, to: Schedule, how: Mapping[str, Any]) -> Listener:
    """Make the listener of a forward: see `schedule.forwarder`."""
    read, timeout_ms = _read_forward(how)
    brokers, other = forwarding_ends(s, to, timeout_ms=timeout_ms)
    return Listener([(broker, 1) for broker in brokers], how=read, to=other)


def until_stopped(make: Callable[[], Listener], *, verb: str) -> Tally:
    """Run a listener here until a signal stops it. Raises ListenerStopped while another one imports this program."""
    if (module := importing()) is not None:
        raise ListenerStopped(
            f'schedule.{verb} was called while a listener imported {module}. Put it under if __name__ == "__main__".'
        )
    ours = make()
    with obeyed(ours):
        return ours.run()


def drained(
    s: Schedule,
    how: Mapping[str, Any],
    *,
    to: Schedule | None,
    now: datetime | None,
    limit: int | None,
    raise_errors: bool,
) -> Tally:
    """See `schedule.drain`. Raises an `Invalid`, ServerUnreachable, ServerRefused."""
    from workkit.worker.drain import drain_brokers

    if now is not None and now.tzinfo is None:
        raise option_error("now", now, "has no zone", "Use datetime.now(UTC).")
    read, timeout_ms = read_how(how)
    now_ms = None if now is None else epoch_ms(now)
    other = None
    if to is None:
        _check_patterns([s], read)
        brokers = listening_brokers(s, timeout_ms=timeout_ms)
    else:
        brokers, other = forwarding_ends(s, to, timeout_ms=timeout_ms)
    return drain_brokers(brokers, how=read, now_ms=now_ms, limit=limit, raise_errors=raise_errors, to=other)


_DEFAULTS: Mapping[str, Any] = {
    "threads": 10, "coroutines": 100, "imports": (), "deadline": 25.0, "strict": False, "burst": False,
    "listener_timeout": 10.0, "health_port": None, "jobs": None, "consumers": (), "publish": True, "keep_unfit": 600.0,
    "listener_name": "",
}  # fmt: skip


def read_how(options: Mapping[str, Any]) -> tuple[How, int]:
    """Read the options of a listener, and after how many milliseconds without a heartbeat it loses its jobs.

    Raises InvalidOptions, TriggerError.
    """
    return _how({"folder": Path.cwd(), **read_options(options, place=LISTEN, verb="listen")})


def _read_forward(options: Mapping[str, Any]) -> tuple[How, int]:
    """Read the options of `forward`, as `read_how` does. It runs no function. Raises InvalidOptions, TriggerError."""
    return _how(
        {"threads": 1, "folder": None, "publish": False, **read_options(options, place=FORWARD, verb="forward")}
    )


def _how(options: Mapping[str, Any]) -> tuple[How, int]:
    read = {**_DEFAULTS, **options}
    timeout: float = read["listener_timeout"]
    how = How(
        threads=read["threads"],
        coroutines=read["coroutines"],
        imports=read["imports"],
        jobs=read["jobs"],
        consumers=read["consumers"],
        folder=read["folder"],
        deadline=timedelta(seconds=read["deadline"]),
        strict=read["strict"],
        burst=read["burst"],
        health=read["health_port"],
        stuck_after=timedelta(seconds=3 * timeout),
        publish=read["publish"],
        name=read["listener_name"],
        keep_unfit=timedelta(seconds=0 if read["burst"] else read["keep_unfit"]),  # a burst must end
    )
    return how, round(timeout * 1000)
