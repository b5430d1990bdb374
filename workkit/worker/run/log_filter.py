"""The job of a run, as attributes of the log records that its handler writes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from workkit.jobs.names import shown
from workkit.worker.run.current import current

if TYPE_CHECKING:
    from workkit.jobs.job import Job
    from workkit.worker.run.running_job import RunningJob

NAMES = ("job_id", "job_name", "job_fn", "job_schedule", "job_attempt", "job_meta")


class JobLogFilter(logging.Filter):
    """Give each log record the attributes `job_id`, `job_name`, `job_fn`, `job_schedule`, `job_attempt` (from 1) and
    `job_meta` (a dict, where the job has metadata).

    Add it to a handler of `logging`, and name the attributes in its format: ``%(job_id)s %(message)s``. A record that
    is written outside a run gets `missing` in each of them. The records of the logger `workkit` that concern a job have
    these attributes already, with or without the filter. It refuses no record.
    """

    def __init__(self, *, missing: Any = "-") -> None:
        super().__init__()
        self.missing = missing

    def filter(self, record: logging.LogRecord) -> bool:
        """Set the attributes that the record does not have. Returns True."""
        known: Mapping[str, Any] = {}
        if (run := current.get()) is not None:
            with suppress(Exception):  # a log line must not fail for want of its job
                known = job_fields(run.running_job())
        for name in NAMES:
            if name not in record.__dict__:
                value = known.get(name)
                setattr(record, name, self.missing if value is None else value)
        return True


def job_fields(job: Job | RunningJob) -> dict[str, Any]:
    """Return the attributes of a job's records, without those that it does not have."""
    fields = {
        "job_id": job.id,
        "job_name": job.name,
        "job_fn": None if job.fn is None else shown(job.fn),
        "job_schedule": job.schedule,
        "job_attempt": job.attempt + 1,
        "job_meta": job.meta or None,
    }
    return {name: value for name, value in fields.items() if value is not None}
