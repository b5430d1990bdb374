"""The options of the verbs and of `@job`: one table. An option is one row of it, and a field of a type in
`workkit.jobs.call`.

The table is the source of the accepted keywords, the stored members, the flags and the help of the command line. Tests
compare it with the types, the docstrings and the tables of spec/. The effect of an option is elsewhere: a stored one is
a field of `Terms` or `RunOptions`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args
from zoneinfo import ZoneInfo

from workkit.errors import CorruptRecord, InvalidOptions
from workkit.jobs import option_readers as read
from workkit.jobs.call import (
    After,
    Backoff,
    CatchUp,
    Duration,
    ErrorTypes,
    Instant,
    Late,
    OnConflict,
    OnDeath,
    Overlap,
    UniqueUntil,
)
from workkit.jobs.elsewhere import WORDS
from workkit.jobs.meta import read_meta
from workkit.jobs.option_readers import LONGEST_MS, Reader
from workkit.text.nearest import nearest_word

ADD, JOB, LISTEN, FORWARD = "schedule.add", "@job", "schedule.listen", "schedule.forward"  # the places of an option
BOTH = (ADD, JOB)
OF_JOB = "The job among others"
OF_RECURRENCE = "A job that recurs"
OF_RUNS = "Runs (without these, the options of @job hold)"
OF_LISTENER = "The listener"

PRIORITIES = (0, 1, 2, 3)
MOST_RETRIES, MOST_AT_ONCE, MOST_RUNS, MOST_THREADS = 10_000, 100_000, 1_000_000_000, 1000
MOST_COROUTINES = 10_000
LONGEST_NAME, LONGEST_KEY, LONGEST_LISTENER = 200, 500, 64
MOST_RESULT = 64_000_000  # bytes
_LISTENER_NAME = re.compile(rf"{read.CONTROL.pattern}|[\s:*]")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbOption:
    """One option. `places`: the places that accept it; `type`: the type for a type checker, beside None; `read`: checks
    a value and returns the kept one.

    `default` and `meaning` are texts for people. `value`: the name of a value in the help of the command line ("" for a
    switch; its flag is ``--no-NAME`` if the default is True). `member` and `fits`: its name in a payload's `opts`, and
    the check of the stored value; None if it is not stored. `recurring`: only a job that recurs may have it.
    """

    name: str
    places: tuple[str, ...]
    section: str
    type: Any
    read: Reader
    meaning: str
    value: str
    default: str = "none"
    member: str | None = None
    fits: Callable[[Any], bool] | None = None
    recurring: bool = False


def _at_least(least: int, most: int = LONGEST_MS) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and least <= value <= most


def _text_fits(most: int, *, forbidden: re.Pattern[str]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and 1 <= len(value) <= most and not forbidden.search(value)


def _is_boolean(value: Any) -> bool:
    return type(value) is bool


def _choice(kind: Any) -> dict[str, Any]:
    """Return the fields of an option that takes one of the texts of a Literal."""
    return {"type": kind, "read": read.choice(get_args(kind)), "fits": read.among(get_args(kind))}


def _duration(name: str, *, least: int = 1, **more: Any) -> VerbOption:
    """Make an option that takes a duration and is stored in milliseconds."""
    stored = {"member": f"{name}_ms", "fits": _at_least(least if least < 1000 else 1)}
    return VerbOption(
        name=name, type=Duration, read=read.milliseconds(least), **{"value": "DURATION", **stored, **more}
    )


def _is_mark(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{16}", value) is not None


_NOT_STORED: dict[str, Any] = {"member": None, "fits": None}
_AMONG: dict[str, Any] = {"places": (ADD,), "section": OF_JOB}
_RECURS: dict[str, Any] = {"places": (ADD,), "section": OF_RECURRENCE, "recurring": True}
_RUNS: dict[str, Any] = {"places": BOTH, "section": OF_RUNS}
_FUNCTION: dict[str, Any] = {"places": (JOB,), "section": OF_RUNS, "value": ""}
_LISTENER: dict[str, Any] = {"places": (LISTEN,), "section": OF_LISTENER}
_BOTH_LISTEN: dict[str, Any] = {"places": (LISTEN, FORWARD), "section": OF_LISTENER}

OPTIONS: tuple[VerbOption, ...] = (
    VerbOption(name="tz", **_AMONG, type=str | ZoneInfo, read=read.as_given, value="ZONE",
               meaning="zone in which words are read", default="that of the schedule"),
    VerbOption(name="late", **_AMONG, **{**_choice(Late), "fits": None}, value="POLICY",
               meaning="a time up to a day past: refuse, run", default='"refuse"'),
    VerbOption(name="name", **_AMONG, type=str, read=read.read_text(LONGEST_NAME, forbidden=read.NAME), value="NAME",
               meaning="name of the job; one added under it replaces this",
               member="name", fits=_text_fits(LONGEST_NAME, forbidden=read.NAME)),
    VerbOption(name="unique_key", **_AMONG, type=str, value="KEY",
               read=read.read_text(LONGEST_KEY, forbidden=read.CONTROL),
               meaning="one job at a time under this key",
               member="unique_key", fits=_text_fits(LONGEST_KEY, forbidden=read.CONTROL)),
    VerbOption(name="unique_until", **_AMONG, **_choice(UniqueUntil), value="STATE", member="unique_until",
               meaning="when the key is free: done, or started", default='"done"'),
    VerbOption(name="on_conflict", **_AMONG, **{**_choice(OnConflict), "fits": None}, value="POLICY",
               meaning="keep or replace what has the key or name", default='"keep"'),
    VerbOption(name="unique", **_AMONG, type=bool, read=read.boolean, value="",
               meaning="False: a job of its own at each addition",
               default="True"),
    VerbOption(name="once_key", **_AMONG, type=str, value="KEY",
               read=read.read_text(LONGEST_KEY, forbidden=read.CONTROL, example='"pay:4218"'),
               meaning="one job in all under this key, for a time",
               member="once_key", fits=_text_fits(LONGEST_KEY, forbidden=read.CONTROL)),
    _duration("once_for", **_AMONG, **_NOT_STORED, meaning="how long the first job of that key is returned"),
    _duration("throttle", **_AMONG, **_NOT_STORED, meaning="of additions within this time only the first one runs"),
    _duration("debounce", **_AMONG, **_NOT_STORED,
              meaning="of additions within this time the last one runs"),
    _duration("debounce_most", **_AMONG, **_NOT_STORED,
              meaning="most time put off; default six times debounce"),
    VerbOption(name="priority", **_AMONG, type=int, read=read.choice(PRIORITIES), value="N",
               meaning="0 to 3; of due jobs, higher first", default="0",
               member="priority", fits=read.among(PRIORITIES)),
    VerbOption(name="ping", **_AMONG, type=str, read=read.web_url, value="URL", member="ping", fits=read.is_web_url,
               meaning="a monitor's URL, which gets starts and endings"),
    VerbOption(name="meta", **_AMONG, type=Mapping[str, str], read=read_meta, value="NAME=VALUE",
               meaning="a text that goes along, also to jobs it adds"),
    VerbOption(name="tags", **_AMONG, type=Sequence[str], read=read.tags, value="TAG",
               meaning="a text to find and change jobs by; up to 8", member="tags", fits=read.are_tags),
    _duration("expires", **_AMONG, meaning="a one-time job does not start later than this"),
    VerbOption(name="done_by", **_AMONG, type=Instant, read=read.as_given, value="TIME", member="done_by",
               meaning='deadline: first such time after it is due ("6am")', fits=read.is_deadline),
    _duration("within", **_AMONG, meaning="deadline: this long after it is due"),
    VerbOption(name="after", **_AMONG, type=After, read=read.as_given, value="JOB", member="after", fits=_is_mark,
               meaning="starts when this has ended: an id, or the next run of a name"),
    VerbOption(name="on_death", **_AMONG, **{**_choice(OnDeath), "fits": None}, value="POLICY",
               meaning="after one that failed: cancel this, or run it", default='"cancel"'),

    VerbOption(name="start", **_RECURS, type=Instant, read=read.as_given, value="TIME",
               meaning="no run before this instant; intervals count from it"),
    VerbOption(name="end", **_RECURS, type=Instant, read=read.as_given, value="TIME",
               meaning="no run at or after this instant"),
    VerbOption(name="count", **_RECURS, type=int, value="N", meaning="number of runs in all",
               read=read.whole(1, MOST_RUNS, trouble="is not a number of runs"),
               member="count", fits=_at_least(1, MOST_RUNS)),
    VerbOption(name="overlap", **_RECURS, **_choice(Overlap), value="POLICY", member="overlap",
               meaning="while its last run continues: allow both, skip this one, queue it, cancel the other",
               default='"allow"'),
    VerbOption(name="catch_up", **_RECURS, **_choice(CatchUp), value="POLICY", member="catch_up",
               meaning="after downtime: once (one late run), all, skip (what is later than a minute)",
               default='"once"'),
    _duration("catch_up_within", **_RECURS, meaning="runs that are later than this are missed"),
    _duration("spread", **_RECURS, least=1000,  # runs are put off by whole seconds
              meaning="every run is put off by the same part of this time"),

    VerbOption(name="retries", **_RUNS, type=int, value="N", meaning="attempts after the first", default="0",
               read=read.whole(0, MOST_RETRIES, trouble="is not a number of attempts after the first"),
               member="retries", fits=_at_least(0)),
    VerbOption(name="crashes", **_RUNS, type=int, value="N", default="2",
               meaning="times a cut-off run begins again; 0: never",
               read=read.whole(0, MOST_RETRIES, trouble="is not a number of times that a run begins again"),
               member="crashes", fits=_at_least(0)),
    VerbOption(name="backoff", **_RUNS, **_choice(Backoff), value="CURVE", member="backoff",
               meaning="how pauses grow: exponential, linear, constant", default='"exponential"'),
    _duration("base", **_RUNS, least=0, meaning="the first pause", default='"5s"'),
    _duration("cap", **_RUNS, least=0, meaning="the longest pause", default='"1h"'),
    VerbOption(name="jitter", **_RUNS, type=bool, read=read.boolean, value="", member="jitter", fits=_is_boolean,
               meaning="False: pauses exactly so, not up to half shorter", default="True"),
    _duration("timeout", **_RUNS, meaning="end a run that takes longer"),
    _duration("keep", **_RUNS, least=1000, meaning="time to keep what the handler returns"),
    VerbOption(name="keep_most", **_RUNS, type=int | str, read=read.size_bytes(MOST_RESULT), value="SIZE",
               meaning="the largest result kept, as JSON", default='"1MB"',
               member="keep_most", fits=_at_least(1, MOST_RESULT)),

    VerbOption(name="retry_on", **_FUNCTION, type=ErrorTypes, read=read.error_types, default="any",
               meaning="exception types worth another attempt"),
    VerbOption(name="discard_on", **_FUNCTION, type=ErrorTypes, read=read.error_types,
               meaning="exception types that end a run without a record"),
    VerbOption(name="limit", **_FUNCTION, type=int,
               meaning="most runs at once, over all listeners (on RabbitMQ without a Redis: in each process)",
               read=read.whole(1, MOST_AT_ONCE, trouble="is not a number of runs at once")),
    VerbOption(name="rate", **_FUNCTION, type=str | Mapping[str, str], read=read.rates,
               meaning='most starts in a time, over all listeners: "100/minute", "3/10s"; or one for each class of '
               'limit_key, the part of its value before ":": {"gold": "100/minute", "": "20/minute"}'),
    VerbOption(name="limit_key", **_FUNCTION, type=str | Callable[..., Any], read=read.limit_key,
               meaning="limit and rate hold for each value of this parameter, or of a function of the arguments"),
    VerbOption(name="cpu", **_FUNCTION, type=bool, read=read.boolean, default="False",
               meaning="True: in a worker process"),

    VerbOption(name="accepts", **_FUNCTION, type=Iterable[Callable[..., Any]], read=read.lifters, default="()",
               meaning="functions that lift arguments of earlier versions: each returns a tuple or a dict"),
    VerbOption(name="on_failure", **_FUNCTION, type=str | Callable[..., Any], read=read.follower,
               meaning="a function that runs as a job, with the id and the error, when a job of this one is dead"),

    VerbOption(name="periodic", **_FUNCTION, type=str | Iterable[str], read=read.one_or_more_texts,
               meaning="in the gocraft layout: the specs by which pools enqueue runs, five or six fields as in Go"),
    VerbOption(name="periodic_args", **_FUNCTION, type=Mapping[str, Any], read=read.keyword_arguments,
               meaning="the arguments of these runs; all pools of the fleet must know the same"),

    VerbOption(name="threads", **_LISTENER, type=int, value="N", meaning="jobs at once in each process", default="10",
               read=read.whole(1, MOST_THREADS, trouble="is out of range")),
    VerbOption(name="coroutines", **_LISTENER, type=int, value="N", default="100",
               meaning="coroutines at once in each process, beside those jobs",
               read=read.whole(1, MOST_COROUTINES, trouble="is out of range")),
    VerbOption(name="imports", **_LISTENER, type=Iterable[str], read=read.texts, value="MODULE", default="()",
               meaning="modules with the allowed functions; they are imported at the start"),
    VerbOption(name="jobs", **_LISTENER, type=Iterable[str], read=read.names_with_weights, value="NAME[:PRIORITY],...",
               meaning="in the layouts gocraft, hutch and event: the job names to serve, in gocraft with priorities (1 "
               "to 100000); none: every name that is registered"),
    VerbOption(name="consumers", **_LISTENER, type=Mapping[str, str | Callable[..., Any]] | Iterable[str],
               read=read.consumers, value="NAME=MODULE:FUNCTION",
               meaning="run this function under a job name, as if it was marked with @job"),
    VerbOption(name="folder", **_LISTENER, type=str | Path, read=read.path, value="", default="Path.cwd()",
               meaning="functions of modules under this folder are allowed; None: only those of imports"),
    VerbOption(name="deadline", **_BOTH_LISTEN, type=Duration, read=read.seconds, value="DURATION", default='"25s"',
               meaning="time to finish at a stop"),
    VerbOption(name="listener_name", **_LISTENER, type=str, value="NAME",
               read=read.read_text(LONGEST_LISTENER, forbidden=_LISTENER_NAME),
               meaning="what the listener is called, without blanks and colons; none: as its host and process"),
    VerbOption(name="strict", **_LISTENER, type=bool, read=read.boolean, value="", default="False",
               meaning="schedules strictly in order"),
    VerbOption(name="burst", **_BOTH_LISTEN, type=bool, read=read.boolean, value="", default="False",
               meaning="run what is due now, then end"),
    VerbOption(name="listener_timeout", **_BOTH_LISTEN, type=Duration, read=read.timeout_seconds, value="",
               default='"10s"', meaning="after this time without a heartbeat a listener loses its jobs to others"),
    VerbOption(name="health_port", **_BOTH_LISTEN, type=int | str, read=read.address, value="PORT",
               meaning="serve /livez, /readyz and /metrics on 127.0.0.1, or elsewhere with ADDRESS:PORT"),
    VerbOption(name="keep_unfit", **_LISTENER, type=Duration, read=read.seconds, value="DURATION", default='"10m"',
               meaning="time for which a due job with unfit arguments is left for other listeners, then dead"),
    VerbOption(name="publish", **_LISTENER, type=bool, read=read.boolean, value="", default="True",
               meaning="False: do not tell on the server which functions it knows (names, parameters, defaults)"),
    VerbOption(name="sync", **_LISTENER, type=bool | str | Path, read=read.yes_or_file, value="", default="False",
               meaning="make the planned jobs of imported modules so, before it listens, unless a newer plan holds"),
    VerbOption(name="plan_version", **_LISTENER, type=str | int, read=read.version, value="VERSION",
               meaning="which of two plans is newer: numbers, such as 412 or 2026.11.23; none: when the code was made"),
)  # fmt: skip

_OF_BATCH: dict[str, Any] = {"places": (), "section": OF_JOB, "type": str, "value": "", "read": read.as_given}
_THEN_OF = VerbOption(  # written by the verbs of batches; no option
    name="then_of", member="then_of", **_OF_BATCH, meaning="", fits=_text_fits(LONGEST_NAME, forbidden=read.NAME)
)
BY_NAME: Mapping[str, VerbOption] = {option.name: option for option in OPTIONS}
STORED: Mapping[str, VerbOption] = {one.member: one for one in (*OPTIONS, _THEN_OF) if one.member is not None}
NONE_MEANS = frozenset({"folder"})  # options for which None is a value; for all others None leaves the option unset


def names_at(place: str) -> tuple[str, ...]:
    """List the options that a place accepts."""
    return _AT[place]


_AT = {
    place: tuple(option.name for option in OPTIONS if place in option.places) for place in (ADD, JOB, LISTEN, FORWARD)
}


def read_options(given: Mapping[str, Any], *, place: str, verb: str, other: Iterable[str] = ()) -> dict[str, Any]:
    """Check options by name and by value; return the kept value of each option that is set. `other`: keywords of `verb`
    that are not options, for the guess at a mistyped name. Raises InvalidOptions, TriggerError for a duration.
    """
    accepted = _AT[place]
    for name, value in given.items():
        if name not in accepted:
            raise _unknown(name, value, accepted=accepted, verb=verb, other=other)
    found = {}
    for name, value in given.items():
        if value is not None or name in NONE_MEANS:
            found[name] = BY_NAME[name].read(value, name)
    return found


def _unknown(name: str, value: Any, *, accepted: tuple[str, ...], verb: str, other: Iterable[str]) -> InvalidOptions:
    if name in BY_NAME:
        home = BY_NAME[name].places[0]
        remedy = f"Give {name}={value!r} there."
        return InvalidOptions.about(f"{name}=", f"belongs to {home}", remedy, where=name, given=value)
    trouble = f"is not an option of {verb}"
    if (word := WORDS.get(name)) is not None:
        remedy, suggestion = word.remedy(value)
        return InvalidOptions.about(
            f"{name}={value!r}", trouble, remedy, where=name, given=value, suggestion=suggestion
        )
    near = nearest_word(name, (*accepted, *other))
    suggestion = f"{near}={value!r}" if near else None
    remedy = f"Did you mean {suggestion}?" if near else f"Options: {', '.join(accepted)}."
    return InvalidOptions.about(f"{name}={value!r}", trouble, remedy, where=name, given=value, suggestion=suggestion)


def read_stored(opts: object, members: Iterable[str]) -> dict[str, Any]:
    """Read `members` of the `opts` of a stored payload, and skip all others. Raises CorruptRecord."""
    if not isinstance(opts, Mapping):
        raise CorruptRecord(f"payload: opts is {opts!r}, not an object", given=opts)
    found: dict[str, Any] = {}
    for member in members:
        value: Any = opts.get(member)
        if value is None:
            continue
        fits = STORED[member].fits
        if fits is None or not fits(value):
            raise CorruptRecord(f"payload: opts.{member} is {value!r}", given=value)
        found[member] = value
    return found
