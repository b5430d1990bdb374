"""A private server process for one folder. Every process that names the folder finds it again.

Three locks in the folder show which processes are there. The kernel drops each lock when its holder ends, in whatever
way. Every user holds `users.lock` shared. The server and its keeper hold `server.lock`: while it is held, no second
server starts. A process that starts or leaves holds `gate.lock` for that moment. The keeper is a bare interpreter and
the server's parent. It waits until it has `users.lock` alone; then no user is left, not even a killed one, and it stops
the server. This module knows folders, processes and two commands of the server. It knows no jobs and no client
libraries.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from urllib.parse import quote, unquote

from workkit.brokers.embedded.folder import ANOTHER, is_private, opened_folder, prepare_folder, shown_path, write_file
from workkit.brokers.embedded.program import Release, Running, ask_program, find_program, reads, running_at
from workkit.brokers.redis_server.address import refused_url
from workkit.clocks import time
from workkit.errors import EmbeddedError

SCHEME = "embedded://"
GATE_SECONDS = 60.0
ANSWER_SECONDS = 15.0
STOP_SECONDS = 15.0
LONGEST_SOCKET = 100  # bytes; the limit is 107 on Linux and 103 on macOS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EmbeddedServer:
    """One attachment to the private server of `folder`; `pid` and `version` are those at the time of attaching.

    `url` is a URL for `redis.Redis.from_url`. It stays the same when the server is started again.
    """

    folder: Path
    url: str
    pid: int
    product: str
    version: str

    def close(self) -> None:
        """Leave. The last user of all processes waits until the server has saved and stopped. Never raises."""
        with _mutex:
            seat = _seats.get(self.folder)
            if seat is None or self not in seat.handles:
                return
            seat.handles.remove(self)
            if not seat.handles:
                del _seats[self.folder]
                _leave(self.folder, users=seat.users)

    def revive(self) -> bool:
        """Start the server again if it is gone, with the data on disk. True: this call has started it. If several
        processes and threads call this, one of them starts it. Raises EmbeddedError, OSError.
        """
        binary, ours = find_program()
        with _gate(self.folder, seconds=GATE_SECONDS):
            if not _is_free(self.folder / "server.lock"):
                return False
            _serve(self.folder, binary=binary, ours=ours)
            return True

    def __enter__(self) -> EmbeddedServer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seat:
    """This process as a user of one folder: its shared lock, and the attachments that share it."""

    users: int
    handles: set[EmbeddedServer]


_mutex = threading.RLock()
_seats: dict[Path, _Seat] = {}
_passing: set[int] = set()  # descriptors of locks that are held only for a moment


def folder_of(url: str) -> Path:
    """Return the folder an embedded:// URL names: `embedded:///folder`, or `embedded://folder` under the current one.

    `%20` and the like are decoded, a leading `~/` is the home folder. Raises InvalidSchedule.
    """
    rest = url.removeprefix(SCHEME)
    if rest == url:
        trouble = f"does not begin with {SCHEME}"
    elif not rest.strip("/"):
        trouble = "names no folder"
    elif mark := re.search(r"[?#]", rest):
        trouble = f'has "{mark[0]}" at column {len(SCHEME) + mark.start() + 1}, but takes no options'
    elif re.match(r"[^/]*(@|:\d)", rest):
        trouble = "names a host or port, but a private server has neither"
    elif "\0" in unquote(rest):
        trouble = "has a NUL character, which no folder can have"
    else:
        folder = Path(unquote(rest))
        return folder.expanduser() if rest.startswith("~/") else folder
    accepted = "embedded:///folder, or embedded://folder for one under the current folder"
    raise refused_url(url, f" {trouble}. Write {accepted}.", accepted=accepted)


def attach(folder: Path) -> EmbeddedServer:
    """Start the private server of `folder`, or find the running one, and stay its user until closed or exited.

    Makes the folder if it is missing. Returns when the server answers and its data are loaded. Raises EmbeddedError.
    """
    binary, ours = find_program()
    try:
        with _mutex:
            place = prepare_folder(folder)
            with _gate(place, seconds=GATE_SECONDS):
                seat = _seat(place)
                try:
                    running = _serve(place, binary=binary, ours=ours)
                except BaseException:
                    if not seat.handles:
                        os.close(_seats.pop(place).users)
                    raise
            server = EmbeddedServer(
                folder=place,
                url="unix://" + quote(str(running.address)),
                pid=running.pid,
                product=running.release.product,
                version=running.release.version,
            )
            seat.handles.add(server)
            return server
    except OSError as error:
        trouble = f"{shown_path(folder)} cannot be used: {error.strerror or error}"
        raise EmbeddedError(
            f'{trouble}. Name a folder you may write to: redis="embedded:///FOLDER".', given=folder
        ) from error


@contextmanager
def temporary() -> Iterator[EmbeddedServer]:
    """Start a private server in a temporary folder. The folder and its data are removed afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix="workkit-", ignore_cleanup_errors=True) as folder,
        attach(Path(folder)) as server,
    ):
        yield server


