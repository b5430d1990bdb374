"""Commands as jobs: `run` starts a program and waits for its end. The plans of `workkit import` name it.

By default a listener runs no command. Start it with ``--import workkit.shell``, in Python with
``imports=["workkit.shell"]``. Then everybody who may add jobs to its schedules may run any command as its user.
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

MOST_OUTPUT = 64_000  # the most bytes kept of stdout, and of stderr: the last ones
GRACE = 5.0  # seconds between SIGTERM and SIGKILL
SHELL = "/bin/sh"
_CHUNK, _TICK = 65_536, 0.05
_groups: set[int] = set()  # the process groups that run
os.register_at_fork(after_in_child=_groups.clear)  # the parent process ends them


class CommandFailed(WorkkitError):
    """A command could not be started, ended with a status other than 0, or was ended by a signal. `status` is then
    minus the number of the signal, and None if the command never ran. `stdout` and `stderr` are the ends of its output.
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
    """Run a command, wait for its end, and return ``{"status": 0, "stdout": "...", "stderr": "..."}``. Each text has at
    most the last 64,000 bytes.

    - `command`: a list of words, which no shell reads; with `shell`, one text for the shell that `env` names as SHELL,
      else for /bin/sh
    - `env`: its environment, in addition to HOME, LOGNAME, USER and SHELL; None is that of the listener
    - `cwd`: the folder in which it starts; "~" is the home of its user, None the folder of the listener
    - `stdin`: the text that it reads
    - `user`: the user that runs it; for any user but its own, the listener must run as root
    - `check`: True raises for every status but 0; False returns any status

    A run that is cancelled, exceeds the `timeout` of its job, or still runs when the listener stops, ends the whole
    process group: SIGTERM, then SIGKILL after 5 seconds. Raises CommandFailed, InvalidArguments.
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
    except BaseException:  # cancelled, or any other end
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
    """Return the arguments by which a process becomes another user; empty if it need not. Raises CommandFailed."""
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
    """Start a process. When a start is cancelled, asyncio ends the first process only, and waits for the others. So
    this finishes the start, which is short, and then ends the whole group.
    """
    starting = asyncio.ensure_future(asyncio.create_subprocess_exec(*words, **how))
    cancelled = None
    while not starting.done():
        try:
            await asyncio.wait({starting})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        with suppress(OSError, ValueError):  # the process does not exist
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
    with suppress(BrokenPipeError, ConnectionResetError):  # the process reads no further
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
    """Send a signal to a process group. Return whether the group exists."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # the remaining processes belong to another user now
        return number == 0
    return True


@atexit.register
def _stop_all() -> None:
    """End all commands when the process ends before the event loop has stopped them."""
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
    if len(said) > room:  # whole lines, if any fit
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
