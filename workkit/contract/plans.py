"""Plans of code: which version of a plan holds in a schedule, over all the listeners that have one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mode = Literal["newer", "back", "look"]
"""How plans are compared: the newer one holds; this one holds, though it was replaced; nothing is written."""

Standing = Literal["new", "same", "older"]
"""What a plan is: it holds from now on; it held already; a newer one holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodePlan:
    """One version of the plan of one source, which is a module or a file.

    `digest` tells versions apart. `version`: texts in the order of versions, "" for none. `written_ms`: when the code
    of the source was written, epoch milliseconds.
    """

    source: str
    digest: str
    version: str = ""
    written_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a plan is, and the generation of the one that holds: one more with each plan that replaces another."""

    standing: Standing
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanMark:
    """What an addition tells of its plan: it is refused once another plan of this source holds. `ends`: the job has a
    last run, and is not added again after that.
    """

    source: str
    generation: int
    ends: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What a plan has made under a name: the content of the job, as `Plans.contents` names it, and the source."""

    content: str
    source: str
