"""A service of systemd as a call of `workkit.shell:run`; and its unit files (systemd.syntax(7)): sections, settings
with their lines, drop-ins, durations.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from workkit.moving.found import NotCarried, command_name, text_of
from workkit.text.wording import listed, option_text

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # the value of systemd for a system unit
_TYPES = ("simple", "exec", "oneshot", "idle")
_COMMANDS = ("ExecStartPre", "ExecStart", "ExecStartPost")
# These settings change what runs, or whether it runs. A call cannot express them.
_REFUSED = (
    *("ExecCondition", "ExecStop", "ExecStopPost", "EnvironmentFile", "PassEnvironment", "UnsetEnvironment", "Group"),
    *("SupplementaryGroups", "DynamicUser", "RootDirectory", "RootImage", "StandardInput", "StandardOutput"),
    *("StandardError", "SuccessExitStatus", "RestartForceExitStatus", "LoadCredential", "UMask"),
)
_CARRIED = (
    *_COMMANDS,
    "Type",
    "User",
    "Environment",
    "WorkingDirectory",
    "TimeoutStartSec",
    "TimeoutSec",
    "RuntimeMaxSec",
)
_WITHOUT_EFFECT = ("RemainAfterExit", "ExecReload", "SyslogIdentifier", "GuessMainPID", "KillMode", "TimeoutStopSec")
_NEVER = ("infinity", "0")
_HARMLESS_OUTPUT = ("journal", "inherit", "null", "syslog", "journal+console", "kmsg")
_VARIABLE = re.compile(r"\$(?:\{|[A-Za-z_])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The call of a service: the command, its other arguments, options of the job, remarks."""

    name: str
    command: object
    kwargs: dict[str, object]
    options: dict[str, object]
    comments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Command:
    words: list[str]
    may_fail: bool
    is_full: bool  # runs with all rights, whatever User= is


def read_service(unit: Unit) -> Service:
    """Read the call of a service. Raises NotCarried."""
    kind = unit.value("Service", "Type", "simple").lower()
    if kind not in _TYPES:
        raise NotCarried(f"Type={kind}: its main process tells systemd when it is ready, and goes on alone.")
    _refuse(unit)
    commands = [_command(setting.value) for name in _COMMANDS for setting in unit.all("Service", name)]
    if not unit.all("Service", "ExecStart"):
        raise NotCarried(f"{unit.name} has no ExecStart=.")
    call = _call(commands)
    comments = _comments(unit)
    user = plain(unit.value("Service", "User"))
    if user and any(command.is_full for command in commands):
        raise NotCarried("ExecStart=+ runs with all rights in spite of User=.", "Make two services of it.")
    if user:
        call["user"] = user
    else:
        comments.append("It has no User=: systemd runs it as root, or as the user of systemctl --user.")
    call["env"] = {"PATH": PATH, **_environment(unit)}
    call["cwd"] = _folder(unit)
    options: dict[str, object] = {}
    if timeout := _timeout(unit, kind):
        options["timeout"] = timeout
    command = call.pop("command")
    first = commands[0].words
    name = command_name(shlex.join(first))
    return Service(name=name, command=command, kwargs=call, options=options, comments=tuple(comments))


def _refuse(unit: Unit) -> None:
    for name in _REFUSED:
        setting = unit.last("Service", name)
        if setting is None or (name.startswith("Standard") and setting.value.lower() in _HARMLESS_OUTPUT):
            continue
        raise NotCarried(f"{setting.where}: {setting.text} has no counterpart in a plan.", "Say it in the command.")
    restart = unit.value("Service", "Restart", "no").lower()
    if restart != "no":
        raise NotCarried(f"Restart={restart} starts it again by rules of systemd.", "Write retries = 3.")
    for setting in unit.settings:
        if setting.section == "Unit" and setting.name.startswith(("Condition", "Assert")) and setting.value:
            raise NotCarried(f"{setting.where}: {setting.text} is checked at each start.", "Check it in the command.")


def _command(text: str) -> _Command:
    """Read one command line of systemd.service(5). Raises NotCarried."""
    may_fail = is_full = is_literal = False
    place = 0
    for place, sign in enumerate(text):  # noqa: B007 (the place where the words begin)
        if sign == "-":
            may_fail = True
        elif sign == "+":
            is_full = True
        elif sign == ":":
            is_literal = True
        elif sign in "@!|":
            raise NotCarried(f'The prefix "{sign}" of {text} has no counterpart in a plan.')
        else:
            break
    line = plain(text[place:])
    if "\\" in line:
        raise NotCarried(f"{text} has a backslash, which systemd and shells read differently.")
    if not is_literal and _VARIABLE.search(line.replace("$$", "")):
        raise NotCarried(
            f"{text} has a variable, which systemd puts in.", "Write its value, or run it with /bin/sh -c."
        )
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise NotCarried(f"{text} has a quote that does not end.") from error
    if not words or ";" in words:
        raise NotCarried(f"{text} is not one command.", "Write a line for each.")
    return _Command(words if is_literal else [word.replace("$$", "$") for word in words], may_fail, is_full)


def _call(commands: list[_Command]) -> dict[str, object]:
    """Return the arguments for one command as words, or for several as a shell script that stops at the first
    failure.
    """
    if len(commands) == 1:
        (only,) = commands
        return {"command": only.words} | ({"check": False} if only.may_fail else {})
    lines = [f"{{ {shlex.join(one.words)} || :; }}" if one.may_fail else shlex.join(one.words) for one in commands]
    return {"command": " && ".join(lines), "shell": True}