def _seat(place: Path) -> _Seat:
    """Become a user of the folder, or return the seat that this process already has."""
    users = opened_folder(place / "users.lock", os.O_RDWR)
    if seat := _seats.get(place):
        if os.path.sameopenfile(seat.users, users):
            os.close(users)
            return seat
        os.close(_seats.pop(place).users)  # of an earlier folder of this path; its keeper stops its server
    if not _until(lambda: _take(users, fcntl.LOCK_SH), seconds=STOP_SECONDS):
        os.close(users)
        trouble = f"{shown_path(place)}: its server has been stopping for {STOP_SECONDS:.0f} s"
        raise EmbeddedError(f"{trouble}. See {shown_path(place)}/server.log, or {ANOTHER}", given=place)
    _seats[place] = _Seat(users=users, handles=set())
    return _seats[place]


def _serve(place: Path, *, binary: str, ours: Release) -> Running:
    """Find the folder's server or start it, and wait until its data are loaded. The caller holds the gate."""
    deadline, started = time.monotonic() + ANSWER_SECONDS, False
    recorded = _recorded(place)
    while time.monotonic() < deadline:
        with _opened(place / "server.lock") as held:
            if _take(held, fcntl.LOCK_EX):
                if started:
                    raise _failed(place, "ended while it started")
                if recorded:
                    _refuse_newer(place, theirs=recorded[0], ours=ours)
                _spawn(place, binary=binary, held=held)
                started = True
        if running := next(filter(None, map(running_at, _addresses(place))), None):
            if not started:
                _refuse_newer(place, theirs=running.release, ours=ours, pid=running.pid)
            if not running.loading:
                if recorded != (running.release, running.address):
                    _record(place, running)
                return running
            deadline = time.monotonic() + ANSWER_SECONDS
        time.sleep(0.005)
    raise _failed(place, f"gave no answer for {ANSWER_SECONDS:.0f} s")


def _spawn(place: Path, *, binary: str, held: int) -> None:
    """Start keeper and server in a session of their own, so that no Ctrl-C or closed terminal reaches them.

    They inherit `held`, the lock for a running server of the folder, and keep it while either of them lives.
    """
    address = _address(place)
    if address.parent != place:
        address.parent.mkdir(mode=0o700, exist_ok=True)
        if not is_private(address.parent):
            trouble = f"{address.parent}, meant for its socket, is not a folder of this user alone"
            raise EmbeddedError(f"{shown_path(place)}: {trouble}. Remove that, or {ANOTHER}", given=place)
    options = {"port": "0", "unixsocket": str(address), "unixsocketperm": "700", "dir": str(place)}
    options |= {"appendonly": "yes", "appendfsync": "everysec", "save": "", "maxmemory-policy": "noeviction"}
    options |= {"daemonize": "no", "logfile": ""}
    command = [binary, *(word for name, value in options.items() for word in (f"--{name}", value))]
    keeper = [sys.executable, "-I", "-S", str(Path(__file__).with_name("keeper.py"))]
    keeper += [str(place / "users.lock"), str(place / "server.log"), *command]
    with os.fdopen(opened_folder(place / "server.log", os.O_WRONLY | os.O_APPEND), "ab") as log:
        subprocess.run(
            keeper, pass_fds=[held], start_new_session=True, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )


def _leave(place: Path, *, users: int) -> None:
    """Stop being a user. The last user stops the server. If that fails, the keeper stops it a moment later."""
    os.close(users)  # not unlocked: a forked child shares this lock, and is a user until it ends
    with suppress(OSError, EmbeddedError), _gate(place, seconds=5.0), _opened(place / "users.lock") as probe:
        if not _take(probe, fcntl.LOCK_EX) and _take(probe, fcntl.LOCK_SH):
            return  # others use it; if the shared lock cannot be had either, the keeper was quicker
        for address in _addresses(place):
            ask_program(address, "SHUTDOWN NOSAVE")  # no snapshot; the append-only file is flushed to disk
        if _until(lambda: _is_free(place / "server.lock"), seconds=STOP_SECONDS) and _address(place).parent != place:
            _address(place).parent.rmdir()


