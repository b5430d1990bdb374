"""A program that has this command line within its own, such as the manage.py of a Django project."""

from __future__ import annotations

from dataclasses import dataclass

import click


@dataclass(frozen=True, slots=True)
class Host:
    """What such a program adds. `command`: how it is started, up to our words; empty: as this process was. `imports`:
    modules that every listener and each of its worker processes imports first.
    """

    command: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()


NO_HOST = Host()


def host() -> Host:
    """The program that runs the present command."""
    found = click.get_current_context().find_root().obj
    return found if isinstance(found, Host) else NO_HOST
