"""Who may come in: the checks of every request, signed cookies and tokens, and the ways in. The rules: spec/web.md, 6.

The ways in: open on this machine, users of a file, a proxy that names the user, or a program that mounts us.
"""

from __future__ import annotations

import hmac
import inspect
import ipaddress
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from workkit.errors import WorkkitError
from workkit.text.wording import printable
from workkit.web.users import Role, Roles, Users, Who, is_roles, read_users

POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class Guard:
    """Refuses a `Host` that is not ours, and puts the headers on every answer.

    `hosts`: names under which browsers know us, without the port; None: the program that mounts us checks them. A
    numeric address is always accepted, since only a name can be made to lead here (DNS rebinding).
    """

    app: ASGIApp
    hosts: Collection[str] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        has_begun = False

        async def with_headers(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        host = Request(scope).headers.get("host", "")
        app = self.app if is_host(host, self.hosts) else PlainTextResponse(host_refusal(host), status_code=403)
        try:
            await app(scope, receive, with_headers)
        except Exception:  # a fault of ours, or of the program that mounts us: its answer has the headers too
            if not has_begun:
                await PlainTextResponse("This went wrong. The log says how.\n", status_code=500)(
                    scope, receive, with_headers
                )
            raise


def is_host(host: str, hosts: Collection[str] | None) -> bool:
    """Say whether a `Host` is ours."""
    if hosts is None:
        return True
    name = _host_name(host)
    if name is None:
        return False
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name in hosts
    return True


def host_refusal(host: str) -> str:
    """Say why a `Host` is refused."""
    shown = "".join(c for c in host if c.isascii() and c.isprintable())[:200]
    return (
        f'This is not "{shown}". If a proxy stands before workkit web, add --origin with the URL that browsers use.\n'
    )


def _host_name(host: str) -> str | None:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower() or None
    except ValueError:
        return None


def is_same_origin(request: Request, origins: Collection[str]) -> bool:
    """Say whether a request that changes something comes from a page of ours. `origins`: as browsers name us."""
    if (site := request.headers.get("sec-fetch-site")) is not None:
        return site == "same-origin"
    origin = request.headers.get("origin", "").rstrip("/").lower()
    if not origin:
        return False
    host = request.headers.get("host", "").lower()
    return origin in {f"http://{host}", f"https://{host}", *origins}


LOGIN_S: Final = 12 * 3600
"""So long a login lasts."""


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs with one key: `secret`, or a new one, with which every login ends at a restart."""

    secret: str = field(default_factory=lambda: secrets.token_hex(32), repr=False)

    def form_token(self, session: str) -> str:
        """Make the token of the forms of a session."""
        return self._mac("form", session)

    def is_form_token(self, given: str, session: str) -> bool:
        """Say whether a token is that of a session."""
        return hmac.compare_digest(given.encode(), self.form_token(session).encode())

    def cookie(self, name: str, *, stored: str, now_s: int) -> str:
        """Make the cookie of a login, of which no two are the same. `stored`: the hash of the password, so that a new
        password ends old logins.
        """
        shown = f"{_text(name)}.{now_s + LOGIN_S}.{secrets.token_hex(8)}"
        return f"{shown}.{self._mac('login', f'{shown}.{stored}')}"

    def cookie_name(self, cookie: str, *, now_s: int) -> str | None:
        """Tell who a cookie says it is from, if it is not over. `is_cookie` says whether that is true."""
        shown, _, rest = cookie.partition(".")
        until = rest.partition(".")[0]
        if not (until.isascii() and until.isdigit()) or len(until) > 12 or int(until) <= now_s:
            return None
        return _name(shown)

    def is_cookie(self, cookie: str, *, stored: str) -> bool:
        """Say whether a cookie is one that `cookie` made."""
        signed, _, mac = cookie.rpartition(".")
        return hmac.compare_digest(mac.encode(), self._mac("login", f"{signed}.{stored}").encode())

    def feed_token(self, schedule: str, name: str, *, stamp: str) -> str:
        """Make the token by which a program of somebody reads the calendar of a schedule. `stamp`: what ends it when it
        changes, as `stored` of a login.
        """
        shown = _text(name)
        return f"{shown}.{self._mac('feed', f'{schedule}{chr(0)}{shown}{chr(0)}{stamp}')}"

    def feed_name(self, token: str) -> str | None:
        """Tell who a token says it is of. Whether that is true: `feed_token` makes the same."""
        return _name(token.partition(".")[0])

    def _mac(self, purpose: str, text: str) -> str:
        data = f"{purpose}\0{text}".encode("utf-8", "surrogatepass")
        return hmac.new(self.secret.encode("utf-8", "surrogatepass"), data, "sha256").hexdigest()


def _text(name: str) -> str:
    return urlsafe_b64encode(name.encode("utf-8", "surrogatepass")).decode()


def _name(text: str) -> str | None:
    try:
        return urlsafe_b64decode(text.encode()).decode("utf-8", "surrogatepass")
    except (Error, ValueError):
        return None


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
        """Whether the answer to somebody who may not come in is that there is nothing."""

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
    """A program that mounts us, and finds the role by its own login."""

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
        """Trust our signature: we sign for a schedule only where the program has found a role in it."""
        return Known(roles="viewer") if name == "mounted" else None


def bearer(users: Users, given: str) -> Who | None:
    """Read an `Authorization` header."""
    kind, _, token = given.partition(" ")
    found = users.token(token.strip()) if kind.lower() == "bearer" else None
    if found is None:
        return None
    name, user = found
    return Who(name=name, roles=user.roles, via="token", session=f"token {name}")