@atexit.register
def _leave_all() -> None:
    for server in [server for seat in _seats.values() for server in seat.handles]:
        server.close()


def _after_fork() -> None:
    """In a forked child, close the momentary locks that other threads of the parent held at the fork."""
    global _mutex
    _mutex = threading.RLock()
    for descriptor in _passing:
        os.close(descriptor)
    _passing.clear()


os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def _gate(place: Path, *, seconds: float) -> Iterator[None]:
    with _opened(place / "gate.lock") as descriptor:
        if not _until(lambda: _take(descriptor, fcntl.LOCK_EX), seconds=seconds):
            trouble = (
                f"{shown_path(place)}: another process has been starting or leaving its server for {seconds:.0f} s"
            )
            raise EmbeddedError(f"{trouble}. End that process, or {ANOTHER}", given=place)
        yield


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = opened_folder(path, os.O_RDWR)
    _passing.add(descriptor)
    try:
        yield descriptor
    finally:
        _passing.discard(descriptor)
        os.close(descriptor)


def _take(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_free(lock: Path) -> bool:
    with _opened(lock) as descriptor:
        return _take(descriptor, fcntl.LOCK_EX)


def _until(condition: Callable[[], bool], *, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def _address(place: Path) -> Path:
    """Return the place of the server's socket: in the folder, or in a folder with a short name if that path is too
    long.

    The name distinguishes a folder from an earlier one of the same path. The server of the earlier folder removes its
    socket when it stops.
    """
    near = place / f"server-{(place / 'server.lock').stat().st_ino:x}.sock"
    digest = hashlib.sha1(os.fsencode(place), usedforsecurity=False).hexdigest()[:16]
    far = (Path(root, f"workkit-{os.geteuid()}-{digest}", near.name) for root in (tempfile.gettempdir(), "/tmp"))
    return next(path for path in (near, *far) if len(os.fsencode(path)) <= LONGEST_SOCKET)


def _addresses(place: Path) -> set[Path]:
    """Return the places where a server of this folder may listen. A server with another TMPDIR leaves a note.

    A note that was copied with another folder names another socket, and is ignored. So is a note that names a folder
    that others can reach.
    """
    address, recorded = _address(place), _recorded(place)
    found = {address}
    if recorded and recorded[1].parts[-2:] == address.parts[-2:]:
        found.add(recorded[1])
    return set(filter(lambda one: is_private(one.parent), found))


def _recorded(place: Path) -> tuple[Release, Path] | None:
    """Return the server that wrote the folder's data last, and its socket."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        note = json.loads((place / "server.json").read_bytes())
        release = Release(product=str(note["product"]), version=str(note["version"]))
        return (release, Path(note["socket"])) if release.number else None
    return None


def _record(place: Path, running: Running) -> None:
    release = running.release
    note = {"product": release.product, "version": release.version, "pid": running.pid, "socket": str(running.address)}
    write_file(place / "server.json.new", json.dumps(note) + "\n")
    os.replace(place / "server.json.new", place / "server.json")


def _refuse_newer(place: Path, *, theirs: Release, ours: Release, pid: int | None = None) -> None:
    if reads(ours, theirs):
        return
    brings = str(ours).removeprefix(f"{theirs.product} ")
    raise EmbeddedError(
        f"{shown_path(place)} belongs to {theirs}{f' (pid {pid})' if pid else ''}; this workkit brings {brings}. "
        f"{'Stop what uses it' if pid else f'Install {theirs} or later'}, or {ANOTHER}",
        given=place,
    )


def _failed(place: Path, trouble: str) -> EmbeddedError:
    """Make the error for a server that failed, with the last words of its log."""
    words = ""
    with suppress(OSError):
        lines = (place / "server.log").read_text(errors="replace").splitlines()[-3:]
        words = " ".join(re.sub(r"^\d+:\w \d+ \w+ \d+ [\d:.]+ \S ", "", line) for line in lines)
    name = shown_path(place)
    return EmbeddedError(f'{name}: its server {trouble}: "{words}". See {name}/server.log, or {ANOTHER}', given=place)
