"""The masks of one program: each job and each error passes its `Veil` before a view holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from workkit.contract.changes import Change
from workkit.contract.doctor import Finding
from workkit.contract.history import PastRun
from workkit.contract.inspector import Pulse
from workkit.contract.listener import ListenerInfo
from workkit.contract.mask import Decide, Mask, mask
from workkit.jobs.admission import Pause
from workkit.jobs.job import Job


@dataclass(frozen=True, slots=True)
class Veil:
    """Masks what a view is to hold. `everything` is for those who see no argument at all."""

    usual: Mask
    everything: Mask

    def all_hidden(self) -> Veil:
        """The same, with no argument at all."""
        return replace(self, usual=self.everything)

    def text(self, text: str) -> str:
        """Mask an error, a check-in or a reason."""
        return self.usual.text(text)

    def job(self, job: Job) -> Job:
        """Mask the arguments of a job, its error, its check-in, and why it waits."""
        masked = self.usual.job(job)
        return masked if job.why is None else replace(masked, why=self.text(job.why))

    def listener(self, info: ListenerInfo) -> ListenerInfo:
        """Mask what a listener runs."""
        return replace(info, running=tuple(map(self.job, info.running)))

    def run(self, run: PastRun, *, of: Job | None = None) -> PastRun:
        """Mask the arguments and the error of a past run; see `Mask.run`."""
        return self.usual.run(run, of=of)

    def pause(self, pause: Pause | None) -> Pause | None:
        """Mask the reason of a pause."""
        return replace(pause, reason=self.text(pause.reason)) if pause is not None and pause.reason else pause

    def change(self, change: Change) -> Change:
        """Mask the texts of a change: its reason, and what stood before and after."""
        reason = None if change.reason is None else self.text(change.reason)
        return replace(change, reason=reason, before=self._texts(change.before), after=self._texts(change.after))

    def _texts(self, state: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: self.text(value) if isinstance(value, str) else [self.text(one) for one in value]
            if isinstance(value, list) else value
            for name, value in state.items()
        }  # fmt: skip

    def finding(self, finding: Finding) -> Finding:
        """Mask what a fault quotes. Its subject stays on the server's side of the page."""
        about = tuple(map(self.text, finding.about))
        return replace(finding, what=self.text(finding.what), why=self.text(finding.why), about=about, subject=None)

    def pulse(self, pulse: Pulse) -> Pulse:
        """Mask all jobs of a pulse."""
        return replace(
            pulse, soon=tuple(map(self.job, pulse.soon)), listeners=tuple(map(self.listener, pulse.listeners))
        )


def veil_of(decide: Decide | None = None, pattern: str | None = None) -> Veil:
    """Make the veil of a program: by its function, and by a regular expression for names of arguments. Raises
    InvalidOptions.
    """
    usual = mask(*([pattern] if pattern else []), decide=decide)
    return Veil(usual=usual, everything=replace(usual, everything=True))
