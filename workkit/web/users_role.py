"""Roles, and who has which. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeGuard

Role = Literal["viewer", "operator", "editor"]
ROLES: Final[tuple[Role, ...]] = ("viewer", "operator", "editor")
"""From the least to the most. A viewer looks. An operator acts on what stands. An editor brings in and takes out."""

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
