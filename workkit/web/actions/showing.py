"""The act that shows one masked value of a job's arguments to somebody, and records that it did."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from workkit.errors import InvalidOptions, NotFound
from workkit.jobs.job import Job
from workkit.text.cells import shorten
from workkit.web.actions.action import Act, Doing, Done, Order
from workkit.web.actions.jobs import called

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
    "show": Act(role="operator", needs="one job", fields=("argument",), one=show, did="Showed")
}
