"""What only Python listeners have."""

from __future__ import annotations

from typing import Any

from peers import ran


def only(*args: Any) -> None:
    ran("peers.python/only", args)
