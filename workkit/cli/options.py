"""Options that several commands share, each defined once, and their values."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin
from urllib.parse import quote, unquote

import click
from click.core import ParameterSource
from click.types import IntParamType, StringParamType

from workkit.brokers.layout import (
    DEFAULT_REDIS,
    REDIS_VARIABLES,
    OwnOption,
    layout_names,
    layouts,
    names_of,
    own_options,
    owners,
    titles,
)
from workkit.brokers.redis_server.address import masked
from workkit.cli.command import EMBEDDED_FOLDER, Option
from workkit.cli.settings import Settings, host, read_settings
from workkit.cli.spelling import layout_flags
from workkit.jobs.options import ADD, OF_RUNS, OPTIONS, PRIORITIES, VerbOption
from workkit.text.cells import shell_word

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

R = TypeVar("R")
Decorator = Callable[[Callable[..., R]], Callable[..., R]]
QUOTE = '"'
SERVER = "Server (every command that needs one)"
SCHEDULES_ENV = "WORKKIT_SCHEDULES"
TOPIC_OF_SERVER, TOPIC_OF_JOBS, TOPIC_OF_RUNS = "server", "options", "running"  # pages of `workkit help`
BRIEFS = {  # of the options that most jobs need, on the pages of add and now; all are in `workkit help`
    "name": "its name; a job added under it later replaces it",
    "unique_key": "one job at a time under this key",
    "priority": "0 to 3; of due jobs, higher first; default 0",
    "overlap": "if its last run continues: allow, skip, queue, cancel",
    "catch_up": "after downtime: once, all, skip; default once",
    "retries": "attempts after the first; default 0",
    "timeout": "end a run that takes longer",
    "keep": "keep what it returns, for workkit result",
}
OPTIONAL = f"SCHEDULE may be left out where {SCHEDULES_ENV}, or [tool.workkit] in pyproject.toml, names it."
EMBEDDED_SCHEME = "embedded://"


class Commas(StringParamType):
    """A text. Its environment variable may hold several, separated by commas."""

    name = "text"
    envvar_list_splitter = ","

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Remove blanks at both ends."""
        return str(value).strip()


