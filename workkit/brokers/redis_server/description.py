"""What a listener on a server calls itself, and its description there, in bytes."""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import replace

from workkit.brokers.redis_server.listener_info import write_info
from workkit.contract.listener import ListenerInfo


def new_name() -> str:
    """Make a name that no listener has used before: its host, its process, and a random part."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(6)}"


class Description:
    """The description of one listener, which began at `began_ms` by the server's clock. For one thread."""

    def __init__(self, info: ListenerInfo, *, began_ms: int) -> None:
        self.info, self._began_ms, self._usual = info, began_ms, info.state
        self.packed = write_info(info, began_ms=began_ms)

    def of(self, trouble: str | None, state: str | None = None) -> bytes:
        """Write it, with what makes no progress in the listener, and what it does now (None: as it registered)."""
        state = state or self._usual
        if (trouble, state) != (self.info.trouble, self.info.state):
            self.info = replace(self.info, trouble=trouble, state=state)
            self.packed = write_info(self.info, began_ms=self._began_ms)
        return self.packed
