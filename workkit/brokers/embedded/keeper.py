"""The keeper of an embedded server: it runs the server, bounds its log, and stops it when its last user is gone.

It is a program of its own that a bare interpreter runs by file name, so it imports only the standard library: `keeper
USERS_LOCK LOG COMMAND...`. It outlives the process that starts it, and ends with the server.
"""

import fcntl
import os
import signal
import sys
import threading
from contextlib import suppress

LOG_BYTES = 1 << 20


def keep(users: str, log: str, *, command: list[str]) -> None:
    """Run `command` until it ends by itself, or until no other process holds the lock on the file `users`."""
    said, says = os.pipe()
    server = os.fork()
    if not server:
        _become(command, says=says)
    os.close(says)

    def stop(*_: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(server, signal.SIGTERM)

    def stop_when_left() -> None:
        fcntl.flock(
            os.open(users, os.O_RDWR | os.O_NOFOLLOW), fcntl.LOCK_EX
        )  # held until the keeper ends: new users wait for that
        stop()

    signal.signal(signal.SIGTERM, stop)
    threading.Thread(target=stop_when_left, daemon=True).start()
    while text := os.read(said, 65536):
        with suppress(OSError):  # a full disk must not end the keeper
            _write(log, text)
    os.waitpid(server, 0)


def _become(command: list[str], *, says: int) -> None:
    os.dup2(says, 1)
    os.dup2(says, 2)
    try:
        os.execv(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def _write(log: str, text: bytes) -> None:
    """Append to the log. Drop the words if a link has replaced the log or the old log."""
    if os.path.exists(log) and os.path.getsize(log) > LOG_BYTES and not os.path.islink(f"{log}.old"):
        os.replace(log, f"{log}.old")
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600), "ab") as file:
        file.write(text)


if __name__ == "__main__":
    if os.fork():  # the starter waits for this one only; init adopts the other
        os._exit(0)
    os.umask(0o077)
    keep(*sys.argv[1:3], command=sys.argv[3:])
    os._exit(0)  # exits at once: do not wait for the thread that waits for the lock
