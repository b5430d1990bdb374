"""Unit files of systemd (systemd.syntax(7)): sections, settings with their lines, drop-ins, lengths of time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from workkit.moving.reading import text_of
from workkit.moving.refusal import NotCarried

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
    """One line of a unit: `where` names file and line."""

    section: str
    name: str
    value: str
    where: str

    @property
    def text(self) -> str:
        """The line as it is written."""
        return f"{self.name}={self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A unit file with its drop-ins, in the order in which systemd reads them."""

    name: str
    settings: tuple[Setting, ...]

    def all(self, section: str, name: str) -> list[Setting]:
        """List the settings of a name; an empty one forgets those before it."""
        found: list[Setting] = []
        for setting in self.settings:
            if (setting.section, setting.name) == (section, name):
                found = [*found, setting] if setting.value else []
        return found

    def last(self, section: str, name: str) -> Setting | None:
        """Find the setting that holds, of a name that has one value."""
        found = self.all(section, name)
        return found[-1] if found else None

    def value(self, section: str, name: str, default: str = "") -> str:
        """Give its value."""
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
    """Number the lines that say something; one that ends in a backslash continues in the next."""
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
    """Take a value that systemd would expand: `%%` is a percent sign, other specifiers are refused. Raises
    NotCarried.
    """
    for match in _SPECIFIER.finditer(value):
        if match[1] != "%":
            raise NotCarried(f"{match[0]} stands for something that only systemd knows.", "Write its value.")
    return value.replace("%%", "%")


def seconds_of(span: str) -> float:
    """Read a length of time as seconds: "1h 30min", "90". Raises NotCarried."""
    place, total = 0, 0.0
    while match := _SPAN.match(span, place):
        if match[2] not in _SECONDS:
            break
        total += float(match[1]) * _SECONDS[match[2]]
        place = match.end()
    if not span.strip() or span[place:].strip():
        raise NotCarried(f'"{span}" is no length of time.', "Write 1h 30min.")
    return total
