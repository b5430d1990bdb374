"""What is wrong with a listener, in sentences: the pages Now and Listeners say the same. Pure."""

from __future__ import annotations

from workkit.contract.listener import ListenerInfo
from workkit.text.glance import away
from workkit.text.listing import plural
from workkit.web.cache import is_silent


def ailing(info: ListenerInfo) -> tuple[str, str] | None:
    """Say what is wrong with a listener, and what follows from it; None: nothing."""
    if is_silent(info):
        n = len(info.running)
        follows = f"If it stays so, its {plural(n, 'job')} {'goes' if n == 1 else 'go'} to other listeners."
        return f"{info.listener} has been silent for {away(info.beat_ms or 0)}.", follows if n else ""
    if info.trouble:
        return f"{info.listener}: {info.trouble.rstrip('.')}.", ""
    return None
