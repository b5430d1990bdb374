"""Python programs of tests, started in milliseconds: one warm process, with workkit imported, forks them.

Most of the time of a short program is its interpreter and its imports, and the tests start thousands. A program from
here is a process like any other: it has a pid, streams, a folder and an environment of its own, and a status that only
its starter takes. What differs: workkit's modules are imported already, its parent is the warm process, and at its end
modules are not taken apart. A program whose start a test looks at, or whose interpreter has options or variables of its
own, starts as always: `subprocess.Popen` starts it, or `Process` with `is_warm=False`.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOREIGN = ("WORKKIT_", "REDIS_URL", "NO_COLOR", "FORCE_COLOR")
PATH = "PYTHONPATH"
INTERPRETER = ("PYTHON", "LANG", "LC_", "LD_", "MALLOC")  # variables that are read as a process starts
MOST = 150_000  # bytes of a request; one message of the kernel's has more, and no test needs them
LEFT_OUT = ("django", "flask", "testing", "asgi", "__main__")  # what needs another framework, or is itself a program


def clean_environ(**more: str) -> dict[str, str]:
    """Return this process's environment without what steers workkit, for a program of the checkout."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    inherited[PATH] = os.pathsep.join(filter(None, [str(ROOT), inherited.get(PATH)]))
    return {**inherited, "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1", **more}


class Program(subprocess.Popen[Any]):
    """A `Popen` whose process the warm one forks, where that can be."""

    _line: socket.socket | None = None

    def __init__(self, command: Sequence[str], *, is_warm: bool = True, **options: Any) -> None:
        self._is_warm = is_warm
        super().__init__(command, **options)

    def _execute_child(self, args: Any, executable: Any, preexec_fn: Any, *rest: Any) -> None:
        (close_fds, pass_fds, cwd, env, _, _, shell, *pipes, _, gid, gids, uid, umask, session, group) = rest
        special = (preexec_fn, pass_fds, shell, gid, gids, uid, umask + 1, group + 1)
        request = _request(args, cwd, env) if self._is_warm and close_fds and not any(special) else None
        if request is None:
            super()._execute_child(args, executable, preexec_fn, *rest)  # type: ignore[misc]  # private, so untyped
            return
        theirs = [end if end != -1 else number for number, end in enumerate((pipes[0], pipes[3], pipes[5]))]
        self._line, self.pid = Warm.up().start({**request, "session": session}, theirs)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _internal_poll(self, *options: Any, **more: Any) -> int | None:
        if self._line is None:
            status: int | None = super()._internal_poll(*options, **more)  # type: ignore[misc]
            return status
        return self._told(0)

    def _wait(self, timeout: float | None) -> int | None:
        if self._line is None:
            waited: int | None = super()._wait(timeout)  # type: ignore[misc]
            return waited
        if self._told(timeout) is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return self.returncode

    def _told(self, timeout: float | None) -> int | None:
        """Return the status as soon as it is known, and let the process go: its pid is free then."""
        line = self._line
        assert line is not None
        with self._waitpid_lock:  # type: ignore[attr-defined]
            if self.returncode is None:
                waiting = select.poll()
                waiting.register(line, select.POLLIN)
                if waiting.poll(None if timeout is None else max(0, timeout) * 1000):
                    self.returncode = struct.unpack("i", line.recv(4))[0]
                    line.close()
        return self.returncode


def _request(args: Any, cwd: Any, env: Mapping[str, str] | None) -> dict[str, Any] | None:
    """Return what the warm process is to do; None if it cannot."""
    command = [os.fspath(word) for word in args]
    if len(command) < 2 or command[0] != sys.executable or not hasattr(os, "pidfd_open"):
        return None
    if command[1] not in ("-c", "-m") and (command[1].startswith("-") or not command[1].endswith(".py")):
        return None
    environ = dict(os.environ if env is None else env)
    if _read_at_start(environ) != Warm.up().read_at_start:
        return None
    request = {"command": command, "cwd": os.path.abspath(cwd or os.curdir), "environ": environ}
    return request if len(json.dumps(request)) < MOST else None


def _read_at_start(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name.startswith(INTERPRETER) and name != PATH}


