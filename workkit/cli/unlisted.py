"""Lists of every state, in layouts that cannot list some of them: the others are listed, and a note says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from workkit.cli.printing import terminal, wording
from workkit.jobs.job import STATES

if TYPE_CHECKING:
    from workkit.jobs.job import Job, JobState
    from workkit.schedule import Schedule


def listed_jobs(s: Schedule, *, state: JobState | None, where: str | None) -> Iterator[Job]:
    """Read the jobs of a state, or of every state that the layout can list."""
    from workkit import schedule as verbs
    from workkit.verbs.opening import producer_of

    missing = producer_of(s).inspector.unlisted() if state is None else {}
    if not missing:
        return verbs.jobs(s, state=state, where=where)
    return chain.from_iterable(verbs.jobs(s, state=one, where=where) for one in STATES if one not in missing)


def unlisted_notes(s: Schedule, state: JobState | None) -> list[str]:
    """Say which jobs a list of every state leaves out, because the layout cannot list them."""
    from workkit.verbs.opening import producer_of

    return [] if state is not None else [*producer_of(s).inspector.unlisted().values()]


def talk_once(sentences: Iterable[str]) -> None:
    """Say each sentence once, beside what is printed."""
    for sentence in dict.fromkeys(sentences):
        terminal.talk(wording.printable(sentence))
