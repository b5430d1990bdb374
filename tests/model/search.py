"""Breadth-first over all interleavings; then backwards from the good ends, to see that none is cut off from them."""

from __future__ import annotations

import gc
from array import array
from dataclasses import dataclass, field

from tests.model.model import Model
from tests.model.protocol import State, Violation

MOST = 5_000_000  # states; more do not fit into memory


class TooMany(Exception):
    """The plan has more states than can be kept."""


@dataclass(slots=True, kw_only=True)
class Found:
    """What a search has come to: how many states and good ends, or the violation and the steps that lead to it."""

    states: int
    violation: str | None = None
    trace: list[str] = field(default_factory=list)
    good: int = 0
    last: State | None = None


class Search:
    """One plan's states in the order in which they were found, and how each was reached."""

    def __init__(self, model: Model, *, most: int = MOST) -> None:
        self._model, self._most = model, most
        start = model.start()
        self._number = {start: 0}
        self._states = [start]
        self._parent, self._label = array("l", [-1]), [""]
        self._heads, self._tails = array("l"), array("l")  # steps that are no faults

    def explore(self) -> Found:
        """Everything that can happen. Raises TooMany."""
        at = 0
        while at < len(self._states):
            wrong = self._expand(at)
            if wrong is not None:
                return wrong
            at += 1
        return self._look_back()

    def _expand(self, at: int) -> Found | None:
        try:
            steps = self._model.steps(self._states[at])
        except Violation as violation:
            return self._wrong(str(violation), at, more="(and the next step shows it)")
        for label, fault, t in steps:
            known = self._number.get(t)
            if known is None:
                known = self._add(t, at, label)
                try:
                    self._model.check(t)
                except Violation as violation:
                    return self._wrong(str(violation), known)
            if not fault:
                self._heads.append(at)
                self._tails.append(known)
        return None

    def _add(self, t: State, parent: int, label: str) -> int:
        number = self._number[t] = len(self._states)
        if number >= self._most:
            raise TooMany(f"more than {self._most} states")
        self._states.append(t)
        self._parent.append(parent)
        self._label.append(label)
        return number

    def _look_back(self) -> Found:
        """From every state, without a further fault, all work must be able to end."""
        n = len(self._states)
        good = [at for at in range(n) if self._model.goal(self._states[at])]
        before: list[list[int]] = [[] for _ in range(n)]
        for a, b in zip(self._heads, self._tails, strict=True):
            before[b].append(a)
        fine, todo = bytearray(n), list(good)
        for at in good:
            fine[at] = 1
        while todo:
            for a in before[todo.pop()]:
                if not fine[a]:
                    fine[a] = 1
                    todo.append(a)
        stuck = fine.find(0)
        if stuck >= 0:
            return self._wrong("lost_or_stuck: no way left to a good end, even without a further fault", stuck)
        return Found(states=n, good=len(good))

    def _wrong(self, violation: str, at: int, *, more: str = "") -> Found:
        trace, last = [more] if more else [], self._states[at]
        while at > 0:
            trace.append(self._label[at])
            at = self._parent[at]
        if more:
            trace = [*trace[1:][::-1], more]
        else:
            trace.reverse()
        return Found(states=len(self._states), violation=violation, trace=trace, last=last)


def explore(model: Model, *, most: int = MOST) -> Found:
    """Search all states of a plan. Raises TooMany."""
    collects = gc.isenabled()
    gc.disable()  # states are values: none refers back to itself, and a look at all of them takes long
    try:
        return Search(model, most=most).explore()
    finally:
        if collects:
            gc.enable()
