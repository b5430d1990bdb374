"""Common parts of the readers of other schedulers: how a source is read, its entries, carried over exactly or refused
with the reason, and a command line as a call of `workkit.shell:run`.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from workkit.errors import InvalidOptions, NotFound
from workkit.triggers.zone import zone


@dataclass(frozen=True, slots=True)
class Carried:
    """An entry that a plan expresses exactly.

    ``when``: a time as a plan takes it: words or a cron string. ``function``: the plan's ``fn``. ``options``: its other
    keywords (``tz``, ``start``, ``catch_up`` ...). ``where``: the place in the source (``line 12``,
    ``beat_schedule['digest']``). ``comments``: remarks for the user.
    """

    name: str
    when: str
    function: str
    args: list[object]
    kwargs: dict[str, object]
    options: dict[str, object]
    where: str
    comments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """An entry that no plan expresses exactly: its place, its text, the reason, and what the user may write instead."""

    where: str
    text: str
    reason: str
    instead: str = ""


Found = Carried | Refused


class NotCarried(ValueError):
    """An entry that no plan expresses exactly: the text is the reason, a sentence; `instead`: a replacement to
    write.
    """

    def __init__(self, reason: str, instead: str = "") -> None:
        super().__init__(reason)
        self.instead = instead


def not_carried(_spec: object, _item: str, trouble: str, *, hint: str, **_others: object) -> NotCarried:
    """Return the error about an item of a cron field. Its sentence names the item (`triggers/crons/grammars.py`)."""
    return NotCarried(f"{trouble}.", hint)


_ZONES = "zoneinfo/"
_LOCALTIME = Path("/etc/localtime")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a source is read. `tz`: the zone of the machine that runs it; `system`: a crontab has a column for the user;
    `now`: the present (aware); a time must fire after it.
    """

    tz: str
    system: bool = False
    now: datetime

    @classmethod
    def here(cls, *, tz: str | None = None, system: bool = False) -> Reading:
        """Make a Reading with the clock of this machine, in the zone `tz`, or else the machine's. Raises TriggerError,
        InvalidOptions.
        """
        return cls(tz=_machine_zone() if tz is None else str(zone(tz)), system=system, now=datetime.now(UTC))


def _machine_zone() -> str:
    """Return the zone of this machine: that of TZ, else the target of the link /etc/localtime, else UTC if there is no
    such file. Raises InvalidOptions if the zone has no name.
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


RUN = "workkit.shell:run"
DEFAULT_SHELL = "/bin/sh"
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh"})
# Literal text: bare characters, 'single quotes', and "double quotes" without $ ` \ !
_PLAIN = re.compile(r"(?:[A-Za-z0-9_@%+=:,./ \t-]|'[^'\n]*'|\"[^\"$`\\!\n]*\")+")
_WORDS_OF_A_SHELL = """
    ! . : [ [[ alias bg break builtin case cd command continue coproc declare disown do done elif else enable esac eval
    exec exit export fc fg fi for function getopts hash help history if in jobs let local logout mapfile popd pushd read
    readonly return select set shift shopt source suspend then time times trap type typeset ulimit umask unalias unset
    until wait while { }
"""
_INTERPRETERS = """
    sh bash dash zsh ksh env nice ionice nohup sudo flock timeout chronic run-one systemd-cat python python2 python3 php
    perl ruby node java uv bundle npm npx
"""
_SILENT = frozenset({"cd", "export", "set", "test", "[", "[[", ".", "source", "umask", "ulimit", "sleep", "exec", "if"})
_NUMBER = re.compile(r"[0-9]+[smhd]?")
_ENDINGS = (".sh", ".py", ".php", ".pl", ".rb", ".js")


def words_of(command: str, *, shell: str = DEFAULT_SHELL) -> list[str] | None:
    """Split a command line into the words that a shell would make of it; None if it needs the shell."""
    if PurePosixPath(shell).name not in _SHELLS or not _PLAIN.fullmatch(command):
        return None
    words = shlex.split(command)
    return None if not words or words[0] in _WORDS_OF_A_SHELL.split() or "=" in words[0] else words


def command_name(command: str) -> str:
    """Name a job after the program that its command line runs: "backup" for ``cd /srv && ./backup.sh -q``."""
    for part in re.split(r"&&|\|\||[;|\n]", command):
        name = _program(part)
        if name:
            return name
    return "command"


def _program(part: str) -> str:
    try:
        words = shlex.split(part)
    except ValueError:  # a quote without an end
        words = part.split()
    words = [word for word in words if not re.match(r"[A-Za-z_]\w*=", word)]
    if not words or words[0] in _SILENT:
        return ""
    names = [PurePosixPath(word).name for word in words if not word.startswith(("-", ">", "<", "(", "{", "&"))]
    names = [re.sub(r"[^\w.@+-]", "", name) for name in names]
    names = [name for name in names if name and not _NUMBER.fullmatch(name)]
    found = next((name for name in names if name not in _INTERPRETERS.split()), names[0] if names else "")
    return next((found.removesuffix(end) for end in _ENDINGS if found.endswith(end)), found)
