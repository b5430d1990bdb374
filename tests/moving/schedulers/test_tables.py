"""Schedules of Celery, triggers of APScheduler, cron strings of rq-scheduler: what a plan says of each, and its next
times, beside those of the real package.
"""

from __future__ import annotations

from tests.moving.schedulers import readers
from tests.moving.schedulers.tables import Line, answer_of, check_times, lines_of, shown
from tests.optional import needed
from tests.rows import every_row
from workkit.moving.found import NotCarried

needed("celery")
needed("apscheduler")
needed("crontab")

TABLES = {
    "celery": (readers.of_celery, readers.engine_of_celery, "Celery"),
    "apscheduler": (readers.of_apscheduler, readers.engine_of_apscheduler, "APScheduler"),
    "rq-scheduler": (readers.of_rq, readers.engine_of_rq, "rqscheduler"),
}
LINES = {table: [(table, line) for line in lines_of(table)] for table in TABLES}


def check(table: str, line: Line) -> None:
    read, engine, name = TABLES[table]
    answer = answer_of(read, line)
    assert shown(answer, line.zone) == line.expected
    if not isinstance(answer, NotCarried):
        check_times(answer, engine(line), zone=line.zone, name=name)


test_a_time_of_celery_is_carried_exactly_or_refused = every_row("table,line", LINES["celery"])(check)
test_a_time_of_apscheduler_is_carried_exactly_or_refused = every_row("table,line", LINES["apscheduler"])(check)
test_a_time_of_rq_scheduler_is_carried_exactly_or_refused = every_row("table,line", LINES["rq-scheduler"])(check)


def test_two_hundred_schedules_and_triggers_are_in_the_tables_and_most_are_carried() -> None:
    for table in ("celery", "apscheduler"):
        lines = lines_of(table)
        carried = [line for line in lines if not line.expected.startswith("refused")]
        assert len(lines) >= 200
        assert len(carried) >= 150
