"""Logins by a form: who logs in, how often a wrong password is accepted, and which logins are over. The rules:
spec/web.md, 6.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import logging
import os
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

from starlette.requests import Request

from workkit.web.auth import LOGIN_S, Known, Signer, UsersFile, bearer
from workkit.web.users import Who, is_password

COOKIE: Final = "workkit_login"
TRIES, MOST_TRIES = 5, 50
"""So many passwords may fail within a minute from one address: where the name has failed there too, and in all."""

WINDOW_S: Final = 60.0
MOST_ADDRESSES: Final = 10_000
LOGOUTS: Final = ".logouts"
"""What the name of the file of logouts has, behind that of the users."""

LOGGER: Final = logging.getLogger("workkit.web")


class TooManyFailures(Exception):
    """An address has failed too often."""


class Failures:
    """The passwords that failed within the last minute, by address and name; at most those of 10,000 addresses. What
    fails at one address concerns no other.
    """

    def __init__(self, *, most: int = MOST_ADDRESSES) -> None:
        self._most = most
        self._of: dict[str, deque[tuple[float, bytes]]] = {}  # the address that failed last is the last one
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._of)

    def turn(self, address: str) -> asyncio.Lock:
        """Return a lock: one password of an address is tried at once, so that none is tried before the others count."""
        return self._turns.setdefault(address, asyncio.Lock())

    def is_full(self, address: str, *, now: float) -> bool:
        """Say whether an address has failed so often that no wrong name or password is looked at any more."""
        return len(self._recent(address, now)) >= TRIES

    def is_refused(self, address: str, name: str, *, now: float) -> bool:
        """Say whether a name may not try at an address now. One that has not failed there may, until very many have."""
        recent = self._recent(address, now)
        return len(recent) >= MOST_TRIES or (len(recent) >= TRIES and any(one == _short(name) for _, one in recent))

    def add(self, address: str, name: str, *, now: float) -> None:
        """Count a failure."""
        kept = self._of.pop(address, None) or deque(maxlen=MOST_TRIES)
        kept.append((now, _short(name)))
        self._of[address] = kept
        if len(self._of) > self._most:
            del self._of[next(iter(self._of))]

    def forget(self, address: str, name: str) -> None:
        """Forget what a name failed at an address, where it has come in now."""
        rest = [one for one in self._of.get(address, ()) if one[1] != _short(name)]
        if rest:
            self._of[address] = deque(rest, maxlen=MOST_TRIES)
        else:
            self._of.pop(address, None)

    def _recent(self, address: str, now: float) -> list[tuple[float, bytes]]:
        return [one for one in self._of.get(address, ()) if now - one[0] < WINDOW_S]


def _short(name: str) -> bytes:
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()


class Logouts:
    """The logins that somebody has ended, each until its cookie is over anyway. They stand in a file beside that of the
    users, so that each process with these users knows them, and the next one. Where the file cannot be written, this
    process alone knows them. A line: until when, in epoch seconds, and the SHA-256 of the cookie.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._own: dict[str, int] = {}
        self._read: Mapping[str, int] = {}
        self._stamp: tuple[int, int, int] | None = None

    def has(self, cookie: str) -> bool:
        """Say whether a login has been ended."""
        hashed = _hashed(cookie)
        return hashed in self._own or hashed in self._all()

    def add(self, cookie: str, *, now_s: int) -> None:
        """End a login."""
        until = now_s + LOGIN_S
        self._own = {one: at for one, at in self._own.items() if at > now_s} | {_hashed(cookie): until}
        try:
            with open(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                known = _lines(file.read())
                over = [one for one, at in known.items() if at <= now_s]
                if over:
                    file.truncate(0)
                news = {one: at for one, at in known.items() if over and at > now_s} | {_hashed(cookie): until}
                file.write("".join(f"{at} {one}\n" for one, at in news.items()).encode())
        except OSError as error:
            LOGGER.warning("%s: %s. A logout holds in this process only.", self._path, error.strerror)

    def _all(self) -> Mapping[str, int]:
        try:
            stat = self._path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if stamp != self._stamp:
                with open(self._path, "rb") as file:
                    fcntl.flock(file, fcntl.LOCK_SH)
                    self._read, self._stamp = _lines(file.read()), stamp
        except OSError:
            pass  # none yet, or what was read before
        return self._read


def _lines(text: bytes) -> dict[str, int]:
    pairs = (line.split() for line in text.decode("ascii", "replace").splitlines())
    return {pair[1]: int(pair[0]) for pair in pairs if len(pair) == 2 and pair[0].isdigit()}


def _hashed(cookie: str) -> str:
    return hashlib.sha256(cookie.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(slots=True, eq=False)
class Login:
    """Users of a file: a login form and a cookie for people, tokens for programs."""

    file: UsersFile
    signer: Signer
    has_login = True
    is_hidden = False
    failures: Failures = field(default_factory=Failures)
    _logouts: Logouts = field(init=False)

    def __post_init__(self) -> None:
        self._logouts = Logouts(self.file.path.with_name(self.file.path.name + LOGOUTS))

    async def who(self, request: Request) -> Who | None:
        """Read the token, or else the cookie. With an `Authorization` no cookie is read."""
        users, now_s = self.file.users(), int(time.time())
        if (given := request.headers.get("authorization")) is not None:
            return bearer(users, given)
        cookie = request.cookies.get(COOKIE, "")
        name = self.signer.cookie_name(cookie, now_s=now_s)
        user = users.users.get(name) if name is not None else None
        if name is None or user is None or not user.hash or not self.signer.is_cookie(cookie, stored=user.hash):
            return None
        if self._logouts.has(cookie):
            return None
        return Who(name=name, roles=user.roles, via="login", session=cookie)

    def known(self, name: str) -> Known | None:
        """Look into the file. A new password ends the tokens of before."""
        user = self.file.users().users.get(name)
        return Known(roles=user.roles, stamp=user.hash) if user is not None and user.hash else None

    async def cookie(self, name: str, password: str, *, address: str) -> str | None:
        """Make the cookie of a login; None where name or password is wrong. Takes as long for an unknown name. Raises
        TooManyFailures.
        """
        async with self.failures.turn(address):
            now = time.monotonic()
            is_full = self.failures.is_full(address, now=now)
            if self.failures.is_refused(address, name, now=now):
                raise TooManyFailures
            user = self.file.users().users.get(name)
            stored = user.hash if user is not None and user.hash else _NOBODY
            is_right = await asyncio.to_thread(is_password, password, stored)
            if user is not None and user.hash and is_right:
                self.failures.forget(address, name)
                return self.signer.cookie(name, stored=user.hash, now_s=int(time.time()))
            self.failures.add(address, name, now=now)
            if is_full:
                raise TooManyFailures
            return None

    def end(self, who: Who) -> None:
        """End the login of somebody."""
        self._logouts.add(who.session, now_s=int(time.time()))


_NOBODY: Final = f"scrypt$16384$8$1${'A' * 22}==${'A' * 86}=="  # of no password, and as slow as one
