"""Acts on what serves a schedule: a listener that takes nothing new, or takes work again; the history that is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from workkit.web.actions.action import Act, Doing, Done, Order


def quiet(doing: Doing, _: Order, which: str | None) -> Done:
    """Have a listener take nothing new. What it has taken goes on."""
    assert which is not None, "it was checked"
    if not doing.admin.quiet(which, True):
        return Done(f"{which} was quiet already.")
    return Done(f"{which} finishes what it runs, and takes nothing new.", Order(verb="listen", which=(which,)))


def listen(doing: Doing, _: Order, which: str | None) -> Done:
    """Have a quiet listener take work again."""
    assert which is not None, "it was checked"
    if not doing.admin.quiet(which, False):
        return Done(f"{which} was not quiet.")
    return Done(f"{which} takes work again.", Order(verb="quiet", which=(which,)))


def purge(doing: Doing, _: Order, __: str | None) -> Done:
    """Remove all that is kept of past runs."""
    doing.admin.forget_history()
    return Done(f"Purged the history of {doing.schedule}. Listeners begin anew; this cannot be undone.")


ACTS: Final[Mapping[str, Act]] = {
    "quiet": Act(role="operator", needs="listener", one=quiet, did="Made quiet"),
    "listen": Act(role="operator", needs="listener", one=listen, did="Take work again:"),
    "purge": Act(role="editor", needs="schedule", one=purge),
}