def _environment(unit: Unit) -> dict[str, str]:
    found: dict[str, str] = {}
    for setting in unit.all("Service", "Environment"):
        try:
            words = shlex.split(plain(setting.value))
        except ValueError as error:
            raise NotCarried(f"{setting.where}: {setting.text} has a quote that does not end.") from error
        for word in words:
            name, equals, value = word.partition("=")
            if not equals:
                raise NotCarried(f"{setting.where}: {setting.text} is no NAME=value.")
            found[name] = value
    return found


def _folder(unit: Unit) -> str:
    folder = plain(unit.value("Service", "WorkingDirectory", "/"))
    if folder.startswith("-"):
        raise NotCarried(f"WorkingDirectory={folder}: a folder that may be missing.", f"Write {folder[1:]}.")
    return folder


def _timeout(unit: Unit, kind: str) -> str:
    """Return the time limit of a run: the limit of the start for oneshot, of the whole run for the others."""
    names = ("TimeoutStartSec", "TimeoutSec") if kind == "oneshot" else ("RuntimeMaxSec",)
    given = next((value for name in names if (value := unit.value("Service", name))), "")
    return "" if given.lower() in ("", *_NEVER) else option_text(seconds_of(given))


def _comments(unit: Unit) -> list[str]:
    known = (*_CARRIED, *_REFUSED, *_WITHOUT_EFFECT, "Restart")
    others = {one.name: one.value for one in unit.settings if one.section == "Service" and one.name not in known}
    named = [f"{name}={value}" for name, value in others.items() if value]
    return [f"Not carried over: {listed(named)}."] if named else []


def service_of(timer: str, unit: str) -> str:
    """Return the file name of the service that a timer starts."""
    return unit or f"{PurePosixPath(timer).stem}.service"


_SECTION = re.compile(r"\[([^\]]+)\]\s*")
_SPAN = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)")
_SPECIFIER = re.compile(r"%(.)")
_SECONDS = {
    **dict.fromkeys(("", "s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
    **dict.fromkeys(("w", "week", "weeks"), 604_800.0),
    **dict.fromkeys(("ms", "msec"), 0.001),
}
TRUE, FALSE = ("1", "yes", "true", "on"), ("0", "no", "false", "off", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One line of a unit. `where`: file and line."""

    section: str
    name: str
    value: str
    where: str

    @property
    def text(self) -> str:
        """The line as written."""
        return f"{self.name}={self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A unit file with its drop-ins, in the order in which systemd reads them."""

    name: str
    settings: tuple[Setting, ...]

    def all(self, section: str, name: str) -> list[Setting]:
        """List the settings of a name; an empty one drops those before it."""
        found: list[Setting] = []
        for setting in self.settings:
            if (setting.section, setting.name) == (section, name):
                found = [*found, setting] if setting.value else []
        return found

    def last(self, section: str, name: str) -> Setting | None:
        """Return the effective setting of a name with one value."""
        found = self.all(section, name)
        return found[-1] if found else None

    def value(self, section: str, name: str, default: str = "") -> str:
        """Return the value of a setting."""
        found = self.last(section, name)
        return default if found is None else found.value

    def is_true(self, section: str, name: str) -> bool:
        """Read a switch. Raises NotCarried."""
        value = self.value(section, name).lower()
        if value in TRUE:
            return True
        if value not in FALSE:
            raise NotCarried(f"{name}={value} is neither yes nor no.")
        return False


def read_unit(file: Path) -> Unit:
    """Read a unit and the drop-ins in the folder beside it. Raises NotFound, InvalidOptions."""
    files = [file, *sorted(Path(f"{file}.d").glob("*.conf"))]
    return Unit(name=file.name, settings=tuple(setting for one in files for setting in _settings(one)))


def _settings(file: Path) -> Iterator[Setting]:
    section = ""
    for number, line in _lines(text_of(str(file)).splitlines()):
        match = _SECTION.fullmatch(line)
        if match:
            section = match[1]
            continue
        name, equals, value = line.partition("=")
        if equals:
            where = f"{file.name} line {number}"
            yield Setting(section=section, name=name.strip(), value=value.strip(), where=where)


def _lines(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Number the lines with content; a line that ends in a backslash continues on the next."""
    begun, first = "", 0
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith(("#", ";")):
            continue
        first = first if begun else number
        if line.endswith("\\"):
            begun += f"{line[:-1]} "
            continue
        whole, begun = (begun + line).strip(), ""
        if whole:
            yield first, whole


def plain(value: str) -> str:
    """Return a value that systemd would expand: `%%` is a percent sign, other specifiers are refused. Raises
    NotCarried.
    """
    for match in _SPECIFIER.finditer(value):
        if match[1] != "%":
            raise NotCarried(f"{match[0]} stands for something that only systemd knows.", "Write its value.")
    return value.replace("%%", "%")


def seconds_of(span: str) -> float:
    """Convert a duration to seconds: "1h 30min", "90". Raises NotCarried."""
    place, total = 0, 0.0
    while match := _SPAN.match(span, place):
        if match[2] not in _SECONDS:
            break
        total += float(match[1]) * _SECONDS[match[2]]
        place = match.end()
    if not span.strip() or span[place:].strip():
        raise NotCarried(f'"{span}" is no length of time.', "Write 1h 30min.")
    return total
