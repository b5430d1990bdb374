"""The answer below a *When?* box: a page of its own, or the fragment of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from workkit.errors import Invalid, NotFound
from workkit.jobs.job import Job
from workkit.text.wording import iso, zone_name
from workkit.web.adding.saying import LONGEST, Answer, answer, misread
from workkit.web.page import Asked, Page


@dataclass(frozen=True, slots=True, kw_only=True)
class SayView:
    """What the page and the fragment show. `when` and `tz`: what is filled in. `until`: the end of a pause."""

    now: datetime
    when: str
    tz: str
    answer: Answer
    until: datetime | None = None

    def record(self) -> dict[str, Any]:
        """Write it as JSON does."""
        return {"as_of": iso(self.now), **self.answer.record()}


def look(asked: Asked) -> SayView:
    """Answer `when` in the zone `tz`; beside the job `job`, if there is one of this name. Or `until`, as the box of a
    pause has it.
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
    return SayView(now=asked.now, when=filled["when"], tz=filled["tz"], answer=said(asked, filled, job))


def _until(asked: Asked, text: str) -> SayView:
    tz, verbs = zone_name(asked.served.zone), asked.served.verbs
    until, wrong = None, None
    try:
        until = verbs.pause_end(text) if verbs is not None and text.strip() else None
    except Invalid as error:
        wrong = misread(text[:LONGEST], error)
    found = Answer(given=text[:LONGEST], tz=tz, coming=() if until is None else (until,), misread=wrong)
    return SayView(now=asked.now, when="", tz=tz, answer=found, until=until)


def said(asked: Asked, filled: Mapping[str, str], job: Job | None) -> Answer:
    """Answer what is filled in as a time, with what stands beside it."""
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


PAGE = Page(
    name="say", path="say", title="When?", template="when.html", fragment="say.html", look=look, takes_form=True,
    is_live=False,
)  # fmt: skip
