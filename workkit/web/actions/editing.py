"""Acts that add or replace content: add a job, edit one, change its arguments or its time, spread it; and restore the
former content.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from workkit.contract.composed import owning_sync
from workkit.contract.mask import mask
from workkit.contract.record import words_of
from workkit.errors import ChangedMeanwhile, Invalid, InvalidOptions, Unsupported
from workkit.jobs.arguments import KnownFunction, check_known
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.verbs import rescheduling
from workkit.web import job_form
from workkit.web.actions.action import Act, Doing, Done, Order, called, undone_by


def add(doing: Doing, order: Order, _: str | None) -> Done:
    """Add a job. Its name must be free."""
    given = _checked(doing, job_form.keywords(order.fields, known=_known(doing, order)))
    job = rescheduling.saved(doing.s, given, seen=None, form=order.form)
    if job is None:
        trouble = f"is the name of a job already: {_content(doing.inspector.job(given['name']))}"
        raise ChangedMeanwhile.about(
            f'"{given["name"]}"', trouble, "Edit that one, or choose another name.", given=given["name"]
        )
    leads_to = job.name or job.id
    if not job.new:
        return Done(f"{called(job)} stands already; nothing has changed.", leads_to=leads_to)
    return Done(_saved(doing, job), Order(verb="cancel", which=(job.id,)), leads_to=leads_to)


def edit(doing: Doing, order: Order, which: str | None) -> Done:
    """Replace a job by the content of the form, if the job is still as the user saw it."""
    stands = _stands(doing, order, which)
    filled = {"tz": job_form.of_time(stands)[1], **order.fields}
    given = job_form.keywords(filled, stands=stands, known=_known(doing, order))
    if not given.get("name"):
        trouble = "is empty: without a name two jobs would stand"
        raise InvalidOptions.about("name", trouble, "Give the job a name.", where="name")
    done = _save(doing, given, stands, keeps_time=job_form.keeps_time(filled, stands))
    return replace(done, leads_to=given["name"])


def arguments(doing: Doing, order: Order, which: str | None) -> Done:
    """Change the arguments of a job: a JSON list, and a JSON object."""
    return _change(doing, order, which, {name: order.fields.get(name, "") for name in ("args", "kwargs")})


def spread(doing: Doing, order: Order, which: str | None) -> Done:
    """Delay every run of a job by its part of the spread."""
    return _change(doing, order, which, {"spread": order.fields.get("spread", "")})


def reschedule(doing: Doing, order: Order, which: str | None) -> Done:
    """Change the time of a job, and keep everything else."""
    assert which is not None, "it was checked"
    when, tz, seen = (order.fields.get(name) for name in ("when", "tz", "seen"))
    before, after = rescheduling.rescheduled(doing.s, which, {"typed": when or "", "tz": tz}, seen=seen)
    if not after.new:
        return Done(f"{called(after)} is so already; nothing has changed.")
    at = f", next {doing.at(after.due)}" if after.due else ""
    owned = owning_sync(doing.inspector, after.name) is not None
    plan = " A plan owns it; the next sync sets it back." if owned else ""
    undo = undone_by(partial(_put_time_back, before, after), role="editor")
    return Done(f"Rescheduled {called(after)}: {words_of(after) or 'at once'}{at}.{plan}", undo)


FIELDS: Final = job_form.FIELDS
ACTS: Final[Mapping[str, Act]] = {
    "add": Act(role="editor", needs="schedule", fields=FIELDS, one=add),
    "edit": Act(role="editor", fields=FIELDS, one=edit),
    "arguments": Act(role="editor", fields=("args", "kwargs", "shown", "seen"), one=arguments),
    "spread": Act(role="editor", fields=("spread", "seen"), one=spread),
    "reschedule": Act(role="editor", needs="one job", fields=("when", "tz", "seen"), one=reschedule),
}


def _put_time_back(former: Job, latter: Job, doing: Doing, _: Order, __: str | None) -> Done:
    """Restore the former time of a job."""
    job = rescheduling.put_back(doing.s, former, over=latter)
    return Done(f"Put {called(job)} back: {_content(job)}.")


def _put_back(former: Job, latter: Job, doing: Doing, _: Order, __: str | None) -> Done:
    """Restore the former content of a job."""
    job = rescheduling.put_content_back(doing.s, former, over=latter)
    if job is None:
        raise ChangedMeanwhile(f"It changed meanwhile: {called(latter)} is another job by now, and was left as it is.")
    return Done(f"Put {called(job)} back: {_content(job)}.")


def _change(doing: Doing, order: Order, which: str | None, said: Mapping[str, str]) -> Done:
    """Change a part of a job, and keep the rest as it is stored, its time too."""
    stands = _stands(doing, order, which)
    stored = job_form.form_of_job(stands, mask=mask(decide=_show, looks=False))
    if "args" in said and order.fields.get("shown"):
        stored["shown"] = order.fields["shown"]
    return _save(doing, job_form.keywords({**stored, **said}, stands=stands), stands, keeps_time=True)


def _save(doing: Doing, given: dict[str, Any], stands: Job, *, keeps_time: bool) -> Done:
    job = rescheduling.saved(doing.s, _checked(doing, given), seen=stands, stands=stands if keeps_time else None)
    if job is None:
        raise _changed(doing, given.get("name") or stands.id, stands)
    if not job.new:
        return Done(f"{called(job)} is so already; nothing has changed.")
    undo = undone_by(partial(_put_back, stands, job), role="editor")
    return Done(_saved(doing, job), undo)


def _stands(doing: Doing, order: Order, which: str | None) -> Job:
    assert which is not None, "it was checked"
    job = doing.inspector.job(which)
    if (seen := order.fields.get("seen")) and job.id != seen:
        raise _changed(doing, which, None)
    return job


def _changed(doing: Doing, which: str, seen: Job | None) -> ChangedMeanwhile:
    now = doing.inspector.job(which)
    yours = "" if seen is None else f" You saw {_content(seen)}."
    sentence = f"It changed meanwhile: {called(now)} is now {_content(now)}.{yours} Load it again, and edit that."
    return ChangedMeanwhile(sentence, given=which)


def _content(job: Job) -> str:
    """Write a job without its arguments."""
    return f"{words_of(job) or 'at once'}, {shown(job.fn)} ({job.short_id})"


def _saved(doing: Doing, job: Job) -> str:
    if job.due is None:
        return f"Saved {called(job)}."
    at = doing.at(job.due)
    return f"Saved {called(job)}: next {'today ' if at[:2].isdigit() else ''}{at}."


def _known(doing: Doing, order: Order) -> KnownFunction | None:
    return known_here(doing, order.fields.get("fn", "")) if order.fields.get("laid") else None


def _checked(doing: Doing, given: dict[str, Any]) -> dict[str, Any]:
    """Check arguments against the signature that listeners publish. Raises InvalidArguments."""
    check_known(known_here(doing, given["fn"]), args=given.get("args", ()), kwargs=given.get("kwargs"))
    return given


def known_here(doing: Doing, fn: str) -> KnownFunction | None:
    """Return the signature of a function that listeners have published."""
    try:
        return job_form.known_of(fn, doing.inspector.history.knows())
    except (Unsupported, Invalid):
        return None


def _show(_: str, __: Any) -> bool:
    """Hide nothing, because these values return to their source."""
    return False
