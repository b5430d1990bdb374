"""Every error workkit raises, and the two answers a job may raise itself.

Knows nothing of times, wires or threads, so that every floor may use it.

    WorkkitError
    ├─ Invalid (ValueError)
    │  ├─ TriggerError               a datetime, zone or duration
    │  │  ├─ PhraseError             words
    │  │  └─ CronError               cron text
    │  ├─ InvalidSchedule            name, URL, dialect, shards
    │  ├─ InvalidFunction            fn
    │  ├─ InvalidArguments           args, kwargs
    │  └─ InvalidOptions             the rest
    ├─ NotFound (LookupError)
    │  ├─ Ambiguous                  the beginning of several ids
    │  └─ NoResult                   a job is over, or keeps no result
    ├─ JobFailed                     the job whose result was asked for
    ├─ ResultPending                 it is not over yet
    │  └─ ResultTimeout (TimeoutError)
    ├─ ServerError (ConnectionError)
    │  ├─ ServerUnreachable          no answer
    │  └─ ServerRefused              it answered, and said no
    │     └─ ServerFull              it takes no writes for now
    ├─ CannotRun                     on the listener; given back, never raised into the loop
    │  ├─ NotAllowed
    │  └─ FunctionNotFound
    ├─ CorruptRecord · JobTimeout · JobCancelled · WorkerLost
    └─ Unsupported · EmbeddedError · ListenerStopped · AddedAtImport
    WorkkitWarning (UserWarning)
    Retry, Discard (Exception)       answers, not errors
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, ClassVar, Self, TypeVar

MOST_TEXT = 1000  # characters of an error's text
MOST_PUBLIC = 80  # characters of what was given, in a text for an end user
_INTERNAL = re.compile(
    r"workkit|--|[=`#]|(?<![\w/])[a-z]+_\w|[a-z]\.[a-z]|\b[0-9a-f]{6,40}\b|\b(args|kwargs|JSON|Python)\b", re.IGNORECASE
)
_ID = re.compile(r"[0-9a-f]{40}")


class WorkkitError(Exception):
    """The root. ``str(e)`` is one line for people: what was given, where the trouble is, what to do.

    Code that needs a part of that line reads a field; each is None where it has no meaning:

    - `given`: the offending text or value; `position`: the 0-based offset of the trouble in it
    - `where`: the argument, row, file or server that it concerns
    - `trouble`: what is wrong, in words that fit behind `where`
    - `remedy`: what to do, as a sentence
    - `accepted`: what would be understood in place of `given`; `suggestion`: the nearest accepted form

    `public` is for an end user of the program.
    """

    _public: ClassVar[str] = "This cannot be done."  # ``{}`` stands for what was given
    _tells: ClassVar[bool] = False  # whether `public` may say `trouble`, which is about a text of an end user

    def __init__(
        self,
        message: str,
        *,
        given: object = None,
        position: int | None = None,
        where: str | None = None,
        trouble: str | None = None,
        remedy: str | None = None,
        accepted: str | None = None,
        suggestion: str | None = None,
    ) -> None:
        super().__init__(message)
        self.given = given
        self.position = position
        self.where = where
        self.trouble = trouble
        self.remedy = remedy
        self.accepted = accepted
        self.suggestion = suggestion

    @property
    def public(self) -> str:
        """Word the error for an end user of the program. The text names no command, option, function or server, and no
        other job. An `Invalid` tells its `trouble` where that names none of these; else it has a general sentence.
        """
        if not isinstance(self.given, str):
            return self._public.replace('"{}"', "This")
        text = self.given if len(self.given) <= MOST_PUBLIC else f"{self.given[:MOST_PUBLIC]}..."
        subject = "This job" if _ID.fullmatch(self.given) else f'"{text}"'
        said = self._public.replace('"{}"', subject)
        if self._tells and self.trouble and not _INTERNAL.search(self.trouble):
            said = f"{subject}{'' if self.trouble.startswith(':') else ' '}{self.trouble}."
        near = self.suggestion if self._tells and isinstance(self, TriggerError) else None
        return said if near is None or _INTERNAL.search(near) else f'{said} Did you mean "{near}"?'

    @classmethod
    def about(cls, subject: str, trouble: str, remedy: str | None = None, **fields: Any) -> Self:
        """Make the error whose line is ``{subject} {trouble}. {remedy}``. `where` is the subject, unless `fields` name
        it.
        """
        line = f"{subject} {trouble}." if remedy is None else f"{subject} {trouble}. {remedy}"
        return cls(line, **{"where": subject, "trouble": trouble, "remedy": remedy, **fields})


class Invalid(WorkkitError, ValueError):
    """Something was given that cannot be meant."""

    _public = '"{}" cannot be used here.'
    _tells = True


class TriggerError(Invalid):
    """A datetime, zone or duration is not one."""

    _public = '"{}" is not understood.'


class PhraseError(TriggerError):
    """Words about time were not understood whole. `offered` are the whole texts that the message offers instead."""

    offered: tuple[str, ...] = ()


class CronError(TriggerError):
    """A cron string is outside its grammar, or never fires."""


class InvalidSchedule(Invalid):
    """A schedule's name, URL, dialect or shard count."""

    _public, _tells = WorkkitError._public, False


