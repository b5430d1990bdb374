"""Commands as jobs: `run` starts a program and waits for its end. The plans of `workkit import` name it.

A listener runs no command unless it is told: start it with ``--import workkit.shell``, in Python with
``imports=["workkit.shell"]``. Whoever may add jobs to its schedules may then run any command as its user.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import pwd
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from workkit.clocks import time
from workkit.errors import MOST_TEXT, InvalidArguments, WorkkitError

MOST_OUTPUT = 64_000  # bytes kept of stdout and of stderr: the last ones
GRACE = 5.0  # seconds between SIGTERM and SIGKILL
SHELL = "/bin/sh"
_CHUNK, _TICK = 65_536, 0.05
_groups: set[int] = set()  # process groups that run
os.register_at_fork(after_in_child=_groups.clear)  # they are the parent's to end


class CommandFailed(WorkkitError):
    """A command could not be started, ended with another status than 0, or was ended by a signal: `status` is then
    minus its number, and None where it never ran. `stdout` and `stderr` are the ends of what it wrote.
    """

    status: int | None = None
    stdout: str = ""
    stderr: str = ""


async def run(
    command: list[str] | str,
    *,
    shell: bool = False,
    env: dict[str, str] | None = None,
    cwd: str | None = None,
    stdin: str = "",
    user: str | None = None,
    check: bool = True,
) -> dict[str, Any]:
    """Run a command, wait for its end, and return ``{"status": 0, "stdout": "...", "stderr": "..."}``: texts of at most
    the last 64,000 bytes each.

    - `command`: a list of words, which no shell reads; with `shell`, one text for the shell that `env` names as SHELL,
      else /bin/sh
    - `env`: its environment, in addition to HOME, LOGNAME, USER and SHELL; None is that of the listener
    - `cwd`: the folder in which it starts; "~" is the home of its user, None the folder of the listener
    - `stdin`: the text that it reads
    - `user`: whose rights it has; another user than that of the listener needs a listener of root
    - `check`: False returns any status, where True fails for all but 0

    A run that is cancelled, takes longer than the `timeout` of its job, or is left when the listener stops, ends the
    whole process group: SIGTERM, then SIGKILL after 5 seconds. Raises CommandFailed, InvalidArguments.
    """
    words = _words(command, shell=shell, env=env)
    who = pwd.getpwuid(os.geteuid()) if user is None else _user(user)
    home = {"HOME": who.pw_dir, "LOGNAME": who.pw_name, "USER": who.pw_name, "SHELL": SHELL}
    try:
        process = await _started(
            *words,
            stdin=PIPE if stdin else DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            env=None if env is None else home | env,
            cwd=who.pw_dir if cwd == "~" else cwd,
            start_new_session=True,
            **_rights(who),
        )
    except (OSError, ValueError) as error:
        raise _not_started(words[0], error) from error
    _groups.add(process.pid)
    try:
        ends = (_end_of(process.stdout), _end_of(process.stderr), _feed(process, stdin), process.wait())
        out, err, _, status = await asyncio.gather(*ends)
    except BaseException:  # cancelled, by whomever
        await _stop(process)
        raise
    finally:
        _groups.discard(process.pid)
    stdout, stderr = (data.decode("utf-8", "replace") for data in (out, err))
    if status and check:
        raise _failed(command, status, stdout=stdout, stderr=stderr)
    return {"status": status, "stdout": stdout, "stderr": stderr}


def _words(command: list[str] | str, *, shell: bool, env: Mapping[str, str] | None) -> list[str]:
    if shell and isinstance(command, str) and command.strip():
        return [(os.environ if env is None else env).get("SHELL", SHELL), "-c", command]
    if not shell and isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        return command
    remedy = 'With shell=True write one text: "a | b".' if shell else 'Write ["/usr/bin/backup", "-q"], or shell=True.'
    raise InvalidArguments.about(f"command={command!r:.200}", "is no command", remedy, given=command, where="command")


def _user(name: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(name)
    except KeyError as error:
        raise CommandFailed(f'user="{name}" is no user of this machine.') from error


def _rights(who: pwd.struct_passwd) -> dict[str, Any]:
    """Say how a process becomes another user, if it must. Raises CommandFailed."""
    if who.pw_uid == os.geteuid():
        return {}
    if os.geteuid() != 0:
        here = pwd.getpwuid(os.geteuid()).pw_name
        raise CommandFailed(
            f'user="{who.pw_name}": this listener runs as {here}, and only root runs commands as somebody else. '
            f"Start a listener as {who.pw_name}, and leave user out."
        )
    groups = os.getgrouplist(who.pw_name, who.pw_gid)
    return {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": groups}


async def _started(*words: str, **how: Any) -> Process:
    """Start a process. Of a start that is cancelled asyncio ends the first process only, and waits for the others: so
    the start goes on to its end, which is soon, and then the whole group is ended.
    """
    starting = asyncio.ensure_future(asyncio.create_subprocess_exec(*words, **how))
    cancelled = None
    while not starting.done():
        try:
            await asyncio.wait({starting})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        with suppress(OSError, ValueError):  # there is none
            await _stop(starting.result())
        raise cancelled
    return starting.result()


async def _end_of(stream: asyncio.StreamReader | None) -> bytes:
    """Read a stream to its end, and keep the last bytes."""
    kept = b""
    while stream is not None and (data := await stream.read(_CHUNK)):
        kept = (kept + data)[-MOST_OUTPUT:]
    return kept


async def _feed(process: Process, text: str) -> None:
    if process.stdin is None:
        return
    with suppress(BrokenPipeError, ConnectionResetError):  # it reads no further
        process.stdin.write(text.encode())
        await process.stdin.drain()
    process.stdin.close()


async def _stop(process: Process) -> None:
    """End the whole group of a process, and wait until it has ended."""
    try:
        _signal(process.pid, signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        while _signal(process.pid, 0) and time.monotonic() < deadline:
            await asyncio.sleep(_TICK)
    finally:  # also where a second cancellation cuts the grace short
        _signal(process.pid, signal.SIGKILL)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), GRACE)


def _signal(group: int, number: int) -> bool:
    """Signal a process group; tell whether there is one."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # what is left has become another user
        return number == 0
    return True


@atexit.register
def _stop_all() -> None:
    """Leave no command behind when the process ends while the event loop still stops them."""
    deadline = time.monotonic() + GRACE
    while _groups and time.monotonic() < deadline:
        time.sleep(_TICK)
    for group in list(_groups):
        _signal(group, signal.SIGKILL)


def _failed(command: list[str] | str, status: int, *, stdout: str, stderr: str) -> CommandFailed:
    name = command if isinstance(command, str) else command[0]
    how = f"ended with status {status}" if status > 0 else f"was ended by {_signal_name(-status)}"
    head, said = f"{name:.200} {how}", stderr.strip()
    room = MOST_TEXT - len(head) - 5
    if len(said) > room:  # whole lines, if there are any that fit
        said = "..." + (said[-room:].partition("\n")[2] or said[-room:])
    error = CommandFailed(f"{head}: {said}" if said else f"{head}.", given=command)
    error.status, error.stdout, error.stderr = status, stdout, stderr
    return error


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a realtime signal
        return f"signal {number}"


def _not_started(program: str, error: OSError | ValueError) -> CommandFailed:
    if isinstance(error, ValueError):  # a null byte
        return CommandFailed(f"{program!r} cannot be started: {error}.", given=program)
    what = program if error.filename in (None, program) else f"{program}: {error.filename}"
    return CommandFailed(f"{what} cannot be started: {(error.strerror or str(error)).lower()}.", given=program)
