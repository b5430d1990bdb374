"""Look at the first messages of work queues of ours: what is due. Each is given back at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from workkit.brokers.hutch import body
from workkit.brokers.hutch.look.held import Held
from workkit.brokers.hutch.message import ERROR, Message, text
from workkit.brokers.hutch.wire.link import Link
from workkit.errors import CorruptRecord
from workkit.jobs.job import Job, JobState

MOST_DUE: Final = 100  # messages of each queue; listeners do not get them for that moment


@dataclass(frozen=True, slots=True, kw_only=True)
class DueMessages:
    """What is due in one exchange."""

    link: Link
    schedule: str

    def jobs(self, queues: Iterable[str]) -> Iterator[Job]:
        """Read the first messages of these queues, soonest first."""
        found = [
            shown_job(message, schedule=self.schedule, state="due", queue=queue)
            for queue in queues
            for message in self._head(queue)
        ]
        yield from sorted(found, key=lambda job: job.due.timestamp() if job.due else 0.0)

    def _head(self, queue: str) -> list[Message]:
        with Held(self.link, queue) as held:
            return held.more(MOST_DUE)


def shown_job(message: Message, *, schedule: str, state: JobState, queue: str | None) -> Job:
    """Show a message as a Job. Never raises: what cannot be read is left out."""
    args: tuple[object, ...] = ()
    error = text(message.headers.get(ERROR)) if message.is_private else ""
    try:
        args = (body.read(message.body, "event"),)  # any JSON: it is shown, not run
    except CorruptRecord as unread:
        error = error or str(unread)
    due_ms = message.due_ms
    return Job(
        id=message.id,
        schedule=schedule,
        fn=message.key,
        args=args,
        due=None if due_ms is None else datetime.fromtimestamp(due_ms / 1000, UTC),
        state=state,
        attempt=message.attempt,
        error=error or None,
        queue=queue,
        options=message.options,
    )
