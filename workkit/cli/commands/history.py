"""The memory that past runs and kept results use, as `doctor` shows it, and the removal of past runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from workkit.cli import terminal
from workkit.errors import ServerRefused, Unsupported
from workkit.text import wording

if TYPE_CHECKING:
    from workkit.contract.broker import Broker

LEAST = 1_000_000  # bytes; smaller sizes get no line


def show_history(brokers: Iterable[Broker]) -> None:
    """Print how much memory the history and the kept results of each schedule use, if it is large enough for a line."""
    brokers = list(brokers)
    for broker, size in _sizes(brokers):
        if size >= LEAST:
            text = f"{broker.schedule}: past runs take about {size / 1e6:,.1f} MB"
            terminal.talk(f"{wording.printable(text)}. Remove them: workkit doctor {broker.schedule} --purge-history")
    for broker in brokers:
        try:
            count, size = broker.inspector.history.size("results")
        except (Unsupported, ServerRefused):
            continue
        if size >= LEAST:
            jobs = wording.plural(count, "job")
            terminal.talk(
                wording.printable(f"{broker.schedule}: kept results of {jobs} take about {size / 1e6:,.1f} MB.")
            )


def forget_history(brokers: Sequence[Broker], *, yes: bool, by: str | None) -> None:
    """Ask, then remove the history of each schedule."""
    from workkit.contract.admin import Forgotten
    from workkit.verbs.opening import author_of

    sizes = list(_sizes(brokers))
    total = sum(size for _, size in sizes)
    names = wording.listed([broker.schedule for broker, _ in sizes], "and")
    if not total:
        terminal.talk("no past runs are kept.")
        return
    said = f"all that is kept of past runs in {names}, about {total / 1e6:,.1f} MB"
    if not yes and not click.confirm(f"Remove {said}?", err=True):
        terminal.talk("nothing was removed.")
        return
    for broker, _ in sizes:
        broker.admin.by(author_of(by)).steer(Forgotten())
    terminal.talk(f"removed {said}.")


def _sizes(brokers: Iterable[Broker]) -> Iterator[tuple[Broker, int]]:
    """Yield the sizes, in bytes. Schedules without a history are left out, and servers that refuse the question."""
    for broker in brokers:
        try:
            yield broker, broker.inspector.history.size()[1]
        except (Unsupported, ServerRefused):
            continue