class InvalidFunction(Invalid):
    """A function that no listener could find again."""

    _public, _tells = WorkkitError._public, False


class InvalidArguments(Invalid):
    """Arguments that cannot travel, or that the function does not take. `unfit`: those of a run, whose function was not
    called.
    """

    unfit: bool = False


class InvalidOptions(Invalid):
    """An option of a verb: unknown, contradictory or out of range."""


class NotFound(WorkkitError, LookupError):
    """No such job, name or file."""

    _public = '"{}" was not found.'


class ChangedMeanwhile(WorkkitError):
    """What was to be changed is no longer as the caller saw it. Nothing was changed."""

    _public = "Somebody else has changed this meanwhile. Nothing was changed."


class Ambiguous(NotFound):
    """A text is the beginning of several ids, `ids`: at most 8 of them."""

    _public = '"{}" stands for several things. Say more.'
    ids: tuple[str, ...] = ()

    @classmethod
    def among(cls, which: str, ids: Iterable[str], remedy: str) -> Self:
        """Make the error whose line ends with what to do: ``"abcdef" is the beginning of 2 jobs; {remedy}.``"""
        found = sorted(ids)
        error = cls.about(f'"{which}"', f"is the beginning of {len(found):,} jobs; {remedy}", given=which)
        error.ids = tuple(found[:8])
        return error


class NoResult(NotFound):
    """A job has no result, and will have none: it keeps none, it has expired, or its value could not be kept."""

    _public = "There is no result."


class JobFailed(WorkkitError):
    """The job whose result was asked for has none, because it failed for good, was discarded or cancelled.

    `type` and `message` of its error, `traceback` as text (the handler's frames). `ending`: "failed", "discarded" or
    "cancelled"; `type` is then "Discard" or "JobCancelled".
    """

    _public = "This job has failed."
    type: str = "?"
    message: str = ""
    traceback: str = ""
    ending: str = "failed"


class ResultPending(WorkkitError):
    """The job whose result was asked for is not over yet."""

    _public = "There is no result yet."


class ResultTimeout(ResultPending, TimeoutError):
    """The job was not over when the time to wait for its result was."""


class ServerError(WorkkitError, ConnectionError):
    """The server cannot be used, or refuses.

    Where a layout adds several jobs, and not in one step: `added` are the places (from 0) of the jobs that are added
    all the same (None where a layout adds in one step), `refused` those of the jobs that are not, each with its reason.
    `unanswered`: it is not known whether the others are added.
    """

    _public = "This cannot be done now. Try again later."
    unanswered = False
    added: frozenset[int] | None = None
    refused: Mapping[int, ServerError] = {}


