"""Acts on existing jobs: pause, resume, skip, run, cancel, interrupt. Also acts that change no job: check again,
repair, quiet a listener, purge the history, show a masked value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from workkit import schedule
from workkit.contract.admin import Forgotten, Quieted
from workkit.errors import ChangedMeanwhile, InvalidOptions, NotFound
from workkit.jobs.admission import SCHEDULE, Pause
from workkit.jobs.job import Job
from workkit.text.cells import shorten
from workkit.text.wording import iso, plural
from workkit.verbs import control
from workkit.verbs.opening import producer_of
from workkit.web.actions.action import LIST_FIELDS as ALL
from workkit.web.actions.action import Act, Doing, Done, NotAllowed, Order, called, undoing
from workkit.web.auth import may


@dataclass(frozen=True, slots=True)
class Left:
    """The pause after an act, or None. It must still hold when the act is undone."""

    pause: Pause | None


def pause(doing: Doing, order: Order, which: str | None) -> Done:
    """Pause a job or the schedule. Raises ChangedMeanwhile where this undoes an act and another pause holds."""
    before = _checked(doing, order, which)
    until = order.fields.get("until")
    end = None if until is None else doing.served.pause_end(until)
    schedule.pause(doing.s, which, reason=order.fields.get("reason"), until=end)
    left = Left(_pause(doing, which))
    lasts = f" until {doing.at(left.pause.until)}" if left.pause is not None and left.pause.until else ""
    undo = Order(verb="resume", which=_listed(which), kept=left) if before is None else _again(which, before, left)
    return Done(f"Paused {which or doing.schedule}{lasts}.", undo)


def resume(doing: Doing, order: Order, which: str | None) -> Done:
    """End a pause. Raises ChangedMeanwhile where this undoes an act and another pause holds."""
    before = _checked(doing, order, which)
    schedule.resume(doing.s, which)
    if before is None:
        return Done(f"{which or doing.schedule} was not paused.")
    return Done(f"Resumed {which or doing.schedule}.", _again(which, before, Left(None)))


def _checked(doing: Doing, order: Order, which: str | None) -> Pause | None:
    """Read the pause. Raises ChangedMeanwhile where it differs from the pause that the undone act left."""
    stands = _pause(doing, which)
    if isinstance(order.kept, Left) and order.kept.pause != stands:
        until = f", until {doing.at(stands.until)}" if stands is not None and stands.until else ""
        trouble = "is not paused any more" if stands is None else f"was paused anew meanwhile{until}"
        raise ChangedMeanwhile.about(which or doing.schedule, trouble, given=which)
    return stands


def _again(which: str | None, before: Pause, left: Left) -> Order:
    """Make the order that restores the former pause."""
    fields = {"reason": before.reason} if before.reason else {}
    if before.until is not None:
        fields["until"] = before.until.isoformat()
    return Order(verb="pause", which=_listed(which), fields=fields, kept=left)


def skip(doing: Doing, _: Order, which: str | None) -> Done:
    """Skip the next run of a recurring job."""
    assert which is not None, "it was checked"
    job = doing.inspector.job(which)
    following, undo = control.make(producer_of(doing.s), "skip", which)
    at, then = (doing.at(one.due) if one.due else "never" for one in (job, following))
    return Done(f"Skipped {called(job)} of {at}; next is {then}.", undoing(undo))


def run(doing: Doing, _order: Order, which: str | None) -> Done:
    """Run a job once now."""
    assert which is not None, "it was checked"
    job = doing.inspector.job(which)
    _, undo = control.make(producer_of(doing.s), "run", which)
    return Done(f"Running {called(job)}{', beside its times' if job.recurs else ''}.", undoing(undo))


def cancel(doing: Doing, _: Order, which: str | None) -> Done:
    """Cancel a job, or interrupt its run."""
    assert which is not None, "it was checked"
    job = doing.inspector.job(which)
    if job.recurs and not may(doing.role, "editor"):
        raise NotAllowed(f"{called(job)} recurs. Your role is {doing.role}; this needs editor.", given=which)
    after, undo = control.make(producer_of(doing.s), "cancel", which)
    if after.state == "cancelling":
        return Done(f"Cancelling {called(job)}: its run is interrupted.", undoing(undo))
    return Done(f"Cancelled {called(job)}.", undoing(undo))


def cancel_batch(doing: Doing, _: Order, which: str | None) -> Done:
    """Cancel a batch. Nothing undoes it: its members have left it. Raises NotFound."""
    assert which is not None, "it was checked"
    state = schedule.batch(doing.s, which).cancel()
    runs = f" {plural(state.waiting, 'run')} of it will be interrupted." if state.waiting else ""
    return Done(f"Cancelled the batch {which}.{runs}")


def interrupt(doing: Doing, order: Order, which: str | None) -> Done:
    """Cancel the run of a job that the fields name. Raises NotFound where it is over."""
    assert which is not None, "it was checked"
    job, listener, due = doing.inspector.job(which), order.fields.get("listener", ""), order.fields.get("due", "")
    held = (info for info in doing.inspector.listeners() if info.listener == listener)
    run = next(
        (one for info in held for one in info.running if one.id == job.id and one.due and iso(one.due) == due), None
    )
    if run is None:
        raise NotFound.about(f"That run of {called(job)}", "is over", "Nothing was cancelled.", given=which)
    doing.admin.cancel(run, listener=listener)
    return Done(
        f"Cancelling the run of {called(job)} that was due {doing.at(run.due or doing.now)}. It keeps its times."
    )


ACTS: Final[Mapping[str, Act]] = {
    "pause": Act(role="operator", needs="job or schedule", fields=("reason", "until", *ALL), one=pause, did="Paused"),
    "resume": Act(role="operator", needs="job or schedule", fields=ALL, one=resume, did="Resumed"),
    "run": Act(role="operator", fields=ALL, one=run, did="Running"),
    "skip": Act(role="operator", fields=ALL, one=skip, did="Skipped"),
    "interrupt": Act(role="operator", needs="one job", fields=("listener", "due"), one=interrupt, did="Cancelled"),
    "cancel": Act(role="operator", fields=ALL, one=cancel, did="Cancelled"),
    "cancel-batch": Act(role="operator", needs="batch", one=cancel_batch, did="Cancelled"),
}


def _pause(doing: Doing, which: str | None) -> Pause | None:
    paused = doing.inspector.control().paused
    if which is None:
        return paused.get(SCHEDULE)
    if f"job:{which}" in paused:
        return paused[f"job:{which}"]
    job = doing.inspector.job(which)
    return paused.get(f"job:{job.name or job.id}")


def _listed(which: str | None) -> tuple[str, ...]:
    return () if which is None else (which,)


def checkup(doing: Doing, _: Order, __: str | None) -> Done:
    """Check the schedule again."""
    doing.served.checkup.again()
    return Done(f"Checking {doing.schedule} again.")


def repair(doing: Doing, _: Order, which: str | None) -> Done:
    """Repair a fault that a checkup has found. Raises NotFound."""
    assert which is not None, "it was checked"
    finding = doing.served.checkup.finding(which)
    if finding is None:
        raise NotFound.about(f'finding "{which}"', "is over, or was found long ago", "Check again.", given=which)
    doing.admin.note("repair", {"faults": [finding.kind]})
    is_done = producer_of(doing.s).doctor.repair(finding)
    doing.served.checkup.forget(finding)
    return Done(f"Repaired: {finding.what}." if is_done else f"Nothing to repair any more: {finding.what}.")


def quiet(doing: Doing, _: Order, which: str | None) -> Done:
    """Make a listener take no new jobs. Jobs that it has taken still run."""
    assert which is not None, "it was checked"
    if not doing.admin.steer(Quieted(which, True)):
        return Done(f"{which} was quiet already.")
    return Done(f"{which} finishes what it runs, and takes nothing new.", Order(verb="listen", which=(which,)))


def listen(doing: Doing, _: Order, which: str | None) -> Done:
    """Make a quiet listener take jobs again."""
    assert which is not None, "it was checked"
    if not doing.admin.steer(Quieted(which, False)):
        return Done(f"{which} was not quiet.")
    return Done(f"{which} takes work again.", Order(verb="quiet", which=(which,)))


def purge(doing: Doing, _: Order, __: str | None) -> Done:
    """Delete the whole history of past runs."""
    doing.admin.steer(Forgotten())
    return Done(f"Purged the history of {doing.schedule}. Listeners begin anew; this cannot be undone.")


LONGEST_VALUE: Final = 100_000  # characters of a value


def show(doing: Doing, order: Order, which: str | None) -> Done:
    """Show a masked value. The change log records it first. Raises NotFound, InvalidOptions."""
    assert which is not None, "it was checked"
    path = order.fields.get("argument", "")
    job = doing.inspector.job(which)
    text = json.dumps(value_at(job, path), ensure_ascii=False, indent=1)
    doing.admin.note("show", {"argument": path}, job=job)
    return Done(f"Showed {path} of {called(job)}.", shown=shorten(text, LONGEST_VALUE))


def value_at(job: Job, path: str) -> Any:
    """Find a value among the arguments of a job by a path such as ``args/0/token`` or ``kwargs/token``, as in a JSON
    pointer. Raises NotFound, InvalidOptions.
    """
    kind, *steps = [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")]
    if kind not in ("args", "kwargs") or not steps:
        remedy = "Write argument=args/0 or argument=kwargs/NAME."
        raise InvalidOptions.about(f'argument="{path}"', "names no argument", remedy, where="argument", given=path)
    found: Any = job.args if kind == "args" else job.kwargs or {}
    for step in steps:
        if isinstance(found, Mapping) and step in found:
            found = found[step]
        elif isinstance(found, list | tuple) and step.isdecimal() and int(step[:9]) < len(found):
            found = found[int(step[:9])]
        else:
            raise NotFound.about(called(job), f'has no argument "{path}"', given=path)
    return found


UPKEEP: Final[Mapping[str, Act]] = {
    "checkup": Act(role="viewer", needs="schedule", one=checkup),
    "repair": Act(role="editor", one=repair),
    "quiet": Act(role="operator", needs="listener", one=quiet, did="Made quiet"),
    "listen": Act(role="operator", needs="listener", one=listen, did="Take work again:"),
    "purge": Act(role="editor", needs="schedule", one=purge),
    "show": Act(role="operator", needs="one job", fields=("argument",), one=show, did="Showed"),
}
