"""Lists of every state, in layouts that cannot list some of them: the others are listed, and a note says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from workkit.cli.printing import terminal
from workkit.text import wording

if TYPE_CHECKING:
    from workkit.contract.where import Where
    from workkit.jobs.job import Job, JobState
    from workkit.schedule import Schedule


def listed_jobs(s: Schedule, *, state: JobState | None, where: Where | None = None) -> Iterator[Job]:
    """Read the jobs of a state, or of every state that the layout can list; those that are meant."""
    from workkit.contract.composed import listable
    from workkit.contract.where import Where, looked_up, meant_jobs
    from workkit.verbs.opening import present, producer_of

    inspector, where = producer_of(s).inspector, where or Where()
    named = looked_up(where, inspector.job, state=state, now=present(s)) if where.lookup else None
    if named is not None:
        return iter(named)
    return meant_jobs(partial(listable, inspector, state), where, now=lambda: present(s))


def unlisted_notes(s: Schedule, state: JobState | None) -> list[str]:
    """Say which jobs a list of every state leaves out, because the layout cannot list them."""
    from workkit.verbs.opening import producer_of

    return [] if state is not None else [*producer_of(s).inspector.unlisted().values()]


def talk_once(sentences: Iterable[str]) -> None:
    """Say each sentence once, beside what is printed."""
    for sentence in dict.fromkeys(sentences):
        terminal.talk(wording.printable(sentence))
