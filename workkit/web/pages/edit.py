"""The pages New and Edit: a job as a form, answered before anything is saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from workkit.contract.changes import Change
from workkit.contract.owner import owning_sync
from workkit.errors import Invalid, Unsupported
from workkit.jobs.job import Job, argument_text
from workkit.jobs.known import Known
from workkit.text.wording import iso, zone_name
from workkit.web.adding import choices, filled, spelled, values
from workkit.web.adding.saying import Answer
from workkit.web.hiding.masked_text import MASK
from workkit.web.page import Asked, Page
from workkit.web.pages.say import said

MOST_NAMED: Final = 200  # functions that the box of the function offers


@dataclass(frozen=True, slots=True, kw_only=True)
class EditView:
    """What the page shows. `which` None: a new job. `planned`: what would be saved; `trouble`: why nothing could be.
    `functions` None: this layout does not tell them.
    """

    schedule: str
    now: datetime
    which: str | None
    title: str
    job: Job | None
    filled: Mapping[str, str]
    options: Mapping[str, choices.Field]
    boxes: tuple[values.Box, ...] | None
    answer: Answer
    known: Known | None
    functions: Mapping[str, str] | None
    zones: tuple[str, ...]
    planned: Job | None
    trouble: str
    python: str
    command: str
    plan: str
    sync: Change | None

    def record(self) -> dict[str, Any]:
        """Write it as JSON does."""
        shown = {name: text for name, text in self.filled.items() if text and name not in ("shown", "laid", "json")}
        return {
            "schedule": self.schedule,
            "as_of": iso(self.now),
            "job": self.which,
            "filled": shown,
            "answer": self.answer.record(),
            "listeners": None if self.functions is None else self.known.listeners if self.known else 0,
            "next": iso(self.planned.due) if self.planned and self.planned.due else None,
            "error": self.trouble or None,
            "python": self.python or None,
            "command": self.command or None,
            "plan": self.plan or None,
        }


def new(asked: Asked) -> EditView:
    """Show the form of a new job: empty, with `when=` and `fn=`, or like a job that stands."""
    given: dict[str, str] = {}
    if like := asked.params.get("like"):
        job = asked.served.inspector().job(like)
        given = filled.of_job(job, mask=asked.veil.usual, known=_knows(asked)[1].get(job.fn))
        given |= {"name": "", "seen": "", "shown": ""}
    return _view(asked, given, job=None)


def edit(asked: Asked) -> EditView:
    """Show the form of a job that stands. Raises NotFound."""
    job = asked.served.inspector().job(asked.names["which"])
    given = filled.of_job(job, mask=asked.veil.usual, known=_knows(asked)[1].get(job.fn))
    return _view(asked, given, job=job)


def _view(asked: Asked, given: dict[str, str], *, job: Job | None) -> EditView:
    tells, functions = _knows(asked)
    given = dict.fromkeys(filled.FIELDS, "") | {"tz": zone_name(asked.served.zone)} | given
    is_sent = "laid" in asked.params
    given |= {name: asked.params[name] for name in filled.FIELDS if name in asked.params}
    given["when"] = asked.params.get("suggested") or given.get("when", "")
    given["spread"] = asked.params.get("put_off") or given.get("spread", "")
    given["json"] = asked.params.get("json", "")
    known = _veiled(asked, filled.known_of(given.get("fn", ""), functions))
    answer = said(asked, given, job)
    trouble, planned, texts, laid = "", None, ("", "", ""), None
    try:
        args, kwargs = filled.call_of(given, known=known if is_sent else None)
        given |= {"args": argument_text(args) if args else "", "kwargs": argument_text(kwargs) if kwargs else ""}
        laid = None if given["json"] else values.boxes(known, args, kwargs)
        given["laid"] = ""
        if given.get("fn") and answer.trigger is not None:
            shown = filled.keywords(given, is_shown=True)
            texts = (
                spelled.in_python(shown),
                spelled.on_the_command_line(shown, asked.served.name),
                spelled.in_a_plan(shown),
            )
            planned = _planned(asked, given, job)
    except Invalid as error:
        trouble = _without_hidden(asked, job, str(error))
    given["laid"] = given.get("fn", "") if laid is not None else ""
    return EditView(
        schedule=asked.served.name,
        now=asked.now,
        which=asked.names.get("which"),
        title="New" if job is None else job.name or filled.fn_text(job.fn),
        job=None if job is None else asked.veil.job(job),
        filled=given,
        options=choices.fields(given),
        boxes=laid,
        answer=answer,
        known=known,
        functions=_offered(functions) if tells else None,
        zones=tuple(dict.fromkeys((given["tz"], zone_name(asked.served.zone), zone_name(asked.zone), "UTC"))),
        planned=planned,
        trouble=trouble,
        python=texts[0],
        command=texts[1],
        plan=texts[2],
        sync=None if job is None else owning_sync(asked.served.inspector(), job.name),
    )


def _without_hidden(asked: Asked, job: Job | None, sentence: str) -> str:
    """Take the hidden arguments of a job out of a sentence."""
    mask = asked.veil.usual
    return mask.text(sentence, hide=() if job is None else mask.hidden(job, *mask.arguments(job.args, job.kwargs)))


def _planned(asked: Asked, given: Mapping[str, str], job: Job | None) -> Job | None:
    """Make the job that would be saved. Raises an Invalid for what would be refused."""
    verbs = asked.served.verbs
    if verbs is None:
        return None
    keeps = job if job is not None and filled.keeps_time(given, job) else None
    return verbs.imagined(filled.keywords(given, stands=job), stands=keeps)


def _knows(asked: Asked) -> tuple[bool, Mapping[str, Known]]:
    try:
        return True, asked.served.inspector().history.knows()
    except Unsupported:
        return False, {}


def _veiled(asked: Asked, known: Known | None) -> Known | None:
    """Hide the defaults of parameters that name secrets."""
    if known is None:
        return None
    parameters = (
        replace(one, default=MASK) if one.default and asked.veil.usual.names_secret(one.name, one.default) else one
        for one in known.parameters
    )
    return replace(known, parameters=tuple(parameters))


def _offered(functions: Mapping[str, Known]) -> dict[str, str]:
    names = sorted(functions)[:MOST_NAMED]
    return {filled.fn_text(name): functions[name].doc for name in names}


NEW = Page(
    name="new", path="new", title="New", template="edit.html", look=new, takes_form=True, is_live=False, needs="add"
)
PAGE = Page(
    name="edit", path="jobs/{which}/edit", title="Edit", template="edit.html", look=edit, takes_form=True,
    is_live=False, needs="edit",
)  # fmt: skip
