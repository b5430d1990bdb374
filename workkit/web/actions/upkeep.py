"""Acts that change no job: check again, repair, quiet a listener, purge the history, show a masked value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from workkit.contract.admin import Forgotten, Quieted
from workkit.errors import InvalidOptions, NotFound
from workkit.jobs.job import Job
from workkit.text.cells import shorten
from workkit.verbs.opening import producer_of
from workkit.web.actions.action import Act, Doing, Done, Order, called


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
    """Have a listener take nothing new. What it has taken still runs."""
    assert which is not None, "it was checked"
    if not doing.admin.steer(Quieted(which, True)):
        return Done(f"{which} was quiet already.")
    return Done(f"{which} finishes what it runs, and takes nothing new.", Order(verb="listen", which=(which,)))


def listen(doing: Doing, _: Order, which: str | None) -> Done:
    """Have a quiet listener take work again."""
    assert which is not None, "it was checked"
    if not doing.admin.steer(Quieted(which, False)):
        return Done(f"{which} was not quiet.")
    return Done(f"{which} takes work again.", Order(verb="quiet", which=(which,)))


def purge(doing: Doing, _: Order, __: str | None) -> Done:
    """Remove all that is kept of past runs."""
    doing.admin.steer(Forgotten())
    return Done(f"Purged the history of {doing.schedule}. Listeners begin anew; this cannot be undone.")


LONGEST: Final = 100_000  # characters of a value


def show(doing: Doing, order: Order, which: str | None) -> Done:
    """Show a value. It is recorded first. Raises NotFound, InvalidOptions."""
    assert which is not None, "it was checked"
    path = order.fields.get("argument", "")
    job = doing.inspector.job(which)
    text = json.dumps(value_at(job, path), ensure_ascii=False, indent=1)
    doing.admin.note("show", {"argument": path}, job=job)
    return Done(f"Showed {path} of {called(job)}.", shown=shorten(text, LONGEST))


def value_at(job: Job, path: str) -> Any:
    """Find a value among the arguments of a job: by ``args/0/token`` or ``kwargs/token``, as in a JSON pointer. Raises
    NotFound, InvalidOptions.
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


ACTS: Final[Mapping[str, Act]] = {
    "checkup": Act(role="viewer", needs="schedule", one=checkup),
    "repair": Act(role="editor", one=repair),
    "quiet": Act(role="operator", needs="listener", one=quiet, did="Made quiet"),
    "listen": Act(role="operator", needs="listener", one=listen, did="Take work again:"),
    "purge": Act(role="editor", needs="schedule", one=purge),
    "show": Act(role="operator", needs="one job", fields=("argument",), one=show, did="Showed"),
}
