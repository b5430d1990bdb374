"""How a source is to be read, and the text of a file that is named."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from workkit.errors import InvalidOptions, NotFound
from workkit.triggers.zone import zone

_ZONES = "zoneinfo/"
_LOCALTIME = Path("/etc/localtime")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a source is read. `tz` is the zone of the machine on which it runs; `system` marks a crontab with a column
    for the user; `now` is the present (aware), after which a time must still fire.
    """

    tz: str
    system: bool = False
    now: datetime

    @classmethod
    def here(cls, *, tz: str | None = None, system: bool = False) -> Reading:
        """Read by the clock of this machine, in the zone `tz` or else the machine's. Raises TriggerError,
        InvalidOptions.
        """
        return cls(tz=machine_zone() if tz is None else str(zone(tz)), system=system, now=datetime.now(UTC))


def machine_zone() -> str:
    """Name the zone of this machine: that of TZ, else the one /etc/localtime links to, else UTC where there is no such
    file. Raises InvalidOptions where none has a name.
    """
    named = os.environ.get("TZ", "").removeprefix(":")
    if not named:
        if not _LOCALTIME.exists():
            return "UTC"
        _, _, named = str(_LOCALTIME.resolve()).rpartition(_ZONES)
    try:
        return {"Etc/UTC": "UTC"}.get(named) or str(zone(named))
    except ValueError as error:
        shown = named or str(_LOCALTIME)
        raise InvalidOptions.about(
            "tz=", f"is not given, and the zone of this machine has no name: {shown}", 'Write tz="Europe/Paris".',
            where="tz", given=shown,
        ) from error  # fmt: skip


def text_of(file: str) -> str:
    """Read a text file, or stdin for "-". Raises NotFound, InvalidOptions."""
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise NotFound(f"{file}: {reason}. Name a file, or - for stdin.", given=file) from error
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidOptions(f"{file}: byte {error.start + 1} is not UTF-8. Save it as UTF-8.", given=file) from error
