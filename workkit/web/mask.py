"""The masks of one program, and the parameter names that they need. Each job and each error passes a `Veil` before a
view holds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, repeat
from typing import Any, Final

from workkit.contract.admin import Change
from workkit.contract.doctor import Finding
from workkit.contract.history import PastRun, call_of
from workkit.contract.inspector import Pulse
from workkit.contract.listener import ListenerInfo
from workkit.contract.mask import Decide, Mask, Parameters, mask, unknown
from workkit.jobs.admission import Pause
from workkit.jobs.arguments import KnownFunction
from workkit.jobs.job import Job


@dataclass(frozen=True, slots=True)
class Veil:
    """Masks the values of a view. `everything`: hide all arguments, for users who may see none; `parameters` returns
    the names of positional arguments.
    """

    usual: Mask
    everything: Mask
    parameters: Parameters = field(default=unknown, compare=False, repr=False)

    def all_hidden(self) -> Veil:
        """Return the same veil, with all arguments hidden."""
        return replace(self, usual=self.everything)

    def text(self, text: str) -> str:
        """Mask an error, a check-in or a reason."""
        return self.usual.text(text)

    def job(self, job: Job) -> Job:
        """Mask the arguments of a job, its error, its check-in, and why it waits."""
        masked = self.usual.job(job, self.names(job))
        return masked if job.why is None else replace(masked, why=self.text(job.why))

    def names(self, job: Job) -> Sequence[str]:
        """Return the names of the positional arguments of a job, as far as known."""
        return self.parameters(job.fn, len(job.args)) if job.args else ()

    def hidden(self, job: Job) -> list[str]:
        """List the masked texts and numbers of a job, because its errors may contain them."""
        return self.usual.hidden(job, *self.usual.arguments(job.args, job.kwargs, self.names(job)))

    def listener(self, info: ListenerInfo) -> ListenerInfo:
        """Mask the jobs that a listener runs."""
        return replace(info, running=tuple(map(self.job, info.running)))

    def run(self, run: PastRun, *, of: Job | None = None) -> PastRun:
        """Mask the arguments and the error of a past run; see `Mask.run`."""
        return self.usual.run(run, of=of, parameters=self.parameters)

    def log(self, of: Job | PastRun, lines: Sequence[str]) -> tuple[str, ...]:
        """Mask the log of a run; see `Mask.log`."""
        call = call_of(of) if isinstance(of, PastRun) else (of.args, of.kwargs)
        parameters = () if call is None else self.parameters(of.fn or "", len(call[0]))
        return tuple(self.usual.log(lines, call=call, parameters=parameters))

    def pause(self, pause: Pause | None) -> Pause | None:
        """Mask the reason of a pause."""
        return replace(pause, reason=self.text(pause.reason)) if pause is not None and pause.reason else pause

    def change(self, change: Change) -> Change:
        """Mask the texts of a change: its reason, and the values before and after."""
        reason = None if change.reason is None else self.text(change.reason)
        return replace(change, reason=reason, before=self._texts(change.before), after=self._texts(change.after))

    def _texts(self, state: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: self.text(value) if isinstance(value, str) else [self.text(one) for one in value]
            if isinstance(value, list) else value
            for name, value in state.items()
        }  # fmt: skip

    def finding(self, finding: Finding) -> Finding:
        """Mask the texts that a fault quotes. Its subject is not sent to the browser."""
        about = tuple(map(self.text, finding.about))
        return replace(finding, what=self.text(finding.what), why=self.text(finding.why), about=about, subject=None)

    def pulse(self, pulse: Pulse) -> Pulse:
        """Mask all jobs of a pulse."""
        return replace(
            pulse, soon=tuple(map(self.job, pulse.soon)), listeners=tuple(map(self.listener, pulse.listeners))
        )


def veil_of(decide: Decide | None = None, pattern: str | None = None) -> Veil:
    """Make the veil of a program from its function and from a regular expression for names of arguments. Raises
    InvalidOptions.
    """
    usual = mask(*([pattern] if pattern else []), decide=decide)
    return Veil(usual=usual, everything=replace(usual, everything=True))


MOST_FUNCTIONS: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of the positional parameters of a function, and that of its ``*args``."""

    positional: tuple[str, ...]
    rest: str | None = None


@dataclass(slots=True, eq=False)
class Signatures:
    """The parameter names that listeners publish. Names from listeners that are gone are kept, because jobs of their
    functions are still masked. `changes` counts how often something new came. Only one thread may call `note` at a
    time; the caller ensures that.
    """

    changes: int = 0
    _names: dict[str, _Names] = field(default_factory=dict)

    def note(self, functions: Mapping[str, KnownFunction]) -> None:
        """Store the signatures that listeners publish now."""
        told = {fn: _names_of(known) for fn, known in islice(functions.items(), MOST_FUNCTIONS) if known.parameters}
        if any(self._names.get(fn) != names for fn, names in told.items()):
            kept = {fn: names for fn, names in self._names.items() if fn not in told}
            room = MOST_FUNCTIONS - len(told)
            self._names = dict(islice(kept.items(), max(0, len(kept) - room), None)) | told
            self.changes += 1

    def names(self, fn: str, count: int) -> Sequence[str]:
        """Return the names of the first `count` positional arguments of a function, as far as they are known."""
        names = self._names.get(fn)
        if names is None:
            return ()
        missing = 0 if names.rest is None else max(0, count - len(names.positional))
        return (*names.positional, *repeat(names.rest or "", missing))


def _names_of(known: KnownFunction) -> _Names:
    rest = next((one.name for one in known.parameters if one.kind == "rest"), None)
    return _Names(tuple(one.name for one in known.parameters if one.kind == "positional"), rest)
