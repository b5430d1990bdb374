"""The page Changes: who changed what, when, with the values before and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final
from urllib.parse import urlencode

from workkit.contract.admin import Change
from workkit.contract.record import change_record
from workkit.errors import Unsupported
from workkit.text.glance import away
from workkit.text.wording import MILLISECOND, iso
from workkit.web.mask import Veil
from workkit.web.page import Asked, Page
from workkit.web.words import Sentence, job_path, plain

SHOWN: Final = 50  # changes on a page
LOOKED_AT: Final = 2_000  # most changes that a page with a filter reads
KINDS: Final = ("job", "who", "what")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One changed field: its name, and its value before and after, if there was one."""

    name: str
    before: str | datetime | None
    after: str | datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """A change. `about`: its subject in words; `path`: the page of that job, or none."""

    change: Change
    about: str
    path: str
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesView:
    """The content of the page. `given`: the filters; `next`: the parameters of the next page, or none."""

    schedule: str
    now: datetime
    said: Sentence
    rows: tuple[ChangeRow, ...]
    given: Mapping[str, str]
    next: str
    export: str
    unknown: str = ""

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        return {
            "schedule": self.schedule,
            "as_of": iso(self.now),
            "sentence": plain(self.said),
            "changes": [change_record(row.change) for row in self.rows],
            "next": self.next or None,
            "unknown": self.unknown,
        }


def look(asked: Asked) -> ChangesView:
    """Read a page of the changes. Raises InvalidOptions."""
    given = {kind: value for kind in KINDS if (value := asked.params.get(kind, ""))}
    found: list[Change] = []
    looked, last, unknown = 0, "", ""
    try:
        for change in islice(
            asked.served.inspector().history.changes(after=asked.params.get("after") or None), LOOKED_AT
        ):
            if len(found) == SHOWN:
                break
            looked, last = looked + 1, change.number
            if is_wanted(change, given):
                found.append(change)
    except Unsupported as error:
        unknown = str(error)
    is_cut = len(found) == SHOWN or looked == LOOKED_AT
    return ChangesView(
        schedule=asked.served.name,
        now=asked.now,
        said=headline(
            found, schedule=asked.served.name, now=asked.now, given=given, is_first="after" not in asked.params
        ),
        rows=tuple(_row(change, asked.veil) for change in found),
        given=given,
        next="?" + urlencode({**given, "after": last}) if is_cut else "",
        export="changes.jsonl" + (f"?{urlencode(given)}" if given else ""),
        unknown=unknown,
    )


def lines(asked: Asked) -> Iterator[Mapping[str, Any]]:
    """Yield all changes that match the filters, the last one first."""
    given = {kind: value for kind in KINDS if (value := asked.params.get(kind, ""))}
    for change in asked.served.inspector().history.changes():
        if is_wanted(change, given):
            yield change_record(asked.veil.change(change))


def is_wanted(change: Change, given: Mapping[str, str]) -> bool:
    """Return whether a change passes the filters: `job` is a name or an id, `who` and `what` are parts of texts."""
    who, what = given.get("who", "").casefold(), given.get("what", "").casefold()
    is_job = "job" not in given or change.is_about(given["job"])
    return is_job and who in (change.by or "").casefold() and what in change.verb.casefold()


def headline(
    found: Sequence[Change], *, schedule: str, now: datetime, given: Mapping[str, str], is_first: bool
) -> Sentence:
    """Say who made the last change, or that there is none."""
    if not found and given:
        return ("No change matches ", " and ".join(f"{kind} {value}" for kind, value in given.items()), ".")
    if not found:
        return (f"Nobody has changed {schedule}, as far as is kept." if is_first else "There are no earlier changes.",)
    last = found[0]
    ago = away(max(0.0, (now - last.at) / MILLISECOND))
    return (f"{'The last' if is_first else 'This'} change is {last.verb}, by {last.by or 'somebody'}, {ago} ago.",)


def _row(change: Change, veil: Veil) -> ChangeRow:
    change = veil.change(change)
    kind, _, of = change.target.partition(":")
    return ChangeRow(
        change=change,
        about=change.subject if change.subject != "schedule" else "the schedule",
        path=job_path(of) if kind == "job" else "",
        differences=tuple(
            Difference(name=name, before=_value(change.before.get(name)), after=_value(change.after.get(name)))
            for name in change.names
            if not (name == "reason" and change.before.get(name) == change.after.get(name))
        ),
    )


def _value(value: Any) -> str | datetime | None:
    if value is None or isinstance(value, datetime):
        return value
    return ", ".join(value) if isinstance(value, list) else str(value)


PAGE = Page(
    name="changes", path="changes", title="Changes", template="changes.html", look=look, icon="log", key="c",
    is_care=True, lines=lines,
)  # fmt: skip
