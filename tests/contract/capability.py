"""What a layout may be able to do, declared; and tests that are tied to it."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from typing import Any, TypeVar

import pytest

from workkit.errors import Unsupported

F = TypeVar("F", bound=Callable[..., None])
TESTED: dict[Can, set[tuple[str, str]]] = {}  # its tests: module and name


class Can(StrEnum):
    """What a layout may be able to do beside adding, claiming and settling one-shot jobs."""

    RECUR = "run a job at recurring times"
    KNOW = "know a job that was added before"
    PRETEND = "claim for a time that the caller pretends"
    WAKE = "wake a listener that sleeps"
    RETRY = "run an occurrence again after a delay, and count its attempts"
    OFFER_OTHERS = "offer a job that a listener cannot run to other listeners only"
    REAP = "hand the claims of a dead listener back, and fence it"
    REPEAT = "repeat a request whose reply was lost, without a second effect"
    KEEP_DEAD = "keep what failed for good in a dead set, retry and discard it"
    BY_TIME = "read the dead set from a place on, count what waits by its time"
    LIMITS = "tell which limits are in use"
    CANCEL = "cancel what waits, and flag what runs"
    PAUSE = "pause and resume a function and a schedule"
    PAUSE_ONE = "pause and resume one job"
    SKIP = "leave out the next run of a recurring job"
    RESCHEDULE = "give a job another time, and keep everything else"
    RUN = "run a job once now"
    UNDO = "put back exactly what a cancellation took away"
    QUIET = "have a listener take nothing new"
    INTERRUPT = "cancel one run, and keep its job"
    NAME = "replace a job of the same name"
    UNIQUE = "keep one job of a unique key"
    TAGS = "find and change jobs by their tags"
    GROUPS = "run a job when each job of a batch has ended"
    ONCE = "return the first job of a key that lasts, however it ended"
    LIMIT_SCHEDULE = "limit how many jobs of a schedule run at once"
    BATCH = "keep how far a batch of additions is, so that it can be resumed"
    LOOK = "list jobs in every state, find one, count them"
    LOOK_AT_DUE = "list what is due and what is dead, find such a job, count it"
    LOOK_AT_DELAYED = "list what waits for its time, and find such a job"
    LIST_LISTENERS = "list listeners and what they hold"
    REMEMBER = "keep past runs"
    TELL = "tell which functions its listeners know"
    KEEP_RESULT = "keep what a handler returned, for who asks"
    CHECK = "check a schedule, and name what is wrong"
    CANCEL_DELAYED = "cancel what waits for its time"
    PLAN = "keep which plans of code hold"
    QUEUES = "list its queues"


def promised(needs: Can, *, refused: bool = True) -> Callable[[F], F]:
    """Tie a test to a capability. For a layout without it, the test asserts that the layout refuses: it must raise
    Unsupported; or, where no call could be refused (`refused` False), that it fails. The test takes the fixture
    `stage`.
    """

    def tied(test: F) -> F:
        TESTED.setdefault(needs, set()).add((test.__module__, test.__name__))

        @wraps(test)
        def checked(*args: Any, **kwargs: Any) -> None:
            if needs in kwargs["stage"].layout.can:
                test(*args, **kwargs)
                return
            with pytest.raises(Unsupported if refused else AssertionError):
                test(*args, **kwargs)

        checked.needs = {**getattr(test, "needs", {}), needs: refused}  # type: ignore[attr-defined]
        return checked  # type: ignore[return-value]

    return tied
