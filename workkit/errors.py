"""Every error that workkit raises, and the two answers that a job may raise.

Imports no other module of workkit, so every module may import it.

    WorkkitError
    ├─ Invalid (ValueError)
    │  ├─ TriggerError               a datetime, zone or duration
    │  │  ├─ PhraseError             words
    │  │  └─ CronError               cron text
    │  ├─ InvalidSchedule            name, URL, dialect, shards
    │  ├─ InvalidFunction            fn
    │  ├─ InvalidArguments           args, kwargs
    │  └─ InvalidOptions             all other options
    ├─ NotFound (LookupError)
    │  ├─ Ambiguous                  the beginning of several ids
    │  └─ NoResult                   a job is over, or keeps no result
    ├─ JobFailed                     the awaited job failed, or was discarded or cancelled
    ├─ ResultPending                 the job is not over yet
    │  └─ ResultTimeout (TimeoutError)
    ├─ ServerError (ConnectionError)
    │  ├─ ServerUnreachable          no answer
    │  └─ ServerRefused              it answered with an error
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

MOST_TEXT = 1000  # the most characters of an error's text
MOST_PUBLIC = 80  # the most characters of an invalid value in a text for an end user
_INTERNAL = re.compile(
    r"workkit|--|[=`#]|(?<![\w/])[a-z]+_\w|[a-z]\.[a-z]|\b[0-9a-f]{6,40}\b|\b(args|kwargs|JSON|Python)\b", re.IGNORECASE
)
_ID = re.compile(r"[0-9a-f]{40}")


class WorkkitError(Exception):
    """The base class of all errors. ``str(e)`` is one line for people: the invalid value, the place, the remedy.

    Code that needs a part of that line reads a field. A field without a meaning is None:

    - `given`: the invalid text or value; `position`: the 0-based offset of the fault in it
    - `where`: the argument, row, file or server with the fault
    - `trouble`: the fault, in words that fit behind `where`
    - `remedy`: the advice, as a sentence
    - `accepted`: the values that are accepted in place of `given`; `suggestion`: the nearest accepted form

    `public` is a text for an end user of the program.
    """

    _public: ClassVar[str] = "This cannot be done."  # ``{}`` is replaced by the invalid value
    _tells: ClassVar[bool] = False  # whether `public` may include `trouble`: the invalid value is a text of an end user

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
        other job. An `Invalid` includes its `trouble` if that names none of these; else the sentence is general.
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
        """Make the error with the line ``{subject} {trouble}. {remedy}``. `where` is the subject, unless `fields` names
        it.
        """
        line = f"{subject} {trouble}." if remedy is None else f"{subject} {trouble}. {remedy}"
        return cls(line, **{"where": subject, "trouble": trouble, "remedy": remedy, **fields})


class Invalid(WorkkitError, ValueError):
    """An argument has an invalid value."""

    _public = '"{}" cannot be used here.'
    _tells = True


class TriggerError(Invalid):
    """A datetime, zone or duration is invalid."""

    _public = '"{}" is not understood.'


class PhraseError(TriggerError):
    """A text about time was not understood completely. `offered`: whole texts that the message suggests instead."""

    offered: tuple[str, ...] = ()


class CronError(TriggerError):
    """A cron string breaks the grammar, or never fires."""


class InvalidSchedule(Invalid):
    """The name, URL, dialect or number of shards of a schedule is invalid."""

    _public, _tells = WorkkitError._public, False


class InvalidFunction(Invalid):
    """A function that no listener could import."""

    _public, _tells = WorkkitError._public, False


class InvalidArguments(Invalid):
    """Arguments that cannot be sent, or that the function does not accept. `unfit`: whether a listener
    refused those of a run, without a call of its function.
    """

    unfit: bool = False


class InvalidOptions(Invalid):
    """An option of a verb is unknown, out of range, or contradicts another."""


class NotFound(WorkkitError, LookupError):
    """The job, name or file does not exist."""

    _public = '"{}" was not found.'


class ChangedMeanwhile(WorkkitError):
    """Somebody else changed or removed the target first. Nothing was changed."""

    _public = "Somebody else has changed this meanwhile. Nothing was changed."


class Ambiguous(NotFound):
    """A text is the beginning of several ids. `ids` holds at most 8 of them."""

    _public = '"{}" stands for several things. Say more.'
    ids: tuple[str, ...] = ()

    @classmethod
    def among(cls, which: str, ids: Iterable[str], remedy: str) -> Self:
        """Make the error with a line that ends with the remedy: ``"abcdef" is the beginning of 2 jobs; {remedy}.``"""
        found = sorted(ids)
        error = cls.about(f'"{which}"', f"is the beginning of {len(found):,} jobs; {remedy}", given=which)
        error.ids = tuple(found[:8])
        return error


class NoResult(NotFound):
    """A job has no result and never will: it keeps none, the result has expired, or its value could not be stored."""

    _public = "There is no result."


class JobFailed(WorkkitError):
    """The job has no result, because it failed for good, was discarded or was cancelled.

    `type` and `message` are those of its error; `traceback` is text (the handler's frames). `ending` is "failed",
    "discarded" or "cancelled"; for the last two, `type` is "Discard" or "JobCancelled".
    """

    _public = "This job has failed."
    type: str = "?"
    message: str = ""
    traceback: str = ""
    ending: str = "failed"


class ResultPending(WorkkitError):
    """The job is not over yet, so it has no result."""

    _public = "There is no result yet."


class ResultTimeout(ResultPending, TimeoutError):
    """The job was not over when the waiting time ended."""


class ServerError(WorkkitError, ConnectionError):
    """The server cannot be used, or refuses a request.

    Some layouts add several jobs in more than one step. Then `added` holds the places (from 0) of the jobs that were
    added nevertheless, and `refused` the places of those that were not, each with its reason. `added` is None where a
    layout adds in one step. `unanswered`: whether the others were added is unknown.
    """

    _public = "This cannot be done now. Try again later."
    unanswered = False
    added: frozenset[int] | None = None
    refused: Mapping[int, ServerError] = {}


class ServerUnreachable(ServerError):
    """The server did not answer. Another try may succeed."""

    unanswered = True


class ServerRefused(ServerError):
    """The server answered with an error. `lasting`: waiting will not help (password, TLS, cluster slot)."""

    def __init__(self, message: str, *, lasting: bool = False, **parts: Any) -> None:
        super().__init__(message, **parts)
        self.lasting = lasting


class ServerFull(ServerRefused):
    """The server accepts no writes for now: its memory is full, or it cannot save. No change was made in part."""


class CannotRun(WorkkitError):
    """This listener cannot run this function. Another listener may."""


class NotAllowed(CannotRun):
    """The function is not among those that this listener may run."""


class FunctionNotFound(CannotRun):
    """The name of a function leads to no function."""


class CorruptRecord(WorkkitError):
    """A record on the server is unreadable."""


class OtherDialect(CorruptRecord):
    """The cron fields of a record have the order of the other dialect. Only programs of that dialect read it."""


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
    """The carrier of a run ended during the run: the worker process of a handler with `cpu=True`, or the event loop of
    coroutines.
    """


class Unsupported(WorkkitError):
    """This layout does not support the request."""


class EmbeddedError(WorkkitError):
    """The private server of a folder cannot be started or used."""


class ListenerStopped(WorkkitError):
    """The listener is stopping and takes no more work."""


class AddedAtImport(WorkkitError):
    """A module adds a job while a listener imports it. Nothing is added, because each listener would add it again."""


class WorkkitWarning(UserWarning):
    """A call is probably a mistake, but can be carried out."""


class Retry(Exception):
    """Raise in a handler to run the job again, `after` a duration ("30s" or a timedelta).

    With a duration the job waits. This uses none of its `retries`, its progress stays, and its lateness counts from the
    requested time. Without a duration it is another attempt.
    """

    def __init__(self, after: str | timedelta = "0s") -> None:
        super().__init__(after)
        self.after = after


class Discard(Exception):
    """Raise in a handler to end the job for this `reason`, without a retry and without a place in the dead set."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def type_name(error: BaseException) -> str:
    """Return the name of an error's class, even if its metaclass overrides `__name__`."""
    name: str = type.__dict__["__name__"].__get__(type(error))
    return name[:MOST_TEXT]


def text_of(error: BaseException) -> str:
    """Return the text of an error as one line of at most 1,000 characters. Never raises, even if `__str__` does."""
    try:
        text = str.__getitem__(str(error), slice(10 * MOST_TEXT))  # an exact str, also of a subclass
    except BaseException as broken:  # SystemExit, RecursionError: `__str__` is foreign code
        return f"(its text cannot be had: {type_name(broken)})"
    return " ".join(text.split())[:MOST_TEXT]


def described(error: BaseException) -> str:
    """Describe an error in one line, ``OSError: disk full``. Never raises."""
    text = text_of(error)
    return f"{type_name(error)}: {text}" if text else type_name(error)


E = TypeVar("E", bound=WorkkitError)


def located(error: E, where: str, *, then: str = "") -> E:
    """Put a place before the sentence of an error, and `then` behind it. The fields stay. Returns the error."""
    error.args = (f"{where}: {error}{then}",)
    error.where = where if error.where is None else f"{where}: {error.where}"
    return error
