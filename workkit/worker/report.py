"""Reports of a listener about claims and runs: events and their sentences, spans, and pings.

Pings report each start, success and failure of a named job to a monitor outside, which notices when none comes. One
separate thread makes the requests, one after another, so that they arrive in order and no job waits for them.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, Full, Queue
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from workkit import events, tracing
from workkit.contract.listener import Claim, PastDeadline
from workkit.errors import WorkkitError, described, text_of
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.jobs.outcome import Again, Dead, Done, Failure, Outcome, Released
from workkit.text.wording import duration_text
from workkit.worker.lane import LaneRun
from workkit.worker.run.run import Run

LATE_MS = 1000  # a run that starts later than this has a separate event


def may_run(imports: Sequence[str], folder: Path | None) -> str:
    """Return the functions that this listener may run, as a phrase."""
    places = []
    if folder is not None:
        places.append("under ./" if folder.resolve() == Path.cwd() else f"under {folder}")
    if imports:
        places.append("in " + ", ".join(imports))
    elif places == ["under ./"]:
        places = ["under ./ (this folder)"]  # no sentence ends in "./."
    return f"functions {' and '.join(places)}" if places else "only functions marked with @job"


def started(run: Run) -> None:
    """Emit that a run begins."""
    job = run.claim.job
    events.emit("started", job.schedule, job=job, late_ms=run.late_ms)


def late(run: Run) -> None:
    """Emit that a run begins late, at its first attempt only: a further one is late on purpose."""
    if events.wanted("late"):
        job = run.claim.job
        events.emit("late", job.schedule, job=job, late_ms=run.late_ms)
    else:  # a log has its line of this second, and counts the others of a backlog
        events.count("late", 1, run.late_ms)


def span(run: LaneRun) -> tracing.RunSpan | None:
    """Begin the span of a run in this thread; None if tracing is off. Never raises."""
    claim, broker = run.claim, run.lane.broker
    try:
        (origin,) = broker.traces_of([claim])
    except WorkkitError:  # without its server the run has a span, and no link
        origin = None
    more: dict[str, Any] = {
        "workkit.job.name": claim.terms.name,
        "workkit.job.attempt": claim.attempt + 1,
        "workkit.job.lateness_ms": run.late_ms,
        **tracing.meta_attributes(claim.meta),
    }
    return tracing.running(broker.schedule, origin=origin, id=claim.id, fn=shown(claim.fn), more=more)


def ended(run: Run, outcome: Outcome) -> None:
    """Emit that a run ended with this outcome."""
    job, took = run.claim.job, round(run.took_ms)
    failures = run.claim.failures
    attempts = (run.options.retries or failures) + 1
    tries = {"attempt": failures + 1, "attempts": attempts, "exception": run.error}
    match outcome:
        case Done(discarded=None):
            events.emit("done", job.schedule, job=job, took_ms=took, late_ms=run.late_ms)
        case Done(discarded=reason):
            events.emit("discarded", job.schedule, job=job, reason=reason)
        case Again(delay_ms=delay, failure=None):
            events.emit("retrying", job.schedule, job=job, again_ms=delay)
        case Again(delay_ms=delay, failure=failure) if failure is not None:
            events.emit("failed", job.schedule, job=job, took_ms=took, again_ms=delay, **_fields(failure), **tries)
        case Dead(failure=failure) if run.options.retries:
            events.emit("dead", job.schedule, job=job, **_fields(failure), **tries)
        case Dead(failure=failure):
            events.emit("failed", job.schedule, job=job, took_ms=took, again_ms=None, **_fields(failure), **tries)
        case Released():
            events.emit("given_back", job.schedule, job=job)


def dead(claim: Claim, failure: Failure) -> None:
    """Emit that a job is dead without a further run."""
    attempt = claim.job.attempt + 1
    tries = {"attempt": attempt, "attempts": attempt, "exception": None}
    events.emit("dead", claim.job.schedule, job=claim.job, **_fields(failure), **tries)


def trouble(claim: Claim) -> None:
    """Emit why a claim must not run: it is unreadable, missing or cancelled."""
    job = claim.job
    if claim.trouble == "cancelled":
        events.emit("cancelled", job.schedule, job=job)
    elif claim.trouble == "missing":
        events.emit("missing", job.schedule, job_id=job.id)
    else:
        events.emit("corrupt", job.schedule, job_id=job.id, reason=claim.reason)


def missed(claim: Claim, reason: str) -> None:
    """Emit that an occurrence ended without a run: it was too late, or another run of its job was active."""
    events.emit("missed", claim.job.schedule, job=claim.job, reason=reason)


def past_deadline(late: PastDeadline) -> None:
    """Emit that a job is past its deadline, or cannot meet it."""
    events.emit("past_deadline", late.job.schedule, job=late.job, deadline=late.deadline, is_past=late.is_past)


def expired(claim: Claim, late_ms: int) -> None:
    """Emit that a job ended without a run: it did not start in time."""
    events.emit("expired", claim.job.schedule, job=claim.job, late_ms=late_ms)


def cannot_run(claim: Claim, error: BaseException, *, unfit_ms: int = 0) -> None:
    """Emit that this listener cannot run a function, and leaves it for others. A stray job goes to the dead set.
    `unfit_ms`: the arguments of the job do not fit, and this listener leaves it for this time.
    """
    trouble = error.trouble if isinstance(error, WorkkitError) and not (claim.stray or unfit_ms) else None
    left = f"Left for other listeners for {duration_text(unfit_ms)}, then dead." if unfit_ms else None
    reason = f"{text_of(error)} {left or ('It goes to the dead set.' if claim.stray else 'Left for other listeners.')}"
    events.emit("cannot_run", claim.job.schedule, job=claim.job, reason=reason, trouble=trouble)


def fenced(claim: Claim, ago_ms: int | None) -> None:
    """Emit that this listener no longer has the claim of a job that it ran or held. `ago_ms`: the time that this
    listener was away, between the last two answers of its server. None: not long, so the server has lost the claim.
    """
    events.emit("fenced", claim.job.schedule, job=claim.job, ago_ms=ago_ms)


def _fields(failure: Failure) -> dict[str, str | None]:
    return {
        "error_type": failure.type,
        "error": failure.message,
        "where": failure.where,
        "traceback": failure.traceback,
    }


MOST = 1000  # pings that wait; further ones are dropped, with an event
TIMEOUT = 5.0  # seconds that a monitor may take to answer
FAREWELL = 3.0  # seconds for the last pings of a listener that stops
_SECOND_TRIES = 1  # of pings about the end of a run

Kind = Literal["start", "success", "fail", "late"]


def ping_url(ping: str, kind: Kind) -> str:
    """Write the URL of a ping: that of the job, with one more path step for start and fail. Late is a failure with
    `late` in the query, because monitors know no other word for it.
    """
    parts = urlsplit(ping)
    step = {"success": "", "late": "/fail"}.get(kind, f"/{kind}")
    query = f"{parts.query}&late".lstrip("&") if kind == "late" else parts.query
    path = f"{parts.path.rstrip('/')}{step}" if step else parts.path
    return urlunsplit(parts._replace(path=path, query=query, fragment=""))


class Pings:
    """The pings of one listener. Its thread starts with the first one. Thread-safe."""

    def __init__(self) -> None:
        self._waiting: Queue[tuple[Claim | Job, Kind] | None] = Queue(MOST)
        self._thread: threading.Thread | None = None
        self._making = threading.Lock()
        self._over = False

    def put(self, claim: Claim | Job, kind: Kind) -> None:
        """Send a ping soon, if the job has a URL for it. Never waits."""
        if claim.terms.ping is None or self._over:
            return
        try:
            self._waiting.put_nowait((claim, kind))
        except Full:
            _report(claim, f"{kind}: {MOST:,} pings wait already")
            return
        with self._making:
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="workkit-pings", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Send the waiting pings, for at most `FAREWELL` seconds; drop the rest."""
        self._over = True
        if self._thread is not None:
            with suppress(Full):
                self._waiting.put_nowait(None)
            self._thread.join(FAREWELL)
            with suppress(Empty):
                while True:
                    self._waiting.get_nowait()
            with suppress(Full):
                self._waiting.put_nowait(None)

    def _serve(self) -> None:
        while (ping := self._waiting.get()) is not None:
            claim, kind = ping
            for tries_left in reversed(range(1 if kind == "start" else 1 + _SECOND_TRIES)):
                try:
                    _send(ping_url(claim.terms.ping or "", kind))
                    break
                except Exception as error:  # http.client raises errors of many classes
                    if not tries_left:
                        _report(claim, f"{kind}: {described(error)}")


def _send(url: str) -> None:
    """Make one request. Raises an error unless the answer is a success. A redirection is no success, since it may lead
    anywhere.
    """
    from urllib.request import HTTPRedirectHandler, Request, build_opener  # most listeners send no pings

    class Refused(HTTPRedirectHandler):
        def redirect_request(self, *_: object) -> None:
            return None

    request = Request(url, headers={"User-Agent": "workkit"})
    with build_opener(Refused).open(request, timeout=TIMEOUT):
        pass


def _report(claim: Claim | Job, reason: str) -> None:
    job = claim if isinstance(claim, Job) else claim.job
    events.emit("no_ping", job.schedule, job=job, reason=reason)
