"""Cancel, skip or run a job so that it can be undone, and undo it. For faces that offer it a while later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workkit.contract.producer import Producer
from workkit.contract.undo import Undo, Undoable
from workkit.jobs.job import Job
from workkit.verbs.author import author_of
from workkit.verbs.control import check_run, check_skip
from workkit.verbs.which import Which, changeable


class Made(NamedTuple):
    """A change that was made: the job as it is then, and how to undo it (None: it cannot be undone)."""

    job: Job
    undo: Undo | None


def make(broker: Producer, verb: Undoable, which: Which) -> Made:
    """Change a job as the verb of this name does, and keep what undoes it. Raises what that verb raises."""
    undos: list[Undo] = []
    admin = broker.admin.by(author_of(None)).keeping(undos)
    job = changeable(broker.inspector, which)
    match verb:
        case "cancel":
            after = admin.cancel(job)
        case "skip":
            after = admin.skip(check_skip(job))
        case "run":
            after = admin.run(check_run(job, broker.inspector.control()))
    return Made(after, _only(undos))


def undo(broker: Producer, made: Undo) -> Job:
    """Undo a change, and return the job as it was. Raises ChangedMeanwhile, Unsupported."""
    return broker.admin.by(author_of(None)).undo(made)


def _only(undos: Sequence[Undo]) -> Undo | None:
    return undos[0] if undos else None