class ServerUnreachable(ServerError):
    """The server did not answer. Trying again may help."""

    unanswered = True


class ServerRefused(ServerError):
    """The server answered, and said no. `lasting`: waiting will not cure it (password, TLS, cluster slot)."""

    def __init__(self, message: str, *, lasting: bool = False, **parts: Any) -> None:
        super().__init__(message, **parts)
        self.lasting = lasting


class ServerFull(ServerRefused):
    """The server takes no writes for now: its memory is full, or it cannot save. Nothing was half-done."""


class CannotRun(WorkkitError):
    """This listener cannot run this function; another may."""


class NotAllowed(CannotRun):
    """The function lies outside what this listener was told it may run."""


class FunctionNotFound(CannotRun):
    """There is no such function where its name points."""


class CorruptRecord(WorkkitError):
    """A record on the server that cannot be read."""


class OtherDialect(CorruptRecord):
    """A record whose cron fields stand in the order of the other dialect: whole, and not for this program."""


class JobTimeout(WorkkitError):
    """A run took longer than its timeout. Raised inside the handler, which may clean up."""

    _public = "This took too long."

    def __init__(self, message: str = "this run took longer than its timeout") -> None:
        super().__init__(message)


class JobCancelled(WorkkitError):
    """The run was cancelled from outside. Raised inside the handler, which may clean up."""

    _public = "This was cancelled."

    def __init__(self, message: str = "this run was cancelled", *, given: object = None) -> None:
        super().__init__(message, given=given)


class WorkerLost(WorkkitError):
    """What carried a run ended in the middle of it: the worker process of a handler with `cpu=True`, or the event loop
    of coroutines.
    """


class Unsupported(WorkkitError):
    """This layout has no such thing."""


class EmbeddedError(WorkkitError):
    """The private server of a folder cannot be started or used."""


class ListenerStopped(WorkkitError):
    """The listener is stopping and takes no more work."""


class AddedAtImport(WorkkitError):
    """A module adds a job while a listener imports it. Nothing is added: each listener would add it again."""


class WorkkitWarning(UserWarning):
    """Something is probably not what was meant, but can be done as said."""


class Retry(Exception):
    """Raise in a handler: run this again, `after` a duration ("30s" or a timedelta).

    With a pause the job waits: that spends nothing of `retries`, its progress stays, and it is late from the time for
    which it asked. Without one it is another attempt.
    """

    def __init__(self, after: str | timedelta = "0s") -> None:
        super().__init__(after)
        self.after = after


class Discard(Exception):
    """Raise in a handler: this run is over and must not be retried nor kept as dead, for this `reason`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def type_name(error: BaseException) -> str:
    """Name the class of an error, whatever its metaclass makes of `__name__`."""
    name: str = type.__dict__["__name__"].__get__(type(error))
    return name[:MOST_TEXT]


def text_of(error: BaseException) -> str:
    """Put the text of an error into one line of at most 1,000 characters. Never raises, whatever its `__str__` does."""
    try:
        text = str.__getitem__(str(error), slice(10 * MOST_TEXT))  # an exact str, also of a subclass
    except BaseException as broken:  # SystemExit, RecursionError: it is code of somebody else
        return f"(its text cannot be had: {type_name(broken)})"
    return " ".join(text.split())[:MOST_TEXT]


def described(error: BaseException) -> str:
    """Describe an error in one line, ``OSError: disk full``. Never raises."""
    text = text_of(error)
    return f"{type_name(error)}: {text}" if text else type_name(error)


E = TypeVar("E", bound=WorkkitError)


def located(error: E, where: str, *, then: str = "") -> E:
    """Put a place before the sentence of an error, and what to know behind it; the fields stay. Returns the error."""
    error.args = (f"{where}: {error}{then}",)
    error.where = where if error.where is None else f"{where}: {error.where}"
    return error
