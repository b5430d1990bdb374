"""How a run ended: what becomes of its job, and its error as text, without the frames through which workkit called the
handler.
"""

from __future__ import annotations

import random
import sysconfig
import traceback
from pathlib import Path
from types import TracebackType

from workkit.errors import text_of, type_name
from workkit.jobs import arguments, middleware, structured, structured_values
from workkit.jobs.outcome import DONE, Dead, Failure, Outcome, decide, with_result
from workkit.worker.run.run import Run

TRACEBACK_BYTES = 8192
_WORKKIT = Path(__file__).parents[2]
_OWN = (
    str(_WORKKIT / "worker"),
    str(_WORKKIT / "django"),
    middleware.__file__,
    arguments.__file__,
    structured.__file__,
    structured_values.__file__,
)
_LIBRARIES = tuple({sysconfig.get_path(key) for key in ("stdlib", "platstdlib", "purelib", "platlib")})


def outcome_of(run: Run) -> Outcome:
    """Decide what becomes of the job of a run that has ended. Never raises."""
    if run.error is None:
        return DONE if run.kept is None else with_result(DONE, run.options, run.kept)
    claim = run.claim
    try:
        outcome = decide(
            run.error,
            run.failure,
            attempt=claim.attempt,
            waits=claim.attempt - claim.failures,
            options=run.options,
            cancelled=run.cancelled,
            chance=random.random(),
        )
    except BaseException as broken:  # the class of an error, or of a Retry's argument, is code of the handler
        outcome = Dead(failure=run.failure or failure_of(broken))
    return with_result(outcome, run.options)


def failure_of(error: BaseException) -> Failure:
    """Describe an exception, with the handler's frames only. Never raises, even if the class of the exception does."""
    try:
        where, text = _traced(error)
    except BaseException as broken:  # its class, its cause or its notes are code of the handler
        where, text = None, f"(no traceback: writing it raised {type_name(broken)})"
    return Failure(type=type_name(error), message=text_of(error), where=where, traceback=text)


def line_of(error: BaseException) -> str | None:
    """Name the innermost line outside of workkit and of libraries where an error was raised: ``jobs.py:12``."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        is_library = frame.filename.startswith((str(_WORKKIT), *_LIBRARIES))
        if not is_library and not {"site-packages", "dist-packages"} & {*Path(frame.filename).parts}:
            return f"{Path(frame.filename).name}:{frame.lineno}"
    return None


def _traced(error: BaseException) -> tuple[str | None, str]:
    """Where it was raised, and its traceback."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(_OWN)]
    own = [f for f in frames if not f.filename.startswith(_LIBRARIES)]
    at = (own or frames)[-1:]
    text = "".join(_without_our_frames(traceback.TracebackException(type(error), error, error.__traceback__)).format())
    where = f"{Path(at[0].filename).name}:{at[0].lineno}" if at else None
    return where, text if len(text) <= TRACEBACK_BYTES else "...\n" + text[-TRACEBACK_BYTES:]


def _without_our_frames(whole: traceback.TracebackException) -> traceback.TracebackException:
    """The same without the frames through which handlers and middleware were called, its causes included."""
    link: traceback.TracebackException | None = whole
    while link is not None:
        link.stack[:] = [frame for frame in link.stack if not frame.filename.startswith(_OWN)]
        link = link.__cause__ or link.__context__
    return whole


def without_ours(at: TracebackType | None) -> TracebackType | None:
    """Drop the outermost frames of a traceback, through which a handler was called."""
    while at is not None and at.tb_frame.f_code.co_filename.startswith(_OWN):
        at = at.tb_next
    return at
