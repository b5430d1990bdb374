"""The names of everything that can be wrong with a job or an item of the two published keys, with severity and reason.

`workkit doctor` and `workkit wire verify` use these names alike. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from workkit.contract.fault import Severity

Half = Literal["job", "item"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a pair.

    `kind` is its stable name for programs, and the key of `RULES`. `what` is a sentence about this pair. `stops`: no
    listener of this dialect runs the job as it should. `repairs`: `workkit doctor --fix` repairs it.
    """

    kind: str
    what: str
    repairs: bool = False
    stops: bool = False

    @property
    def severity(self) -> Severity:
        """The severity of the fault."""
        return RULES[self.kind][0]

    @property
    def half(self) -> Half:
        """The half with the fault: the job or the item."""
        return "item" if self.kind in OF_ITEMS else "job"

    @property
    def why(self) -> str:
        """Why a fault of this kind matters."""
        return RULES[self.kind][1]


RULES: Mapping[str, tuple[Severity, str]] = {
    "unreadable": (
        "deviation",
        "It can never run: a Python listener moves it to the dead set, a Clojure peer loses it.",
    ),
    "unclear": (
        "deviation",
        "Only its function can be read. A listener with this function moves it to the dead set; all others leave it.",
    ),
    "cron": ("deviation", "No listener of this dialect can compute when it runs."),
    "other-dialect": (
        "deviation",
        "Listeners of this dialect leave it alone. Perhaps the dialect of the schedule is wrong.",
    ),
    "job": ("deviation", "A Clojure peer fails when it reads the job, after taking the item: the run is lost."),
    "id": ("deviation", "It still runs, but adding the same job again makes a second one."),
    "item": ("deviation", "No listener can tell which job it names. A Clojure peer takes it and loses it."),
    "item-text": ("deviation", "A Clojure peer that puts it back writes another text, or damages it."),
    "score": (
        "deviation",
        "A due time is a whole number. A Clojure peer takes the item, fails, and the run is lost.",
    ),
    "no-item": ("orphan", "Nothing points to the job, so it never runs; adding it again changes nothing."),
    "no-job": ("orphan", "It has no job that could run."),
    "score-range": ("hazard", "It is due at once, or never. With 18 digits a Clojure peer fails and loses the run."),
    "rewritten": ("hazard", "A Clojure peer that takes it too early puts this other text back."),
    "second-item": ("hazard", "The job runs once for each of its items."),
    "in-doubt": ("hazard", "A foreign peer may be running it: nobody can see what it holds."),
    "python-name": ("hazard", "Clojure cannot resolve it, and a Clojure peer that takes the item loses the run."),
    "unqualified": ("hazard", "Clojure looks it up in the namespace of its listener. Python does not look it up."),
    "quoted": (
        "hazard",
        "Clojure reads it as a symbol and calls nothing, without an error. Python runs the function.",
    ),
    "either-order": ("hazard", "A peer of the other dialect runs it at other times."),
    "extension": ("hazard", "The published grammar has only numbers * / - and commas. A peer may refuse others."),
    "never": ("hazard", "It never fires again once its present item is gone."),
    "endless": ("hazard", "The Clojure code searches for its next run without end."),
    "lenient": ("hazard", "The Clojure code does not do what the text seems to say."),
    "integer": ("hazard", "JavaScript rounds it. Beyond 64 bits Clojure reads it as a BigInt."),
    "number": ("hazard", "Languages read it as infinity, or not at all."),
    "spelling": (
        "hazard",
        "The same job, added by the Clojure code, has other bytes and another id: then the schedule has it twice.",
    ),
    "own-fields": ("hazard", "Only listeners that know these fields honour them."),
}
OF_ITEMS = frozenset({"item", "item-text", "no-job", "score", "score-range", "rewritten", "second-item"})