class Count(click.IntRange):
    """A whole number from 1."""

    def __init__(self) -> None:
        super().__init__(1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read digits. The error for any other text names the accepted values."""
        text = str(value).strip()
        if not (text.isascii() and text.isdigit() and 1 <= int(text[:10]) < 10**9):
            raise click.BadParameter(f'"{text}" is not a whole number from 1.', ctx, param)
        return int(text)


def _completed(values: Iterable[Any], incomplete: str) -> list[Any]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(text) for text in map(str, values) if text.startswith(incomplete)]


class Whole(IntParamType):
    """A whole number, completed from the accepted ones if they are few. The verb checks its range, as in Python."""

    def __init__(self, accepted: Sequence[int] = ()) -> None:
        self.accepted = accepted

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read the number. Refuse any other text."""
        try:
            return int(value)
        except ValueError:
            raise click.BadParameter(f'"{value}" is not a whole number.', ctx, param) from None

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Complete the accepted numbers."""
        return _completed(self.accepted, incomplete)


class Word(StringParamType):
    """One of some words, completed here. The verb checks it, because its message is the same as in Python."""

    name = "word"

    def __init__(self, accepted: Sequence[str]) -> None:
        self.accepted = accepted

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Complete the accepted words."""
        return _completed(self.accepted, incomplete)


class Zone(StringParamType):
    """An IANA zone, completed here. The verb checks it, because its message is the same as in Python."""

    name = "zone"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Keep the name as it was typed."""
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Complete the zones that begin like this."""
        from click.shell_completion import CompletionItem

        from workkit.triggers.zone import zone_names  # not needed for --help

        start = incomplete.lower()
        return [CompletionItem(zone) for low, zone in zone_names().items() if low.startswith(start)]


def zone_option(help: str) -> Decorator[Any]:
    """Add ``--tz``."""
    return click.option("--tz", cls=Option, type=Zone(), metavar="ZONE", envvar="WORKKIT_TZ", help=help)


def import_option(help: str) -> Decorator[Any]:
    """Add ``--import``: modules, as `imports`."""
    return click.option(
        "--import",
        "imports",
        cls=Option,
        type=Commas(),
        multiple=True,
        metavar="MODULE",
        envvar="WORKKIT_IMPORT",
        help=help,
    )


def json_option(help: str = "print JSON, one object a line, for other programs") -> Decorator[Any]:
    """Add ``--json``."""
    return click.option("--json", "as_json", cls=Option, is_flag=True, help=help)


def plan_version_option(function: Callable[..., R]) -> Callable[..., R]:
    """Add ``--plan-version``."""
    return click.option(
        "--plan-version",
        cls=Option,
        metavar="VERSION",
        envvar="WORKKIT_PLAN_VERSION",
        help="which of two plans is newer: 412, 2026.11.23; default: when the code was made",
    )(function)


def verbose_option(function: Callable[..., R]) -> Callable[..., R]:
    """Add ``-v``. `workkit.cli.main` looks for it itself, so it works even if parsing fails."""
    return click.option(
        "-v", "--verbose", cls=Option, is_flag=True, expose_value=False, help="show tracebacks of errors"
    )(function)


def by_option(function: Callable[..., R]) -> Callable[..., R]:
    """Add ``--by``. The change is recorded as made through the command line."""

    @click.option(
        "--by", cls=Option, metavar="NAME", help="who does so, for workkit changes; else WORKKIT_BY, else user@host"
    )
    @functools.wraps(function)
    def with_by(*args: Any, **kwargs: Any) -> R:
        from workkit.verbs.opening import via  # not needed for --help

        token = via.set("cli")
        try:
            return function(*args, **kwargs)
        finally:
            via.reset(token)

    return with_by


def run_option_flags(function: Callable[..., R]) -> Callable[..., R]:
    """Add the options of a job and of its runs, as in Python. The command gets `run`: the typed ones, as keywords."""

    @functools.wraps(function)
    def with_run(*args: Any, **kwargs: Any) -> R:
        given = {option: kwargs.pop(option.name) for option in OFFERED}
        run = {option.name: value for option, value in given.items() if option.value and value not in (None, ())}
        run |= {option.name: False for option, is_off in given.items() if not option.value and is_off}
        return function(*args, run=run, **kwargs)

    for option in reversed(OFFERED):
        how: dict[str, Any] = {"metavar": option.value} if option.value else {"is_flag": True}
        if option.name in ("meta", "tags"):
            how["multiple"] = True
        if option.value == "N":
            how["type"] = Whole(PRIORITIES if option.name == "priority" else ())
        elif get_origin(option.type) is Literal:
            how["type"] = Word(get_args(option.type))
        with_run = click.option(
            flag(option),
            option.name,
            cls=Option,
            section=option.section,
            topic=TOPIC_OF_RUNS if option.section == OF_RUNS else TOPIC_OF_JOBS,
            brief=BRIEFS.get(option.name, ""),
            help=_help(option),
            **how,
        )(with_run)
    return with_run


OFFERED = tuple(option for option in OPTIONS if ADD in option.places and option.name != "tz")  # --tz: `zone_option`


def flag(option: VerbOption) -> str:
    """Return the flag of an option. For one that is True by default, it is the switch that turns it off."""
    name = "tag" if option.name == "tags" else option.name.replace("_", "-")
    return f"--no-{name}" if not option.value and option.default == "True" else f"--{name}"


def _help(option: VerbOption) -> str:
    if not option.value:
        return option.meaning.removeprefix("False: ")
    return option.meaning if option.default == "none" else f"{option.meaning}; default {option.default.strip(QUOTE)}"


def server_options(function: Callable[..., R]) -> Callable[..., R]:
    """Add ``--redis`` and ``--embedded``. The command gets `server`: a URL, or None for that of the environment."""
    beside = [one for one in layouts() if one.place]

    @click.option(
        "--redis",
        cls=Option,
        section=SERVER,
        topic=TOPIC_OF_SERVER,
        metavar="URL",
        brief="the server; else WORKKIT_REDIS_URL, else REDIS_URL",
        help=f"the server; else {', else '.join(REDIS_VARIABLES)}, else {DEFAULT_REDIS}; with "
        f"{names_of(beside)}: one beside the {beside[0].server}, only where given here",
    )
    @click.option(
        "--embedded",
        cls=Option,
        section=SERVER,
        topic=TOPIC_OF_SERVER,
        metavar="[=FOLDER]",
        brief="a private server of this folder; default .workkit",
        help="a private server of this folder, started if need be; default .workkit",
    )
    @click.option(
        "--dialect",
        cls=Option,
        section=SERVER,
        topic=TOPIC_OF_SERVER,
        type=click.Choice(("published", "cuckoo")),
        metavar="published|cuckoo",
        envvar="WORKKIT_DIALECT",
        help="order of the cron fields in it; default published",
    )
    @layout_option("--layout", section=SERVER, topic=TOPIC_OF_SERVER, envvar="WORKKIT_LAYOUT")
    @_own_options
    @functools.wraps(function)
    def with_server(
        *args: Any,
        redis: str | None,
        embedded: str | None,
        dialect: str | None,
        layout: str | None,
        **kwargs: Any,
    ) -> R:
        if layout:
            os.environ["WORKKIT_LAYOUT"] = layout  # as with the dialect
        for option in own_options().values():
            value = kwargs.pop(option.name)
            if value is not None and f"to_{option.name}" not in kwargs:  # forward has its own flag for it
                check_placed(option, layout, flag=f"--{option.name}", add="--layout")
            if value:
                os.environ[option.variable] = value
        if dialect := dialect or read_settings().dialect:
            os.environ["WORKKIT_DIALECT"] = dialect  # where `create` looks, here and in processes started from here
        return function(*args, server=server_url(redis, embedded), **kwargs)

    return with_server


def layout_option(flag: str, **how: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add an option that takes the name of a layout."""
    names = layout_names()
    return click.option(flag, cls=Option, type=click.Choice(names), metavar="|".join(names), help=titles(), **how)


def _own_options(function: Callable[..., R]) -> Callable[..., R]:
    """Add the options that belong to some layouts only."""
    for option in reversed(own_options().values()):
        function = click.option(
            f"--{option.name}",
            cls=Option,
            section=SERVER,
            topic=TOPIC_OF_SERVER,
            metavar=option.metavar,
            envvar=option.variable if option.is_flag_variable else None,
            help=f"{names_of(owners(option.name))}: {option.meaning}",
        )(function)
    return function


def check_placed(option: OwnOption, layout: str | None, *, flag: str, add: str) -> None:
    """Refuse an option that belongs to other layouts than the named one."""
    names = [one.name for one in owners(option.name)]
    if option.misplaced and layout not in names:
        raise click.UsageError(f"{flag} {option.misplaced} Add {add} {' or '.join(names)}.")


def server_url(redis: str | None, embedded: str | None) -> str | None:
    """Return the URL of the server, or None if `schedule.create` finds it in the environment."""
    if redis is not None and embedded is not None:
        raise click.UsageError("--redis and --embedded were both given; a schedule is on one server. Keep one of them.")
    if embedded is None:
        return redis
    return f"{EMBEDDED_SCHEME}{quote(str(Path(embedded).expanduser().absolute()))}"


def chosen_schedules(given: tuple[str, ...], settings: Settings, *, command: str) -> tuple[str, ...]:
    """Return the schedules of the command line, else of WORKKIT_SCHEDULES, else of pyproject.toml."""
    named = tuple(name.strip() for name in os.environ.get(SCHEDULES_ENV, "").split(",") if name.strip())
    chosen = given or named or settings.schedules
    if not chosen:
        raise click.UsageError(
            f"workkit {command} needs a SCHEDULE. Name one: workkit {command} app-tasks; "
            f'or write schedules = ["app-tasks"] under [tool.workkit] in pyproject.toml.'
        )
    return chosen


def chosen_imports(imports: tuple[str, ...], settings: Settings) -> tuple[str, ...]:
    """Return the modules of the command line, else of WORKKIT_IMPORT, else of pyproject.toml; before them those of the
    program around this command line.
    """
    named = imports if is_typed("imports") else tuple(name for name in imports or settings.imports if name)
    return (*host().imports, *named)


def weighted(text: str) -> tuple[str, int | None]:
    """Split ``SCHEDULE:WEIGHT``. The weight is the digits after the last colon."""
    name, colon, digits = text.rpartition(":")
    if not colon or not (digits.isascii() and digits.isdigit()):
        return text, None
    if not name or int(digits) < 1:
        raise click.UsageError(f'"{text}": a weight is a whole number from 1, after a name. Write app-tasks:1.')
    return name, int(digits)


def server_flags(url: str | None) -> tuple[str, ...]:
    """Return the flags of another command for this server and layout, quoted; none for values of the environment."""
    if url is None or not url.startswith(EMBEDDED_SCHEME):
        return (*((f"--redis {shell_word(masked(url))}",) if url else ()), *layout_flags())
    folder = Path(unquote(url.removeprefix(EMBEDDED_SCHEME)))
    named = "" if folder == Path.cwd() / EMBEDDED_FOLDER else f"={shell_word(str(folder))}"
    return (f"--embedded{named}", *layout_flags())


def schedule_flags(url: str | None) -> tuple[str, ...]:
    """Name the flags of this command that find its server, its layout and its dialect."""
    dialect = click.get_current_context().params["dialect"]
    return (*server_flags(url), *((f"--dialect {dialect}",) if is_typed("dialect") else ()))


def server_words(url: str | None) -> str:
    """Write these flags as the end of a command."""
    return "".join(f" {flag}" for flag in server_flags(url))


def is_typed(option: str) -> bool:
    """Return whether an option was typed. Otherwise its value may come from the environment."""
    return click.get_current_context().get_parameter_source(option) is ParameterSource.COMMANDLINE


def zone_of(name: str | None, settings: Settings) -> ZoneInfo:
    """Return the zone of `--tz`, WORKKIT_TZ or the settings; UTC by default. Raises TriggerError."""
    from workkit.triggers.zone import zone  # not needed for --help

    return zone(name or settings.tz or "UTC")
