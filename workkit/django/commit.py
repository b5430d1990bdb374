"""Additions that wait for the commit of the transaction in which they are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

from workkit import wire
from workkit.jobs.importing import refuse_addition
from workkit.jobs.names import Fn
from workkit.triggers.when import KEYWORDS as TIMES
from workkit.verbs.addition import addition, sent
from workkit.verbs.creation import Schedule, check_schedule
from workkit.verbs.opening import producer_of


def add_on_commit(s: Schedule, fn: Fn | None = None, *, using: str | None = None, **given: Any) -> None:
    """Add a job when the present transaction is committed; if it is rolled back, nothing is added. Outside of a
    transaction it is added at once.

    `given`: the keywords of `schedule.add`; without a time the job runs at once, as with `add_now`. `using`: the
    database whose transaction it is; None: the default one. Words are read, and all of the job is checked, by this
    call: it raises an `Invalid`. ServerUnreachable or ServerRefused may come from the commit, after which the data is
    stored and the job is not.
    """
    refuse_addition("add_on_commit")
    add_later(s, {"fn": fn, **given}, using=using)


def add_later(
    s: Schedule,
    given: Mapping[str, Any],
    *,
    using: str | None = None,
    at_once: bool = False,
    then: Callable[[], object] | None = None,
) -> None:
    """Add a job by the keywords of `add` when the transaction is committed, and call `then`. See `add_on_commit`.
    `at_once`: whatever becomes of the transaction.
    """
    check_schedule(s)
    verb = "add" if any(given.get(name) is not None for name in TIMES) else "add_now"
    new = addition(given, s=s, now_ms=lambda: producer_of(s).now_ms(), verb=verb)
    wire.payload(cron="", job=new.fn, args=new.args, extra={"kwargs": new.kwargs or {}})  # what JSON cannot carry

    def send() -> None:
        sent(s, new)
        if then is not None:
            then()

    connection = connections[using or DEFAULT_DB_ALIAS]
    by_hand = connection.connection is not None and not connection.autocommit  # then Django refuses to wait
    if at_once or not (connection.in_atomic_block or by_hand):
        send()
    else:
        connection.on_commit(send)
