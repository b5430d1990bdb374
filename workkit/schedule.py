"""The verbs: create a schedule, add jobs to it, look at them, take them out, listen.

Only here and in `verbs/` do times, functions, brokers and listeners meet. `create` does no I/O; the first verb that
needs the server connects. A program imports the file of a verb when it first uses the verb.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workkit.later import at_first_use

if TYPE_CHECKING:
    from workkit.jobs.meta import meta
    from workkit.verbs.addition import add, add_now
    from workkit.verbs.batch import Batch, BatchState, batch, chain, map
    from workkit.verbs.bulk import add_many
    from workkit.verbs.control import cancel, mark, pause, resume
    from workkit.verbs.creation import Schedule, create
    from workkit.verbs.dead import dead, discard, retry
    from workkit.verbs.opening import schedules
    from workkit.verbs.past import changes, counts, history, job, jobs, listeners, log, missed, runs, stats
    from workkit.verbs.rescheduling import reschedule, run, skip, snooze
    from workkit.verbs.result import result
    from workkit.verbs.serving import drain, forward, forwarder, listen, listener
    from workkit.verbs.syncing import sync
else:
    __getattr__ = at_first_use(
        __name__,
        {
            "workkit.jobs.meta": "meta",
            "workkit.verbs.addition": "add add_now",
            "workkit.verbs.batch": "Batch BatchState batch chain map",
            "workkit.verbs.bulk": "add_many",
            "workkit.verbs.control": "cancel mark pause resume",
            "workkit.verbs.creation": "Schedule create",
            "workkit.verbs.dead": "dead discard retry",
            "workkit.verbs.opening": "schedules",
            "workkit.verbs.past": "changes counts history job jobs listeners log missed runs stats",
            "workkit.verbs.rescheduling": "reschedule run skip snooze",
            "workkit.verbs.result": "result",
            "workkit.verbs.serving": "drain forward forwarder listen listener",
            "workkit.verbs.syncing": "sync",
        },
    )

__all__ = [
    "Batch", "BatchState", "Schedule", "add", "add_many", "add_now", "batch", "cancel", "chain", "changes", "counts",
    "create", "dead", "discard", "drain", "forward", "forwarder", "history", "job", "jobs", "listen", "listener",
    "listeners", "log", "map", "mark", "meta", "missed", "pause", "reschedule", "result", "resume", "retry",
    "run", "runs", "schedules", "skip", "snooze", "stats",
    "sync",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
