"""The verbs that run jobs: listen, forward, drain. They import the listener only when they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Unpack

from workkit.contract.producer import Tally
from workkit.errors import InvalidOptions
from workkit.jobs.call import ForwardOptions, ListenOptions
from workkit.verbs.creation import Schedule

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from workkit.worker.listener import Listener


def listen(s: Schedule | Sequence[Schedule] | Mapping[Schedule, int], **how: Unpack[ListenOptions]) -> Tally:
    """Run due jobs here until SIGINT or SIGTERM: finish running jobs within the deadline, give back all others.

    `s` is one schedule, several, or a mapping to weights. `how`: threads=10, coroutines=100, imports=(),
    folder=Path.cwd() (None: only imports), jobs=None (in the layouts gocraft, hutch and event, the job names to serve:
    "send_email:10"), consumers=None (functions under job names, without a mark: {"orders.created":
    "app.orders:on_created"}), deadline="25s", listener_name=None (its name where listeners are shown; None: its host
    and process), strict=False (schedules strictly in order), burst=False (only jobs that are due now),
    listener_timeout="10s" (without a heartbeat for this time, a listener loses its jobs to others), health_port=None (a
    port, or "ADDRESS:PORT", for /livez, /readyz and /metrics), keep_unfit="10m" (a job with arguments that do not fit
    is left for other listeners for this time from its due time; then it is dead), publish=True (False: do not publish
    on the server which functions it knows), sync=False (True, or a pyproject.toml: first carry out the plans of
    imported modules, and of the file, unless a newer plan holds), plan_version=None (of two plans, which is newer).
    Raises ServerUnreachable where the server cannot be reached at the start; later it waits. Its reports go to the
    standard logger `workkit`: a dead job is one ERROR. A loop that does nothing for three times listener_timeout ends
    the process with status 70.
    """
    from workkit.verbs.listening import until_stopped

    return until_stopped(lambda: listener(s, **how), verb="listen")


def listener(s: Schedule | Sequence[Schedule] | Mapping[Schedule, int], **how: Unpack[ListenOptions]) -> Listener:
    """Make the listener of `listen`, not yet started. It has ``.start() .stop(deadline) .quiet() .resume() .wait()``;
    ``with`` starts and stops it.
    """
    return listener_on(None, s, how)


def listener_on(
    loop: AbstractEventLoop | None,
    s: Schedule | Sequence[Schedule] | Mapping[Schedule, int],
    how: ListenOptions,
) -> Listener:
    """Make a listener that runs coroutines on this loop of the program; None: on one of its own."""
    from workkit.verbs.listening import listener_of

    if not how.get("sync"):
        return listener_of(s, how, loop=loop)
    from workkit.verbs.syncing import sync_at_start

    return listener_of(s, how, once_imported=partial(sync_at_start, how=how), loop=loop)


def forward(s: Schedule, *, to: Schedule, **how: Unpack[ForwardOptions]) -> Tally:
    """Publish each due job of `s` to the schedule `to`, of any layout, until SIGINT or SIGTERM. Its function need not
    exist here.

    A job of `s` has ended once `to` has acknowledged it: at least once, and once while no process and no server dies.
    While `to` cannot be reached, or is full, its jobs wait. One that the layout of `to` refuses is dead in `s`, with
    the reason. `how`: deadline="25s", burst=False (only jobs that are due now), listener_timeout="10s",
    health_port=None, as in `listen`. Raises InvalidSchedule; ServerUnreachable where a server cannot be reached at the
    start.
    """
    from workkit.verbs.listening import until_stopped

    return until_stopped(lambda: forwarder(s, to=to, **how), verb="forward")


def forwarder(s: Schedule, *, to: Schedule, **how: Unpack[ForwardOptions]) -> Listener:
    """Make the listener of `forward`, not yet started. ``with`` starts and stops it in a thread of its own, as
    `listener`.
    """
    from workkit.verbs.listening import forwarder_of

    return forwarder_of(s, to, how)


def drain(
    s: Schedule,
    *,
    to: Schedule | None = None,
    now: datetime | None = None,
    limit: int | None = None,
    raise_errors: bool = True,
    **how: Unpack[ListenOptions],
) -> Tally:
    """Run the due jobs, here and one by one, until none is due; for tests and one-off runs.

    `now` simulates the time until then, as if a listener was there: each occurrence of a recurring job, and each
    further attempt, runs at its own time. `to`: publish the jobs there, as `forward` does. `limit`: the most runs. An
    error of a handler is recorded, then raised, also if another attempt follows; with `raise_errors` False it is only
    counted, as `failed` or `retried`.
    """
    from workkit.verbs.listening import drained

    if how.get("sync"):
        trouble, remedy = "belongs to schedule.listen", "Call schedule.sync(s) before."
        raise InvalidOptions.about("sync=", trouble, remedy, where="sync", given=how["sync"])
    return drained(s, how, to=to, now=now, limit=limit, raise_errors=raise_errors)
