"""The pages New and Edit: a job as a form, checked before it is saved. Also the answer below a *When?* box."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from workkit.contract.admin import Change
from workkit.contract.composed import owning_sync
from workkit.errors import Invalid, NotFound, Unsupported
from workkit.jobs.arguments import KnownFunction
from workkit.jobs.job import Job, argument_text
from workkit.text.masked_text import MASK
from workkit.text.wording import iso, zone_name
from workkit.verbs import rescheduling
from workkit.web.job_form import (
    FIELDS,
    Box,
    OptionField,
    boxes,
    call_of,
    fn_text,
    form_of_job,
    keeps_time,
    keywords,
    known_of,
    option_fields,
)
from workkit.web.page import Asked, Page
from workkit.web.pages.policies import in_a_plan, in_python, on_the_command_line
from workkit.web.typed_time import LONGEST, Answer, answer, misread

MOST_NAMED: Final = 200  # functions offered in the function box


@dataclass(frozen=True, slots=True, kw_only=True)
class EditView:
    """The content of the page. `which` None: a new job. `planned`: the job that would be saved; `trouble`: why it
    cannot be saved. `functions` None: this layout does not list them.
    """

    schedule: str
    now: datetime
    which: str | None
    title: str
    job: Job | None
    filled: Mapping[str, str]
    options: Mapping[str, OptionField]
    boxes: tuple[Box, ...] | None
    answer: Answer
    known: KnownFunction | None
    functions: Mapping[str, str] | None
    zones: tuple[str, ...]
    planned: Job | None
    trouble: str
    python: str
    command: str
    plan: str
    sync: Change | None

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
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
    """Show the form of a new job: empty, filled from `when=` and `fn=`, or a copy of an existing job."""
    given: dict[str, str] = {}
    if like := asked.params.get("like"):
        job = asked.served.inspector().job(like)
        given = form_of_job(job, mask=asked.veil.usual, names=asked.veil.names(job))
        given |= {"name": "", "seen": "", "shown": ""}
    return _view(asked, given, job=None)


def edit(asked: Asked) -> EditView:
    """Show the form of an existing job. Raises NotFound."""
    job = asked.served.inspector().job(asked.names["which"])
    given = form_of_job(job, mask=asked.veil.usual, names=asked.veil.names(job))
    return _view(asked, given, job=job)


def _view(asked: Asked, given: dict[str, str], *, job: Job | None) -> EditView:
    tells, functions = _knows(asked)
    given = dict.fromkeys(FIELDS, "") | {"tz": zone_name(asked.served.zone)} | given
    is_sent = "laid" in asked.params
    given |= {name: asked.params[name] for name in FIELDS if name in asked.params}
    given["when"] = asked.params.get("suggested") or given.get("when", "")
    given["spread"] = asked.params.get("put_off") or given.get("spread", "")
    given["json"] = asked.params.get("json", "")
    known = _veiled(asked, known_of(given.get("fn", ""), functions))
    answer = answer_of(asked, given, job)
    trouble, planned, texts, laid = "", None, ("", "", ""), None
    try:
        args, kwargs = call_of(given, known=known if is_sent else None)
        given |= {"args": argument_text(args) if args else "", "kwargs": argument_text(kwargs) if kwargs else ""}
        laid = None if given["json"] else boxes(known, args, kwargs)
        given["laid"] = ""
        if given.get("fn") and answer.trigger is not None:
            shown = keywords(given, is_shown=True)
            texts = (
                in_python(shown),
                on_the_command_line(shown, asked.served.name),
                in_a_plan(shown),
            )
            planned = _planned(asked, given, job)
    except Invalid as error:
        trouble = _without_hidden(asked, job, str(error))
    given["laid"] = given.get("fn", "") if laid is not None else ""
    return EditView(
        schedule=asked.served.name,
        now=asked.now,
        which=asked.names.get("which"),
        title="New" if job is None else job.name or fn_text(job.fn),
        job=None if job is None else asked.veil.job(job),
        filled=given,
        options=option_fields(given),
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
    """Remove the hidden arguments of a job from a sentence."""
    return asked.veil.usual.text(sentence, hide=() if job is None else asked.veil.hidden(job))


def _planned(asked: Asked, given: Mapping[str, str], job: Job | None) -> Job:
    """Make the job that would be saved. Raises an Invalid where the form would be refused."""
    keeps = job if job is not None and keeps_time(given, job) else None
    return rescheduling.imagined(asked.served.s, keywords(given, stands=job), stands=keeps)


def _knows(asked: Asked) -> tuple[bool, Mapping[str, KnownFunction]]:
    try:
        return True, asked.served.inspector().history.knows()
    except Unsupported:
        return False, {}


def _veiled(asked: Asked, known: KnownFunction | None) -> KnownFunction | None:
    """Hide the defaults of parameters that name secrets."""
    if known is None:
        return None
    parameters = (
        replace(one, default=MASK) if one.default and asked.veil.usual.names_secret(one.name, one.default) else one
        for one in known.parameters
    )
    return replace(known, parameters=tuple(parameters))


def _offered(functions: Mapping[str, KnownFunction]) -> dict[str, str]:
    names = sorted(functions)[:MOST_NAMED]
    return {fn_text(name): functions[name].doc for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class SayView:
    """The content of the page and of the fragment. `when` and `tz`: the typed values. `until`: the end of a pause."""

    now: datetime
    when: str
    tz: str
    answer: Answer
    until: datetime | None = None

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        return {"as_of": iso(self.now), **self.answer.record()}


def say(asked: Asked) -> SayView:
    """Answer `when` in the zone `tz`; with `job`, beside that job if it exists. Or answer `until`, as the box of a
    pause does.
    """
    if "until" in asked.params:
        return _until(asked, asked.params["until"])
    job = None
    if which := asked.params.get("job"):
        try:
            job = asked.served.inspector().job(which)
        except NotFound:
            job = None
    filled = dict(asked.params)
    filled["when"] = filled.get("suggested") or filled.get("when", "")
    filled["spread"] = filled.get("put_off") or filled.get("spread", "")
    filled["tz"] = filled.get("tz") or zone_name(asked.served.zone)
    return SayView(now=asked.now, when=filled["when"], tz=filled["tz"], answer=answer_of(asked, filled, job))


def _until(asked: Asked, text: str) -> SayView:
    until, wrong = None, None
    try:
        until = asked.served.pause_end(text) if text.strip() else None
    except Invalid as error:
        wrong = misread(text[:LONGEST], error)
    tz = zone_name(asked.served.zone)
    found = Answer(given=text[:LONGEST], tz=tz, coming=() if until is None else (until,), misread=wrong)
    return SayView(now=asked.now, when="", tz=tz, answer=found, until=until)


def answer_of(asked: Asked, filled: Mapping[str, str], job: Job | None) -> Answer:
    """Answer a typed time, with the jobs beside it."""
    tz = filled.get("tz") or zone_name(asked.served.zone)
    others = [one for one in asked.served.named().values() if job is None or one.job.id != job.id]
    return answer(
        filled.get("when", ""),
        tz=tz,
        now=asked.now,
        before=None if job is None else job.trigger,
        others=others,
        threads=sum(info.threads for info in asked.pulse.listeners),
        spread=filled.get("spread", ""),
    )


NEW = Page(
    name="new", path="new", title="New", template="edit.html", look=new, takes_form=True, is_live=False, needs="add"
)
PAGE = Page(
    name="edit", path="jobs/{which}/edit", title="Edit", template="edit.html", look=edit, takes_form=True,
    is_live=False, needs="edit",
)  # fmt: skip
SAY = Page(
    name="say", path="say", title="When?", template="when.html", fragment="say.html", look=say, takes_form=True,
    is_live=False,
)  # fmt: skip
