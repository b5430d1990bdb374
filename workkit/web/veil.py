"""What of a job a page may show: the one place that every job and every error passes before a view holds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from workkit.contract.history import PastRun
from workkit.contract.inspector import Pulse
from workkit.contract.listener import ListenerInfo
from workkit.jobs.job import Job

HIDDEN: Final = "••••••"


@dataclass(frozen=True, slots=True)
class Veil:
    """Masks values and texts. `value` masks an argument, whatever is in it; `text` an error, a check-in or a reason."""

    value: Callable[[Any], Any]
    text: Callable[[str], str]

    def all_hidden(self) -> Veil:
        """The same, with no argument at all."""
        return replace(self, value=_nothing)

    def job(self, job: Job) -> Job:
        """Mask the arguments of a job, its error and what its run said."""
        failure = job.failure
        if failure is not None:
            failure = replace(failure, message=self.text(failure.message), traceback=self.text(failure.traceback))
        return replace(
            job,
            args=tuple(self.value(list(job.args))),
            kwargs=None if job.kwargs is None else self.value(dict(job.kwargs)),
            error=None if job.error is None else self.text(job.error),
            failure=failure,
            progress=self.text(job.progress) if isinstance(job.progress, str) else job.progress,
            why=None if job.why is None else self.text(job.why),
        )

    def listener(self, info: ListenerInfo) -> ListenerInfo:
        """Mask what a listener runs."""
        return replace(info, running=tuple(map(self.job, info.running)))

    def run(self, run: PastRun) -> PastRun:
        """Mask the error of a past run."""
        return run if run.error is None else replace(run, error=self.text(run.error))

    def pulse(self, pulse: Pulse) -> Pulse:
        """Mask all jobs of a pulse."""
        return replace(
            pulse, soon=tuple(map(self.job, pulse.soon)), listeners=tuple(map(self.listener, pulse.listeners))
        )


def _nothing(value: Any) -> Any:
    """Hide every argument: how many there are, and their names, are seen."""
    return dict.fromkeys(value, HIDDEN) if isinstance(value, dict) else [HIDDEN for _ in value]


def veil_of(mask: Callable[[str | None, object], bool] | None = None, pattern: str | None = None) -> Veil:
    """Make the veil of a program: by its function, and by a regular expression for names of arguments."""
    return Veil(value=lambda value: value, text=lambda text: text)
