"""The file of users, and the ways in that read it: logins by a form, and a proxy that names the user. Also the limit of
wrong passwords, and the list of ended logins. The rules: spec/web.md, 6.

The file is TOML: names with roles and hashed passwords, and tokens for programs.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import hmac
import json
import logging
import os
import secrets
import tempfile
import time
import tomllib
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from weakref import WeakValueDictionary

from starlette.requests import Request

from workkit.errors import InvalidOptions, NotFound, WorkkitError
from workkit.web.auth import (
    LOGIN_S,
    LONGEST_PASSWORD,
    ROLES,
    Known,
    Roles,
    Signer,
    Who,
    is_password,
    is_roles,
    password_hash,
    token_hash,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """One entry: its role or roles, and the hash of its password or token. Without a hash, only a proxy lets the user
    in.
    """

    roles: Roles
    hash: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Users:
    """The content of the file."""

    users: Mapping[str, User] = field(default_factory=dict)
    tokens: Mapping[str, User] = field(default_factory=dict)

    def token(self, given: str) -> tuple[str, User] | None:
        """Find the user of a token."""
        hashed = token_hash(given)
        found = [(name, one) for name, one in self.tokens.items() if hmac.compare_digest(one.hash, hashed)]
        return found[0] if found else None


def read_users(path: Path) -> Users:
    """Read the file. Raises NotFound, InvalidOptions."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        remedy = f"Make it: workkit web --add-user NAME:ROLE --users {path}."
        raise NotFound.about(f"users file {path}", "does not exist", remedy, given=str(path)) from None
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidOptions.about(f"users file {path}", f"cannot be read: {error}", given=str(path)) from error
    return Users(
        users=_section(data, "users", "password", path=path), tokens=_section(data, "tokens", "hash", path=path)
    )


def _section(data: Mapping[str, Any], section: str, secret: str, *, path: Path) -> dict[str, User]:
    found: dict[str, User] = {}
    table = data.get(section, {})
    for name, entry in table.items() if isinstance(table, dict) else ():
        roles = entry.get("role") if isinstance(entry, dict) else None
        hashed = entry.get(secret, "") if isinstance(entry, dict) else ""
        if not is_roles(roles) or not isinstance(hashed, str):
            remedy = f"Accepted: one of {', '.join(ROLES)}, or a table with one for each schedule."
            trouble = f'has no valid role for "{name}"'
            raise InvalidOptions.about(f"users file {path}", trouble, remedy, given=str(roles))
        found[name] = User(roles=roles, hash=hashed)
    return found


def add_user(path: Path, name: str, *, roles: Roles, password: str) -> None:
    """Write a user into the file, or replace the one of that name. Raises InvalidOptions."""
    if not 8 <= len(password) <= LONGEST_PASSWORD:
        trouble = f"has {len(password)} characters"
        raise InvalidOptions.about("the password", trouble, f"Accepted: 8 to {LONGEST_PASSWORD} characters.")
    _write(path, users={name: User(roles=roles, hash=password_hash(password))}, tokens={})


def add_token(path: Path, name: str, *, roles: Roles) -> str:
    """Write a new token into the file, and return it. Only its hash is kept."""
    token = secrets.token_urlsafe(32)
    _write(path, users={}, tokens={name: User(roles=roles, hash=token_hash(token))})
    return token


def _write(path: Path, *, users: Mapping[str, User], tokens: Mapping[str, User]) -> None:
    known = read_users(path) if path.exists() else Users()
    lines = [
        "# Who may enter `workkit web`. A role: viewer, operator or editor; or a table with one for each schedule."
    ]
    for section, secret, entries in (
        ("users", "password", {**known.users, **users}),
        ("tokens", "hash", {**known.tokens, **tokens}),
    ):
        for name, one in entries.items():
            lines += ["", f"[{section}.{_text(name)}]", f"role = {_roles(one.roles)}"]
            lines += [f"{secret} = {_text(one.hash)}"] if one.hash else []
    path = path.absolute()
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, delete=False
    ) as new:  # readable by us only
        new.write("\n".join(lines) + "\n")
    os.replace(new.name, path)


def _roles(roles: Roles) -> str:
    if isinstance(roles, str):
        return _text(roles)
    return "{ " + ", ".join(f"{_text(name)} = {_text(role)}" for name, role in roles.items()) + " }"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


