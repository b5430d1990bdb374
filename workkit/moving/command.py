"""A command line as a call of `workkit.shell:run`: words without a shell where no shell is needed, else one text."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath

RUN = "workkit.shell:run"
DEFAULT_SHELL = "/bin/sh"
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh"})
# What stands for itself: bare characters, 'single quotes', and "double quotes" without $ ` \ !
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
    """Part a command line into the words that a shell would make of it; None where it needs the shell."""
    if PurePosixPath(shell).name not in _SHELLS or not _PLAIN.fullmatch(command):
        return None
    words = shlex.split(command)
    return None if not words or words[0] in _WORDS_OF_A_SHELL.split() or "=" in words[0] else words


def command_name(command: str) -> str:
    """Name a job by the program that its command line runs: "backup" for ``cd /srv && ./backup.sh -q``."""
    for part in re.split(r"&&|\|\||[;|\n]", command):
        name = _program(part)
        if name:
            return name
    return "command"


def _program(part: str) -> str:
    try:
        words = shlex.split(part)
    except ValueError:  # a quote that does not end
        words = part.split()
    words = [word for word in words if not re.match(r"[A-Za-z_]\w*=", word)]
    if not words or words[0] in _SILENT:
        return ""
    names = [PurePosixPath(word).name for word in words if not word.startswith(("-", ">", "<", "(", "{", "&"))]
    names = [re.sub(r"[^\w.@+-]", "", name) for name in names]
    names = [name for name in names if name and not _NUMBER.fullmatch(name)]
    found = next((name for name in names if name not in _INTERPRETERS.split()), names[0] if names else "")
    return next((found.removesuffix(end) for end in _ENDINGS if found.endswith(end)), found)
