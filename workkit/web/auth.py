"""Who may come in, and with which role: signed cookies and tokens, hashes of passwords, and the ways in. The rules:
spec/web.md, 6.

Two ways in are here: open on this machine (`Local`), and through a program that mounts workkit (`Mounted`). Logins by a
form or a proxy: `login.py`.
"""

from __future__ import annotations

import hashlib
import hmac
import inspect
import secrets
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Protocol, TypeGuard

from starlette.requests import Request

from workkit.text.wording import printable

Role = Literal["viewer", "operator", "editor"]
ROLES: Final[tuple[Role, ...]] = ("viewer", "operator", "editor")
"""The roles, the least first. A viewer reads. An operator acts on existing jobs. An editor adds and removes jobs."""

Roles = Role | Mapping[str, Role]
"""One role, or one for each schedule."""

Via = Literal["local", "login", "proxy", "token", "mount"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """A user who has come in. Form tokens are bound to `session`."""

    name: str
    roles: Roles
    via: Via
    session: str

    def role(self, schedule: str) -> Role | None:
        """Return the role in a schedule; None: the schedule does not exist for this user."""
        return self.roles if isinstance(self.roles, str) else self.roles.get(schedule)

    def at_most(self, role: Role) -> Who:
        """Return the same user with at most a role."""
        if isinstance(self.roles, str):
            return replace(self, roles=lesser(self.roles, role))
        return replace(self, roles={name: lesser(one, role) for name, one in self.roles.items()})


def lesser(one: Role, other: Role) -> Role:
    """Return the lesser of two roles."""
    return min(one, other, key=ROLES.index)


def may(role: Role, needed: Role) -> bool:
    """Return whether a role suffices."""
    return ROLES.index(role) >= ROLES.index(needed)


def is_role(value: object) -> TypeGuard[Role]:
    """Return whether a value is a role."""
    return isinstance(value, str) and value in ROLES


def is_roles(value: object) -> TypeGuard[Roles]:
    """Return whether a value is a role, or a mapping of schedules to roles."""
    return is_role(value) or (
        isinstance(value, Mapping) and all(isinstance(n, str) and is_role(r) for n, r in value.items())
    )


COST: Final = (2**14, 8, 1)
LONGEST_PASSWORD: Final = 1024
_FORM: Final = "scrypt"


def password_hash(password: str, *, salt: bytes | None = None) -> str:
    """Hash a password by scrypt: ``scrypt$16384$8$1$salt$hash``. Takes about 50 ms."""
    salt = secrets.token_bytes(16) if salt is None else salt
    n, r, p = COST
    hashed = hashlib.scrypt(password.encode("utf-8", "surrogatepass"), salt=salt, n=n, r=r, p=p)
    return "$".join([_FORM, *map(str, COST), b64encode(salt).decode(), b64encode(hashed).decode()])


def is_password(given: str, stored: str) -> bool:
    """Return whether a password has this hash. Return False for an unreadable hash, or one that takes too long."""
    try:
        form, n, r, p, salt, hashed = stored.split("$")
        cost = (int(n), int(r), int(p))
        if form != _FORM or cost[0] > 2**17 or cost[1] > 16 or cost[2] > 4 or len(given) > LONGEST_PASSWORD:
            return False
        found = hashlib.scrypt(
            given.encode("utf-8", "surrogatepass"),
            salt=b64decode(salt),
            n=cost[0],
            r=cost[1],
            p=cost[2],
            maxmem=2**28,
            dklen=len(b64decode(hashed)),
        )
        return hmac.compare_digest(found, b64decode(hashed))
    except ValueError:
        return False


def token_hash(token: str) -> str:
    """Hash a token. A token is long and random, so one round is enough."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def is_same_origin(request: Request, origins: Collection[str]) -> bool:
    """Return whether a request that changes something comes from one of our pages. `origins`: our origins as browsers
    see them.
    """
    if (site := request.headers.get("sec-fetch-site")) is not None:
        return site == "same-origin"
    origin = request.headers.get("origin", "").rstrip("/").lower()
    if not origin:
        return False
    host = request.headers.get("host", "").lower()
    return origin in {f"http://{host}", f"https://{host}", *origins}


LOGIN_S: Final = 12 * 3600
"""Lifetime of a login in s."""


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs with one key: `secret`, or a new random one, which ends every login at a restart."""

    secret: str = field(default_factory=lambda: secrets.token_hex(32), repr=False)

    def form_token(self, session: str) -> str:
        """Make the token for the forms of a session."""
        return self._mac("form", session)

    def is_form_token(self, given: str, session: str) -> bool:
        """Return whether a form token belongs to a session."""
        return hmac.compare_digest(given.encode(), self.form_token(session).encode())

    def cookie(self, name: str, *, stored: str, now_s: int) -> str:
        """Make the cookie of a login. No two cookies are the same. `stored`: the hash of the password, so that a new
        password ends old logins.
        """
        shown = f"{_text(name)}.{now_s + LOGIN_S}.{secrets.token_hex(8)}"
        return f"{shown}.{self._mac('login', f'{shown}.{stored}')}"

    def cookie_name(self, cookie: str, *, now_s: int) -> str | None:
        """Return the name in a cookie, if the cookie has not expired. `is_cookie` checks the signature."""
        shown, _, rest = cookie.partition(".")
        until = rest.partition(".")[0]
        if not (until.isascii() and until.isdigit()) or len(until) > 12 or int(until) <= now_s:
            return None
        return _name(shown)

    def is_cookie(self, cookie: str, *, stored: str) -> bool:
        """Return whether `cookie` made this cookie."""
        signed, _, mac = cookie.rpartition(".")
        return hmac.compare_digest(mac.encode(), self._mac("login", f"{signed}.{stored}").encode())

    def feed_token(self, schedule: str, name: str, *, stamp: str) -> str:
        """Make the token with which a program of a user reads the calendar of a schedule. The token ends when `stamp`
        changes, as a login ends when `stored` changes.
        """
        shown = _text(name)
        return f"{shown}.{self._mac('feed', f'{schedule}{chr(0)}{shown}{chr(0)}{stamp}')}"

    def feed_name(self, token: str) -> str | None:
        """Return the name in a token, unchecked. To check it, compare the token with that of `feed_token`."""
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
"""Maps a request to roles, or None. The result is checked at the call. The function may be a coroutine function."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A user by name. The user's tokens end when `stamp` changes."""

    roles: Roles
    stamp: str = field(default="", repr=False)


class Way(Protocol):
    """One way in."""

    @property
    def has_login(self) -> bool:
        """Whether a user may log in by a form."""

    @property
    def is_hidden(self) -> bool:
        """Whether a user who may not come in gets "not found"."""

    async def who(self, request: Request) -> Who | None:
        """Return who sends the request; None: a user who may not come in."""

    def known(self, name: str) -> Known | None:
        """Return a user by name, for a program that sends a token with that name. None: no such user may come in."""


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
        """Return the same user for every name."""
        return Known(roles=self.role) if name == "local" else None


@dataclass(frozen=True, slots=True, eq=False)
class Mounted:
    """A program that mounts workkit, and finds the role by its own login."""

    role: RoleOf
    has_login = False
    is_hidden = True

    async def who(self, request: Request) -> Who | None:
        """Ask the program for the role. Raises TypeError where it answers no role: the fault is in the program, so its
        log names the function, and the user sees nothing of it.
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
        """Trust our own signature: we sign a token for a schedule only where the program has found a role in it."""
        return Known(roles="viewer") if name == "mounted" else None