@dataclass(slots=True, eq=False)
class UsersFile:
    """A file of users, read again when it changes."""

    path: Path
    _read: tuple[tuple[int, int], Users] | None = None

    def users(self) -> Users:
        """Read the file. A file that became unreadable lets no user in."""
        try:
            stat = self.path.stat()
            stamp = (stat.st_mtime_ns, stat.st_ino)
            if self._read is None or self._read[0] != stamp:
                self._read = (stamp, read_users(self.path))
            return self._read[1]
        except (OSError, WorkkitError):
            return Users()


@dataclass(frozen=True, slots=True, eq=False)
class Proxy:
    """A proxy that names the user in a header. The header is ignored from other senders. A name outside the file is a
    viewer where there is no file, and is refused where there is one.
    """

    header: str
    addresses: Collection[str]
    file: UsersFile | None = None
    has_login = False
    is_hidden = False

    async def who(self, request: Request) -> Who | None:
        """Read the header of a proxy that is ours."""
        users = self.file.users() if self.file else None
        if users is not None and (given := request.headers.get("authorization")) is not None:
            return bearer(users, given)
        name = request.headers.get(self.header, "")
        if not name or (request.client.host if request.client else "unix") not in self.addresses:
            return None
        user = users.users.get(name) if users is not None else None
        if users is not None and user is None:
            return None
        return Who(name=name, roles=user.roles if user else "viewer", via="proxy", session=f"proxy {name}")

    def known(self, name: str) -> Known | None:
        """Find the user in the file, where there is one."""
        if self.file is None:
            return Known(roles="viewer")
        user = self.file.users().users.get(name)
        return Known(roles=user.roles, stamp=user.hash or "") if user is not None else None


def bearer(users: Users, given: str) -> Who | None:
    """Read an `Authorization` header."""
    kind, _, token = given.partition(" ")
    found = users.token(token.strip()) if kind.lower() == "bearer" else None
    if found is None:
        return None
    name, user = found
    return Who(name=name, roles=user.roles, via="token", session=f"token {name}")


COOKIE: Final = "workkit_login"
TRIES, MOST_TRIES = 5, 50
"""Most wrong passwords within a minute from one address: for a name that has failed there, and for all names."""

WINDOW_S: Final = 60.0
MOST_ADDRESSES: Final = 10_000
LOGOUTS: Final = ".logouts"
"""Suffix of the file of logouts, after the name of the users' file."""

LOGGER: Final = logging.getLogger("workkit.web")


class TooManyFailures(Exception):
    """An address has failed too often."""


class Failures:
    """The wrong passwords of the last minute, by address and name, for at most 10,000 addresses. Addresses do not
    affect each other.
    """

    def __init__(self, *, most: int = MOST_ADDRESSES) -> None:
        self._most = most
        self._of: dict[str, deque[tuple[float, bytes]]] = {}  # the address that failed last is the last one
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._of)

    def turn(self, address: str) -> asyncio.Lock:
        """Return a lock. Only one password of an address is checked at a time, so that each failure counts before the
        next check.
        """
        return self._turns.setdefault(address, asyncio.Lock())

    def is_full(self, address: str, *, now: float) -> bool:
        """Return whether an address has failed so often that a further wrong login is TooManyFailures."""
        return len(self._recent(address, now)) >= TRIES

    def is_refused(self, address: str, name: str, *, now: float) -> bool:
        """Return whether a name may not log in at an address now. A name without failures there may, until there are
        very many.
        """
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
        """Delete the failures of a name at an address, after its login."""
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
    """The logins that a user has ended, each until its cookie expires. They are in a file beside that of the users, so
    that all processes with these users know them, also after a restart. Where the file cannot be written, only this
    process knows them. A line: the expiry in epoch seconds, and the SHA-256 of the cookie.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._own: dict[str, int] = {}
        self._read: Mapping[str, int] = {}
        self._stamp: tuple[int, int, int] | None = None

    def has(self, cookie: str) -> bool:
        """Return whether a login has been ended."""
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
            pass  # no file yet, or the former content stays
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
        """Find the user in the file. A new password ends older tokens."""
        user = self.file.users().users.get(name)
        return Known(roles=user.roles, stamp=user.hash) if user is not None and user.hash else None

    async def cookie(self, name: str, password: str, *, address: str) -> str | None:
        """Make the cookie of a login; None where name or password is wrong. An unknown name takes the same time. Raises
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
        """End the login of a user."""
        self._logouts.add(who.session, now_s=int(time.time()))


_NOBODY: Final = f"scrypt$16384$8$1${'A' * 22}==${'A' * 86}=="  # matches no password, is as slow as any
