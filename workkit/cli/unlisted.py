"""Lists of every state, in layouts that cannot list some of them: the others are listed, and a note says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from workkit.cli.printing import terminal
from workkit.text import wording

if TYPE_CHECKING:
    from workkit.contract.where import Where
    from workkit.jobs.job import Job, JobState
    from workkit.schedule import Schedule


def listed_jobs(s: Schedule, *, state: JobState | None, where: Where | None = None) -> Iterator[Job]:
    """Read the jobs of a state, or of every state that the layout can list; those that are meant."""
    from workkit.contract.job_page import listable, looked_up
    from workkit.verbs.opening import present, producer_of

    inspector = producer_of(s).inspector
    if where is None or where.is_everything:
        return listable(inspector, state)
    now = present(s)
    named = looked_up(where, inspector.job, state=state, now=now)
    if named is not None:
        return iter(named)
    return (job for job in listable(inspector, state) if where.job(job, now=now))


def unlisted_notes(s: Schedule, state: JobState | None) -> list[str]:
    """Say which jobs a list of every state leaves out, because the layout cannot list them."""
    from workkit.verbs.opening import producer_of

    return [] if state is not None else [*producer_of(s).inspector.unlisted().values()]


def talk_once(sentences: Iterable[str]) -> None:
    """Say each sentence once, beside what is printed."""
    for sentence in dict.fromkeys(sentences):
        terminal.talk(wording.printable(sentence))
