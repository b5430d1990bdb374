"""Crontabs: those of users, and with `system` those of a machine (/etc/crontab, /etc/cron.d), which have a column for
the user. Each line becomes a call of `workkit.shell:run`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from workkit.errors import TriggerError
from workkit.moving.found import (
    DEFAULT_SHELL,
    RUN,
    Carried,
    Found,
    NotCarried,
    Reading,
    Refused,
    command_name,
    not_carried,
    text_of,
    words_of,
)
from workkit.moving.plan_time import Touched, plan_time, reads_same, remark, rules_trigger, touched_by_changes
from workkit.triggers.crons.cron import parse_cron
from workkit.triggers.crons.grammars import NICKNAMES, VIXIE
from workkit.triggers.crons.reader import read_field, rule_of
from workkit.triggers.zone import zone

PATH = "/usr/bin:/bin"  # cron's own value if the crontab sets none
_SETTING = re.compile(r"""(?P<name>"[^"]*"|'[^']*'|[^\s='"]+)\s*=\s*(?P<value>.*)""", re.DOTALL)
_OF_CRON = frozenset({"MAILTO", "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING", "CRON_TZ", "RANDOM_DELAY"})
_TIME_FIELDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class CronFields:
    """The times of a crontab line, as Vixie's cron reads it. The crons of Linux and the BSDs derive from it; a field
    that they read differently is refused. `rule` has seven fields (spec/cron.md, 3). `is_wild`: the minute or the hour
    begins with a star, so that cron follows the wall clock, and not the times of the day.
    """

    text: str
    rule: str
    is_wild: bool


def found_in(what: str, how: Reading) -> list[Found]:
    """Read a crontab file, or stdin for "-". Raises NotFound, InvalidOptions."""
    return list(read_crontab(text_of(what), how))


def read_crontab(text: str, how: Reading) -> Iterator[Found]:
    """Read the text of a crontab: each job as carried or refused. A setting applies to the lines below it."""
    settings: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r").lstrip(" \t")
        if not line or line.startswith("#"):
            continue
        setting = _setting(line)
        if setting is not None:
            settings[setting[0]] = setting[1]
            continue
        try:
            yield _job(line, settings, how, where=f"line {number}")
        except NotCarried as refusal:
            yield Refused(where=f"line {number}", text=line, reason=str(refusal), instead=refusal.instead)


def _setting(line: str) -> tuple[str, str] | None:
    match = _SETTING.fullmatch(line)
    return None if match is None else (_unquoted(match["name"]), _unquoted(match["value"].rstrip()))


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0] else text


def _job(line: str, settings: Mapping[str, str], how: Reading, *, where: str) -> Carried:
    """Read one line. Raises NotCarried."""
    fields, user, rest = _parted(line, system=how.system)
    tz, comments = _zone(settings, how)
    options: dict[str, object] = {"tz": tz, "catch_up": "skip"}  # cron runs nothing late
    if delay := _random_delay(settings):
        options["spread"] = delay
        comments.append("cron puts each run off by another part of RANDOM_DELAY, workkit all by the same.")
    when = _when(fields, tz=tz, how=how)
    command, stdin = split_percent(rest)
    kwargs = _call(command, settings)
    if stdin:
        kwargs["stdin"] = stdin
    if user:
        kwargs["user"] = user
    if settings.get("MAILTO"):
        comments.append(f"cron mails the output to {settings['MAILTO']}, workkit sends no mail.")
    comments += clock_comments(fields, tz=tz, now=how.now)
    return Carried(
        name=command_name(command),
        when=when,
        function=RUN,
        args=[kwargs.pop("command")],
        kwargs=kwargs,
        options=options,
        where=f"{where}: {line}",
        comments=tuple(comments),
    )


def _parted(line: str, *, system: bool) -> tuple[CronFields, str, str]:
    """Split a line into its time, the user of a system crontab, and the rest. Raises NotCarried."""
    if line.startswith("@"):
        name, *others = line.split(maxsplit=1 + system)
        fields = NICKNAMES.get(name.lower(), "").split()
        if name.lower() == "@reboot":
            remedy = "Start it with the machine, or add it with schedule.add_now where a program starts."
            raise NotCarried(
                "@reboot is no time: it runs when the machine starts, and a schedule serves many machines.", remedy
            )
        if not fields:
            raise NotCarried(f"{name} is not a time of cron. Accepted: {', '.join(NICKNAMES)}.")
    else:
        *fields, rest = [*line.split(maxsplit=_TIME_FIELDS + system), ""][: _TIME_FIELDS + system + 1]
        if len(fields) < _TIME_FIELDS + system:
            raise NotCarried("The line has neither five time fields and a command, nor NAME=value.")
        fields, others = fields[:_TIME_FIELDS], [*fields[_TIME_FIELDS:], rest]
    if len(others) < 1 + system or not others[-1]:
        column = " The first word of the command is taken for the user; is it a crontab of a user?" if system else ""
        raise NotCarried(f"The line has no command.{column}")
    return read_fields(fields), others[0] if system else "", others[-1]


def read_fields(fields: list[str]) -> CronFields:
    """Read minute, hour, day of the month, month and day of the week. Raises NotCarried."""
    read = []
    for text, spec in zip(fields, VIXIE.specs, strict=True):
        if "~" in text:
            reason = (
                f'"{text}" (field {spec.number}, {spec.name}) is a random time, which cron chooses anew at each start.'
            )
            raise NotCarried(reason, 'Use spread = "1h".')
        read.append(read_field(text, spec, VIXIE, refuse=not_carried))
    return CronFields(text=" ".join(fields), rule=rule_of(read), is_wild="*" in (fields[0][:1], fields[1][:1]))


def _zone(settings: Mapping[str, str], how: Reading) -> tuple[str, list[str]]:
    """Find the zone of a line. Raises NotCarried."""
    named = settings.get("CRON_TZ")
    if not named:
        return how.tz, []
    try:
        return str(zone(named)), ["Debian's cron ignores CRON_TZ and takes the zone of the machine; others keep it."]
    except TriggerError as error:
        raise NotCarried(f'CRON_TZ="{named}" is not a zone.', "Write an IANA name such as Europe/Paris.") from error


def _random_delay(settings: Mapping[str, str]) -> str:
    """Read RANDOM_DELAY, in minutes, as a duration; empty if it is not set. Raises NotCarried."""
    given = settings.get("RANDOM_DELAY", "").strip() or "0"
    if not given.isdecimal():
        raise NotCarried(f'RANDOM_DELAY="{given}" is no number of minutes.')
    return f"{int(given)}m" if int(given) else ""


def _when(fields: CronFields, *, tz: str, how: Reading) -> str:
    """Return the times of a line as a plan takes them: as written, if the plan reads that in the same way. Raises
    NotCarried.
    """
    wanted = rules_trigger([fields.rule], tz=tz)
    if wanted.next_after(how.now) is None:
        raise NotCarried("That day never comes.")
    if reads_same(fields.text, wanted, now=how.now):
        return fields.text
    text = plan_time([fields.rule], tz=tz, now=how.now)
    if text is None:
        reason = (
            "Where a day field begins with a star, cron wants both day fields, and no words of a plan say that here."
        )
        raise NotCarried(reason, "Write it as several lines, or let the function look at the date.")
    return text


def split_percent(rest: str) -> tuple[str, str]:
    r"""Split a command from its input at the first `%`: cron passes the rest on stdin, with further `%` as line ends;
    `\%` is a percent sign.
    """
    command, escaped, place = "", False, 0
    for place, char in enumerate(rest, 1):  # noqa: B007 (the place where the command ends)
        if char == "%" and not escaped:
            break
        command = command[:-1] + char if char == "%" else command + char
        escaped = char == "\\" and not escaped
    else:
        return command, ""
    written, escaped = "", False
    for char in rest[place:]:
        if escaped:
            written += "" if char == "%" else "\\"
        elif char == "%":
            char = "\n"
        escaped = char == "\\"
        written += "" if escaped else char
    written += "\\" if escaped else ""
    return command, written if not written or written.endswith("\n") else f"{written}\n"


def _call(command: str, settings: Mapping[str, str]) -> dict[str, object]:
    """Make the arguments of `workkit.shell:run`: the command, and the environment and folder that cron sets."""
    command = command.rstrip(" \t")
    env = {"PATH": PATH, **{name: value for name, value in settings.items() if name not in _OF_CRON}}
    words = words_of(command, shell=env.get("SHELL", DEFAULT_SHELL))
    call: dict[str, object] = {"command": command, "shell": True} if words is None else {"command": words}
    return call | {"env": env, "cwd": env.get("HOME", "~")}


def clock_comments(fields: CronFields, *, tz: str, now: datetime) -> tuple[str, ...]:
    """Write how Vixie's cron differs where the clock changes (cron(8)), once for gaps and once for times that come
    twice; empty if both behave alike.

    If the minute or hour of a line begins with a star, cron follows the wall clock: it skips times in a gap, and runs
    repeated times twice. For all other lines, cron runs each skipped time at the end of the gap, and repeats nothing.
    """
    cron = parse_cron(fields.rule, stored=True, rule=True)
    found = [
        (touched, trouble)
        for touched in touched_by_changes(cron, tz=tz, now=now)
        if (trouble := _difference(touched, is_wild=fields.is_wild))
    ]
    first: dict[bool, str] = {}
    for touched, trouble in found:
        first.setdefault(touched.change.skips, remark(touched, trouble))
    return tuple(first.values())


def _difference(touched: Touched, *, is_wild: bool) -> str:
    if touched.change.skips:
        if is_wild:
            return "" if touched.is_elapsed else "cron leaves out what is skipped, workkit runs it once, at its end"
        if touched.is_elapsed:
            return "cron runs what is skipped at its end, workkit leaves it out"
        several = touched.times + touched.at_end > 1
        return "cron runs each skipped time at the end of the gap, workkit runs once then" if several else ""
    if is_wild == touched.is_elapsed:
        return ""
    if is_wild:
        return "cron runs both times what comes twice, workkit the first time only"
    return "cron runs the first time only what comes twice, workkit both times"
