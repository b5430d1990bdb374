"""`web`: schedules in the browser."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workkit.brokers.redis_server.address import masked
from workkit.cli import terminal
from workkit.cli.command import Command, Option
from workkit.cli.commands.web_serving import Binding, check_extra, check_origins, read_binding, read_root_path, serve
from workkit.cli.known import check_chosen, chosen
from workkit.cli.live import ScheduleName
from workkit.cli.options import (
    OPTIONAL,
    Commas,
    schedule_flags,
    server_options,
    verbose_option,
    weighted,
    zone_option,
)
from workkit.errors import InvalidOptions, ServerUnreachable, Unsupported
from workkit.text.wording import listed

if TYPE_CHECKING:
    from workkit.web.auth import Role, Signer, Way


@click.command(
    "web",
    cls=Command,
    takes="[SCHEDULE]... [OPTIONS]",
    about=("Show schedules in the browser, with past, present and future runs, and change them.",),
    examples=("workkit web app-tasks", "workkit web --users users.toml --add-user ada:editor"),
    after=f"{OPTIONAL}\n"
    "Without --users it serves this machine only and asks for no login: whoever reaches it may change jobs. "
    "Needs the extra web: pip install 'workkit[web]'.",
)
@click.argument("schedules", type=ScheduleName(), nargs=-1, metavar="[SCHEDULE]...")
@click.option(
    "--bind",
    cls=Option,
    metavar="ADDRESS:PORT",
    envvar="WORKKIT_WEB_BIND",
    help="default 127.0.0.1:5040; unix:PATH too",
)
@click.option(
    "--users",
    cls=Option,
    metavar="FILE",
    envvar="WORKKIT_WEB_USERS",
    help="who may enter, with which role",
)
@click.option(
    "--add-user", cls=Option, metavar="NAME:ROLE", help="write a user into --users, then exit: viewer, operator, editor"
)
@click.option("--add-token", cls=Option, metavar="NAME:ROLE", help="the same for a program; prints its token")
@click.option("--trust-header", cls=Option, metavar="NAME", help="the header in which a proxy names the user")
@click.option(
    "--from-proxy", cls=Option, type=Commas(), multiple=True, metavar="ADDRESS", help="the address of that proxy"
)
@click.option(
    "--origin",
    "origins",
    cls=Option,
    type=Commas(),
    multiple=True,
    metavar="URL",
    help="the URL in the browser, where a proxy is in front",
)
@click.option(
    "--root-path",
    cls=Option,
    metavar="PATH",
    envvar="WORKKIT_WEB_ROOT_PATH",
    help="the path in the browser, where a proxy is in front: /ops",
)
@click.option("--read-only", cls=Option, is_flag=True, help="nobody changes anything")
@click.option("--env", cls=Option, metavar="NAME", help="the environment's name, shown on every page")
@click.option("--title", cls=Option, metavar="TEXT", help="shown in place of workkit")
@zone_option("zone of the times; default that of each schedule")
@click.option("--mask", cls=Option, metavar="REGEX", help="also hide arguments with names that match")
@click.option("--mask-all", cls=Option, is_flag=True, help="viewers see no argument")
@click.option("--open", "opens", cls=Option, is_flag=True, help="open it in the browser")
@verbose_option
@server_options
def web_command(
    schedules: tuple[str, ...],
    bind: str | None,
    users: str | None,
    add_user: str | None,
    add_token: str | None,
    trust_header: str | None,
    from_proxy: tuple[str, ...],
    origins: tuple[str, ...],
    root_path: str | None,
    read_only: bool,
    env: str | None,
    title: str | None,
    tz: str | None,
    mask: str | None,
    mask_all: bool,
    opens: bool,
    server: str | None,
) -> int:
    """Show schedules in the browser."""
    check_extra()
    if users and "://" in users:
        raise click.UsageError(f"--users {masked(users)} is a URL, not a file. Write --users users.toml.")
    if add_user or add_token:
        return _add(users, add_user=add_user, add_token=add_token)
    from workkit import asgi

    binding = read_binding(bind or "127.0.0.1:5040")
    names = check_origins(origins)
    root = read_root_path(root_path or "")
    made = chosen([weighted(name)[0] for name in schedules], command="web", server=server)
    shown = [s.name for s in made]
    signer = asgi.signer()
    way = _way(binding, shown, users=users, header=trust_header, proxies=from_proxy, signer=signer)
    with suppress(ServerUnreachable):  # the pages show that the server is away, until it is back
        check_chosen(made, is_typed=bool(schedules), server=server)
    application = asgi.build(
        made,
        way=way,
        signer=signer,
        pattern=mask,
        mask_all=mask_all,
        read_only=read_only,
        tz=tz,
        env=env or "",
        title=title or "",
        hosts={*binding.names, *names},
        origins=origins,
        root_path=root,
        flags=schedule_flags(server),
    )
    closed = "for this machine only" if not (users or trust_header) else "for users who log in"
    if trust_header:
        closed = "for users whom the proxy names"
    said = f"{listed(shown)} on {{}}, {'read only' if read_only else 'read and write'}, {closed}"
    return serve(application, binding, root=root, said=said, opens=opens)


def _way(
    binding: Binding,
    schedules: list[str],
    *,
    users: str | None,
    header: str | None,
    proxies: tuple[str, ...],
    signer: Signer,
) -> Way:
    from workkit.web.auth import Local
    from workkit.web.login import Login, Proxy, UsersFile, read_users

    if users:
        read_users(Path(users))  # a file that cannot be read is refused at the start
    if bool(header) != bool(proxies):
        raise click.UsageError("--trust-header and --from-proxy belong together: which header, and from which address.")
    file = UsersFile(Path(users)) if users else None
    if header:
        return Proxy(header=header, addresses=frozenset(proxies), file=file)
    if file is not None:
        return Login(file=file, signer=signer)
    if not binding.is_local:
        shown = f"{listed(schedules)} to everyone who reaches this machine"
        raise Unsupported.about(
            f"--bind {binding}", f"would show {shown}", "Add --users FILE, or --trust-header behind a proxy."
        )
    return Local()


def _add(users: str | None, *, add_user: str | None, add_token: str | None) -> int:
    from workkit.web.login import add_token as new_token
    from workkit.web.login import add_user as new_user

    if not users:
        raise click.UsageError("--add-user and --add-token need --users FILE, which they write.")
    path = Path(users)
    if add_user:
        name, role = _named(add_user)
        new_user(path, name, roles=role, password=_password(name))
        terminal.say(f"added {name}, {role}, to {users}")
    if add_token:
        name, role = _named(add_token)
        token = new_token(path, name, roles=role)
        terminal.talk(f"added {name}, {role}, to {users}. Its token, which is shown only now:")
        terminal.data(token)
    return 0


def _named(text: str) -> tuple[str, Role]:
    from workkit.web.auth import ROLES, is_role

    name, colon, role = text.rpartition(":")
    if not colon or not name or not name.isprintable() or not is_role(role):
        remedy = f"Write NAME:ROLE. Roles: {', '.join(ROLES)}."
        raise InvalidOptions.about(f'"{text}"', "names no user with a role", remedy, given=text)
    return name, role


def _password(name: str) -> str:
    """Ask for a password. Without a terminal, read it from the first line of the input."""
    if sys.stdin.isatty():
        password: str = click.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True, err=True)
        return password
    return sys.stdin.readline().rstrip("\n")