class Warm:
    """The warm process, as its starter sees it."""

    _one: Warm | None = None
    _lock = threading.Lock()

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command, environ = [sys.executable, __file__, str(theirs.fileno())], clean_environ()
            pipe = subprocess.PIPE  # what its programs have: a stream knows from its start whether it can seek
            self.read_at_start = _read_at_start(environ)
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=environ, pass_fds=[theirs.fileno()], stdin=pipe, stdout=pipe, stderr=pipe
            )
        if not self._ours.recv(1):
            raise AssertionError(self._process.communicate()[1].decode())
        atexit.register(self._close)

    @classmethod
    def up(cls) -> Warm:
        """Return the one of this process."""
        with cls._lock:
            if cls._one is None:
                cls._one = cls()
            return cls._one

    def start(self, request: Mapping[str, Any], streams: list[int]) -> tuple[socket.socket, int]:
        """Start a program; return the line on which its status comes, and its pid."""
        line, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._ours, [json.dumps(request).encode()], [*streams, theirs.fileno()])
        return line, struct.unpack("i", line.recv(4))[0]

    def _close(self) -> None:
        self._ours.close()
        self._process.communicate()


def _serve(control: socket.socket) -> dict[str, Any]:
    """Fork a program for each request. Returns in the program, with its request."""
    waiting = select.poll()
    waiting.register(control, select.POLLIN)
    lines: dict[int, tuple[int, int]] = {}  # of the programs that run: by the descriptor that tells of their end
    ended: dict[int, int] = {}  # lines by which their starters let them go: the pids
    control.send(b"w")
    while True:
        for found, _ in waiting.poll():
            if found in lines:
                pid, line = lines.pop(found)
                waiting.unregister(found)
                os.close(found)
                over = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
                assert over is not None
                status = over.si_status if over.si_code == os.CLD_EXITED else -over.si_status
                ended[line] = pid
                waiting.register(line, 0)  # its other end closes
                with suppress(OSError):  # its starter has ended
                    os.write(line, struct.pack("i", status))
            elif found in ended:
                waiting.unregister(found)
                os.close(found)
                os.waitpid(ended.pop(found), 0)
            else:
                text, descriptors, _, _ = socket.recv_fds(control, MOST * 2, 4)
                if not text:
                    os._exit(0)
                *streams, line = descriptors
                if not (pid := os.fork()):
                    request = json.loads(text)
                    if request["session"]:
                        os.setsid()
                    for number, stream in enumerate(streams):
                        os.dup2(stream, number)
                    os.write(line, struct.pack("i", os.getpid()))
                    control.detach()
                    os.closerange(3, 1 << 16)
                    return request  # type: ignore[no-any-return]
                for stream in streams:
                    os.close(stream)
                handle = os.pidfd_open(pid)
                lines[handle] = pid, line
                waiting.register(handle, select.POLLIN)


def _run(request: Mapping[str, Any]) -> None:
    """Be the program, as the interpreter would run it."""
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environ"])
    time.tzset()
    named = filter(None, os.environ.get(PATH, "").split(os.pathsep))
    sys.path[:] = dict.fromkeys([*map(os.path.abspath, named), *sys.path])
    sys.orig_argv = command = request["command"]
    kind, *words = command[1:]
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    if kind == "-m":
        sys.path.insert(0, os.getcwd())
        sys.argv = ["-m", *words[1:]]
        runpy._run_module_as_main(words[0])  # type: ignore[attr-defined]
    elif kind == "-c":
        sys.path.insert(0, "")
        sys.argv = ["-c", *words[1:]]
        exec(compile(words[0], "<string>", "exec"), vars(main))
    else:
        sys.path.insert(0, str(Path(kind).resolve().parent))
        sys.argv = [kind, *words]
        main.__file__ = os.path.abspath(kind)
        exec(compile(Path(kind).read_bytes(), main.__file__, "exec"), vars(main))


def import_all() -> None:
    """Import the modules that programs of tests use: all of workkit but for what needs another framework."""
    import workkit

    for info in [*pkgutil.walk_packages(workkit.__path__, "workkit.")]:
        if not set(info.name.split(".")) & set(LEFT_OUT):
            with suppress(ImportError):  # of an extra that is not installed; a program that needs it says so
                import_module(info.name)
    import_module("redis.asyncio")


def main() -> None:
    at_interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
    del sys.path[0]
    import_all()
    assert threading.active_count() == 1, "a fork has one thread"
    gc.collect()
    gc.freeze()
    request = _serve(socket.socket(fileno=int(sys.argv[1])))
    signal.signal(signal.SIGINT, at_interrupt)
    status = _status_of(request)
    threading._shutdown()  # type: ignore[attr-defined]  # the end of the interpreter, in its order
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # to take each module apart would copy the memory of all


def _status_of(request: Mapping[str, Any]) -> int:
    """Run the program, print what it leaves behind as the interpreter does, and return its status."""
    try:
        _run(request)
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return (ended.code or 0) & 0xFF
        print(ended.code, file=sys.stderr)
        return 1
    except Exception as error:
        told = error.__traceback__
        for _ in range(2):  # the frames of this module
            told = told and told.tb_next
        sys.excepthook(type(error), error.with_traceback(told), told)
        return 1
    return 0


if __name__ == "__main__":
    main()
