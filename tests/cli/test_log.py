from __future__ import annotations

import io
import json
import re
import time

import pytest

from tests.processes import until
from workkit.cli.log import A_SECOND, AT_ONCE, Log
from workkit.events import Event
from workkit.jobs.job import Job

JOB = Job(id="0" * 40, schedule="t", fn="#'app/f")
START = 1_800_000_000.0


def log(**how: bool) -> tuple[Log, io.StringIO]:
    made = Log(**how)
    stream = made.stream = io.StringIO()
    return made, stream


def send(log: Log, *names: str, at: float = START, late_ms: int = 1) -> None:
    for name in names:
        log(Event(name=name, schedule="t", fields={"job": JOB, "late_ms": late_ms, "took_ms": 1}, time=at))


def words(stream: io.StringIO) -> list[str]:
    return [line.split()[1] for line in stream.getvalue().splitlines()]


def summary(stream: io.StringIO) -> str | None:
    found = re.search(r"ran .*", stream.getvalue())
    return found and found[0]


def test_few_lines_go_out_at_once() -> None:
    made, stream = log()
    send(made, *["done"] * AT_ONCE)
    assert words(stream) == ["done"] * AT_ONCE


def test_twenty_lines_a_second_are_all_printed() -> None:
    made, stream = log()
    send(made, *["done"] * A_SECOND)
    made.close()
    assert words(stream) == ["done"] * A_SECOND


def test_what_is_over_is_counted_into_one_line() -> None:
    made, stream = log()
    send(made, *["done"] * 12_360, late_ms=3)
    made.close()
    assert words(stream) == [*["done"] * A_SECOND, "summary"]
    assert summary(stream) == "ran 12,340 in 1 s, failed 0, latest start 3 ms after due"


def test_failures_come_before_successes() -> None:
    made, stream = log()
    send(made, *["done"] * 500, *["failed"] * 5, *["done"] * 500)
    made.close()
    assert words(stream).count("failed") == 5
    assert len(words(stream)) == A_SECOND + 1
    assert summary(stream) == "ran 985 in 1 s, failed 0, latest start 1 ms after due"


def test_failures_over_twenty_are_counted_as_failures() -> None:
    made, stream = log()
    send(made, *["failed"] * 50)
    made.close()
    assert summary(stream) == "ran 30 in 1 s, failed 30, latest start 1 ms after due"


def test_a_new_second_begins_anew() -> None:
    made, stream = log()
    send(made, *["done"] * 30)
    send(made, *["done"] * 5, at=START + 1.0)
    made.close()
    assert words(stream) == [*["done"] * A_SECOND, "summary", *["done"] * 5]


def test_the_second_ends_by_itself() -> None:
    made, stream = log()
    send(made, *["done"] * 30)
    window = made._window
    assert window is not None
    made._close_window(window)
    assert words(stream) == [*["done"] * A_SECOND, "summary"]
    made.close()
    assert len(words(stream)) == A_SECOND + 1


def test_other_lines_are_never_held() -> None:
    made, stream = log()
    send(made, *["done"] * 100)
    made(Event(name="stopped", fields={"ran": 100}, time=START))
    assert words(stream)[-2:] == ["summary", "stopped"]


def test_verbose_prints_every_job() -> None:
    made, stream = log(verbose=True)
    send(made, *["started", "done"] * 50)
    assert words(stream) == ["started", "done"] * 50


def test_started_is_for_verbose_and_done_not_for_quiet() -> None:
    made, stream = log()
    send(made, "started", "done")
    assert words(stream) == ["done"]
    made, stream = log(quiet=True)
    send(made, "started", "done", "failed", "dead", "late")
    assert words(stream) == ["failed", "dead", "late"]


def test_json_has_the_summary_too() -> None:
    made, stream = log(json=True)
    send(made, *["done"] * 25)
    made.close()
    last = json.loads(stream.getvalue().splitlines()[-1])
    expected = {"event": "summary", "ran": 5, "failed": 0, "latest_late_ms": 1, "window_ms": 1000}
    assert expected.items() <= last.items()


def test_a_reader_that_leaves_does_not_hurt(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        def write(self, _text: str, /) -> int:
            raise BrokenPipeError

    made, _ = log()
    made.stream = Closed()
    send(made, "done", "done")
    assert made.stream is None


def test_a_backlog_of_late_jobs_is_one_line_a_second() -> None:
    made, stream = log()
    for second in range(3):
        for n in range(400):
            send(made, "late", "done", at=START + second + n / 1000, late_ms=60_000 + n)
    made.close()
    late = [line for line in stream.getvalue().splitlines() if line.split()[1] == "late"]
    assert [re.sub(r".*late +", "", line) for line in late] == [
        "00000000  app.f()  started 1 min after due",
        "399 more jobs started late, up to 1 min after due",
        "400 more jobs started late, up to 1 min after due",
        "400 more jobs started late, up to 1 min after due",
    ]
    assert words(stream).count("done") == 3 * A_SECOND, "late jobs take no line from others"


def test_the_count_of_late_jobs_comes_by_itself() -> None:
    made, stream = log(json=True)
    send(made, *["late"] * 3, at=time.time(), late_ms=5000)
    until(lambda: len(stream.getvalue().splitlines()) == 2)
    said = json.loads(stream.getvalue().splitlines()[1])
    assert {"event": "late", "jobs": 2, "late_ms": 5000, "level": "warning"}.items() <= said.items()


def test_a_job_that_is_late_now_and_then_has_a_line_of_its_own() -> None:
    made, stream = log()
    for second in range(3):
        send(made, "late", at=START + second, late_ms=2000)
    assert words(stream) == ["late"] * 3
    assert stream.getvalue().count("app.f()") == 3


def test_late_events_that_get_no_line_are_counted() -> None:
    made, stream = log()
    send(made, "late", at=time.time(), late_ms=2000)
    assert not made.wants("late")
    made.count("late", 7, 3000)
    made.close()
    assert "7 more jobs started late, up to 3 s after due" in stream.getvalue()


@pytest.mark.parametrize("name", ["lost", "quiet", "crashed", "stopping"])
def test_lines_are_in_the_order_in_which_it_happened(name: str) -> None:
    made, stream = log()
    send(made, *["done"] * 15, "late", "failed")
    made(Event(name=name, schedule="t", fields={"url": "redis://h", "reason": "cut", "listener": "h:1:a"}, time=START))
    assert words(stream)[-2:] == ["failed", name]
    send(made, *["done"] * 100)
    made.close()
    assert len([word for word in words(stream) if word != name]) == A_SECOND + 2, "the second has no more lines for it"
    times = [line.split()[0] for line in stream.getvalue().splitlines() if "summary" not in line]
    assert times == sorted(times)
