"""Roles, who has which, and the file of users: names with roles and hashed passwords, and tokens for programs.

The file is TOML; its rules: spec/web.md, 6.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import tempfile
import tomllib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeGuard

from workkit.errors import InvalidOptions, NotFound

Role = Literal["viewer", "operator", "editor"]
ROLES: Final[tuple[Role, ...]] = ("viewer", "operator", "editor")
"""From the least to the most. A viewer looks. An operator acts on jobs that there are. An editor adds and removes."""

Roles = Role | Mapping[str, Role]
"""One role, or one for each schedule."""

Via = Literal["local", "login", "proxy", "token", "mount"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """Somebody who has come in. `session` is what tokens of forms are bound to."""

    name: str
    roles: Roles
    via: Via
    session: str

    def role(self, schedule: str) -> Role | None:
        """Tell the role in a schedule; None: for this person it does not exist."""
        return self.roles if isinstance(self.roles, str) else self.roles.get(schedule)

    def at_most(self, role: Role) -> Who:
        """The same person with no more than a role."""
        if isinstance(self.roles, str):
            return replace(self, roles=lesser(self.roles, role))
        return replace(self, roles={name: lesser(one, role) for name, one in self.roles.items()})


def lesser(one: Role, other: Role) -> Role:
    """Choose the lesser of two roles."""
    return min(one, other, key=ROLES.index)


def may(role: Role, needed: Role) -> bool:
    """Say whether a role suffices."""
    return ROLES.index(role) >= ROLES.index(needed)


def is_role(value: object) -> TypeGuard[Role]:
    """Say whether a value is a role."""
    return isinstance(value, str) and value in ROLES


def is_roles(value: object) -> TypeGuard[Roles]:
    """Say whether a value is a role, or a mapping of schedules to roles."""
    return is_role(value) or (
        isinstance(value, Mapping) and all(isinstance(n, str) and is_role(r) for n, r in value.items())
    )


COST: Final = (2**14, 8, 1)
LONGEST_PASSWORD: Final = 1024
_FORM: Final = "scrypt"


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """One entry: its role or roles, and the hash of its password or token; empty: only a proxy lets it in."""

    roles: Roles
    hash: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Users:
    """What the file says."""

    users: Mapping[str, User] = field(default_factory=dict)
    tokens: Mapping[str, User] = field(default_factory=dict)

    def token(self, given: str) -> tuple[str, User] | None:
        """Find the owner of a token."""
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


def password_hash(password: str, *, salt: bytes | None = None) -> str:
    """Hash a password by scrypt: ``scrypt$16384$8$1$salt$hash``. Takes about 50 ms."""
    salt = secrets.token_bytes(16) if salt is None else salt
    n, r, p = COST
    hashed = hashlib.scrypt(password.encode("utf-8", "surrogatepass"), salt=salt, n=n, r=r, p=p)
    return "$".join([_FORM, *map(str, COST), b64encode(salt).decode(), b64encode(hashed).decode()])


def is_password(given: str, stored: str) -> bool:
    """Say whether a password has this hash. False for a hash that cannot be read, or that would take too long."""
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
    """Hash a token. It is long and random, so that one round is enough."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


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
