"""The table ``[tool.workkit]`` of the nearest pyproject.toml upward. Only the command line reads it, never the server.

Below: the program that contains this command line, such as the manage.py of a Django project.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from workkit.brokers.layout import own_options
from workkit.errors import InvalidOptions
from workkit.text.nearest import is_slip, nearest_words
from workkit.text.wording import listed

FILE = "pyproject.toml"
MOST_PROCESSES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The values of the table; None or empty for absent ones. `file`: its file, or None. `plans`: whether it plans jobs
    of its schedules.
    """

    schedules: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    threads: int | None = None
    coroutines: int | None = None
    processes: int | None = None
    deadline: str | None = None
    health_port: int | str | None = None
    log: str | None = None
    tz: str | None = None
    plan_version: str | int | None = None
    plans: bool = False
    dialect: str | None = None
    file: Path | None = None


def read_settings(folder: Path | None = None) -> Settings:
    """Read the settings that hold in `folder` (here, by default). Raises InvalidOptions."""
    start = (folder or Path.cwd()).absolute()
    file = next((place / FILE for place in (start, *start.parents) if (place / FILE).is_file()), None)
    return Settings() if file is None else _settings(_table(file), file)


def _table(file: Path) -> Mapping[str, Any]:
    import tomllib

    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("workkit", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, AttributeError) as error:
        raise InvalidOptions(f"{file} is not a TOML file: {error}. Correct it, or go to another folder.") from error
    if not isinstance(table, Mapping):
        raise InvalidOptions(f"tool.workkit in {file} is {table!r}, not a table. Write [tool.workkit] on its own line.")
    return table


SERVERS = {  # keys that people try (those of layouts are added) -> the variable and the option that name the server
    **dict.fromkeys(
        ("redis", "redis-url", "valkey", "url", "server", "host", "broker"), ("WORKKIT_REDIS_URL", "redis URL")
    ),
    "layout": ("WORKKIT_LAYOUT", "layout NAME"),
    "embedded": ("WORKKIT_REDIS_URL=embedded:///FOLDER", "embedded"),
}


def _settings(table: Mapping[str, Any], file: Path) -> Settings:
    for key, value in table.items():
        if key not in READERS:
            if server := _server_settings().get(key.lower().replace("_", "-")):
                what = f"{key} in [tool.workkit] of {file} is not a setting. This table names no server"
                remedy = "so that programs, which do not read it, use the same one"
                raise InvalidOptions(f"{what}, {remedy}. Set {server[0]}, or give --{server[1]}.", given=key)
            near = next(iter(word for word in nearest_words(key, READERS, most=3) if is_slip(key, word)), None)
            hint = f"Did you mean {near}?" if near else f"Accepted: {listed(list(READERS))}."
            message = f"{key} in [tool.workkit] of {file} is not a setting. {hint}"
            raise InvalidOptions(message, given=key, accepted=", ".join(READERS), suggestion=near)
        _, accepts, accepted = READERS[key]
        if not accepts(value):
            message = f"{key} = {value!r} in [tool.workkit] of {file} cannot be used. Write {accepted}."
            raise InvalidOptions(message, given=value, accepted=accepted)
    values: dict[str, Any] = {
        READERS[key][0]: tuple(value) if isinstance(value, list | dict) else value for key, value in table.items()
    }
    return Settings(**values, plans=isinstance(table.get("schedules"), dict), file=file)


def _server_settings() -> dict[str, tuple[str, str]]:
    own = own_options().values()
    tried = {name: (one.variable, f"{one.name} {one.metavar}") for one in own for name in (one.name, *one.tried)}
    return SERVERS | tried


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(_is_text(item) for item in value)


def _is_schedules(value: object) -> bool:
    """Return whether a value is a list of names, or a table of plans by name."""
    return _is_texts(value) or (isinstance(value, dict) and all(isinstance(plan, dict) for plan in value.values()))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_number_of_processes(value: object) -> bool:
    return isinstance(value, int) and _is_count(value) and value <= MOST_PROCESSES


READERS: dict[str, tuple[str, Callable[[object], bool], str]] = {
    "schedules": ("schedules", _is_schedules, 'schedules = ["app-tasks"]'),
    "import": ("imports", _is_texts, 'import = ["app.jobs"]'),
    "threads": ("threads", _is_count, "threads = 10"),
    "coroutines": ("coroutines", _is_count, "coroutines = 100"),
    "processes": ("processes", _is_number_of_processes, f"processes = 2, from 1 to {MOST_PROCESSES}"),
    "deadline": ("deadline", _is_text, 'deadline = "25s"'),
    "health-port": ("health_port", lambda value: _is_count(value) or _is_text(value), "health-port = 8080"),
    "log": ("log", lambda value: value in ("console", "json"), 'log = "console" or log = "json"'),
    "plan-version": ("plan_version", lambda value: _is_count(value) or _is_text(value), 'plan-version = "2026.11.23"'),
    "tz": ("tz", _is_text, 'tz = "Europe/Paris"'),
    "dialect": (
        "dialect",
        lambda value: value in ("published", "cuckoo"),
        'dialect = "published" or dialect = "cuckoo"',
    ),
}


@dataclass(frozen=True, slots=True)
class Host:
    """The settings of such a program. `command`: the words that start it, up to those of workkit; empty: as this
    process was started. `imports`: modules that every listener and each of its worker processes imports first.
    """

    command: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()


NO_HOST = Host()


def host() -> Host:
    """Return the program that runs the present command."""
    found = click.get_current_context().find_root().obj
    return found if isinstance(found, Host) else NO_HOST
