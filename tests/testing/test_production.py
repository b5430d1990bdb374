"""What is not of `workkit.testing` knows nothing of a test clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.servers import Server
from tests.testing import jobs
from workkit import schedule
from workkit.brokers.rehearsal import KEY


def test_a_test_clock_on_a_server_moves_nothing_that_is_not_of_a_test(server: Server, name: str) -> None:
    jobs.calls.clear()
    server.client().set(KEY, 1_774_598_400_000)
    before = datetime.now(UTC)
    s = schedule.create(name, redis=server.url)
    due = schedule.add_now(s, jobs.tell_start).due
    assert due is not None
    assert schedule.drain(s, imports=["tests.testing"], folder=None).ran == 1
    ((started, _),) = jobs.calls
    assert before - timedelta(minutes=1) < due <= started < datetime.now(UTC) + timedelta(minutes=1)
    (run,) = schedule.runs(s)
    assert abs(run.ended - started) < timedelta(minutes=1)
