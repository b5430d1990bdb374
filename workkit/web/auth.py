"""The ways in: open on this machine, users of a file, a proxy that says who it is, or a program that mounts us."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from starlette.requests import Request

from workkit.errors import WorkkitError
from workkit.text.wording import printable
from workkit.web.auth_signer import Signer
from workkit.web.users import Users, is_password, read_users
from workkit.web.users_role import Role, Roles, Who, is_roles

COOKIE: Final = "workkit_login"
TRIES, WINDOW_S = 5, 60.0  # of a password, for each address
MOST_ADDRESSES: Final = 10_000

RoleOf = Callable[[Any], Any]
"""From a request to roles, or None. It is checked where it is called, and may be a coroutine function."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Somebody by name. `stamp`: what a token of theirs ends with when it changes."""

    roles: Roles
    stamp: str = field(default="", repr=False)


class Way(Protocol):
    """One way in."""

    @property
    def has_login(self) -> bool:
        """Whether somebody who is not in may log in by a form."""

    @property
    def is_hidden(self) -> bool:
        """Whether somebody who may not come in is told that there is nothing."""

    async def who(self, request: Request) -> Who | None:
        """Tell who asks; None: somebody who may not come in."""

    def known(self, name: str) -> Known | None:
        """Tell what is known of somebody by name, who does not ask: a program of theirs does, with a token of ours that
        names them. None: nobody of that name may come in.
        """


@dataclass(frozen=True, slots=True)
class Local:
    """Open to everyone who reaches it: on a loopback address, as open as the server beside it."""

    role: Role = "editor"
    has_login = False
    is_hidden = False

    async def who(self, request: Request) -> Who | None:
        """Let everyone in."""
        return Who(name="local", roles=self.role, via="local", session="local")

    def known(self, name: str) -> Known | None:
        """Everyone is the same one."""
        return Known(roles=self.role) if name == "local" else None


@dataclass(slots=True, eq=False)
class UsersFile:
    """A file of users, read again when it changes."""

    path: Path
    _read: tuple[tuple[int, int], Users] | None = None

    def users(self) -> Users:
        """Read it. A file that became unreadable lets nobody in."""
        try:
            stat = self.path.stat()
            stamp = (stat.st_mtime_ns, stat.st_ino)
            if self._read is None or self._read[0] != stamp:
                self._read = (stamp, read_users(self.path))
            return self._read[1]
        except (OSError, WorkkitError):
            return Users()


@dataclass(slots=True, eq=False)
class Login:
    """Users of a file: a login form and a cookie for people, tokens for programs."""

    file: UsersFile
    signer: Signer
    has_login = True
    is_hidden = False
    _tries: dict[str, deque[float]] = field(default_factory=dict)

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
        return Who(name=name, roles=user.roles, via="login", session=cookie)

    def known(self, name: str) -> Known | None:
        """Look into the file. A new password ends the tokens of before."""
        user = self.file.users().users.get(name)
        return Known(roles=user.roles, stamp=user.hash) if user is not None and user.hash else None

    async def cookie(self, name: str, password: str) -> str | None:
        """Make the cookie of a login; None where name or password is wrong. Takes as long for an unknown name."""
        user = self.file.users().users.get(name)
        stored = user.hash if user is not None and user.hash else _NOBODY
        is_right = await asyncio.to_thread(is_password, password, stored)
        if user is None or not user.hash or not is_right:
            return None
        return self.signer.cookie(name, stored=user.hash, now_s=int(time.time()))

    def may_try(self, address: str) -> bool:
        """Count a try of a password from an address: at most 5 a minute."""
        now = time.monotonic()
        if len(self._tries) > MOST_ADDRESSES:
            self._tries.clear()
        tries = self._tries.setdefault(address, deque(maxlen=TRIES))
        if len(tries) == TRIES and now - tries[0] < WINDOW_S:
            return False
        tries.append(now)
        return True


@dataclass(frozen=True, slots=True, eq=False)
class Proxy:
    """A proxy that says in a header who it is. Others who send that header are nobody. Whom the file does not name is a
    viewer where there is no file, and else nobody.
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
        """Look into the file, where there is one."""
        if self.file is None:
            return Known(roles="viewer")
        user = self.file.users().users.get(name)
        return Known(roles=user.roles, stamp=user.hash or "") if user is not None else None


@dataclass(frozen=True, slots=True, eq=False)
class Mounted:
    """A program that mounts us, and tells the role by its own login."""

    role: RoleOf
    has_login = False
    is_hidden = True

    async def who(self, request: Request) -> Who | None:
        """Ask the program. Raises TypeError where it answers no role: the fault is the program's, so its log says which
        function it is, and who asks learns nothing of it.
        """
        found = self.role(request)
        roles = await found if inspect.isawaitable(found) else found
        if roles is None:
            return None
        if not is_roles(roles):
            name = getattr(self.role, "__qualname__", type(self.role).__qualname__)
            raise TypeError(
                f"role={getattr(self.role, '__module__', '?')}.{name} returned {printable(repr(roles))[:200]}. "
                'Return "viewer", "operator", "editor", a mapping of schedules to these, or None.'
            )
        return Who(name="mounted", roles=roles, via="mount", session="mount")

    def known(self, name: str) -> Known | None:
        """Take our word: we sign for a schedule only when the program has given a role in it."""
        return Known(roles="viewer") if name == "mounted" else None


def bearer(users: Users, given: str) -> Who | None:
    """Read an `Authorization` header."""
    kind, _, token = given.partition(" ")
    found = users.token(token.strip()) if kind.lower() == "bearer" else None
    if found is None:
        return None
    name, user = found
    return Who(name=name, roles=user.roles, via="token", session=f"token {name}")


_NOBODY: Final = f"scrypt$16384$8$1${'A' * 22}==${'A' * 86}=="  # of no password, and as slow as one
