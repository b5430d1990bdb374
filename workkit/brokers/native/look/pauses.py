"""Read the pauses of a native schedule."""

from __future__ import annotations

from dataclasses import replace

from workkit.brokers.native.control_key import read_control
from workkit.brokers.native.keys import Keys
from workkit.brokers.redis_server.server import Server
from workkit.jobs.admission import Control, Pause
from workkit.jobs.job import Job

JOB = "job:"


def standing_control(server: Server, keys: Keys) -> Control:
    """Read the pauses whose time has not passed, and the schedule's own limits."""
    with server.translated() as client:
        pipe = client.pipeline(transaction=False)
        pipe.time()
        pipe.hgetall(keys.control)
        (seconds, micros), fields = pipe.execute()
    now = int(seconds) * 1000 + int(micros) // 1000
    _, control = read_control([part for pair in fields.items() for part in pair])
    standing = {t: p for t, p in control.paused.items() if p.until_ms is None or p.until_ms > now}
    return replace(control, paused=standing)


def pause_of(job: Job, control: Control) -> Pause | None:
    """Find the pause under which a job waits."""
    targets = ("schedule", f"{JOB}{job.terms.name or job.id}", f"fn:{job.fn}")
    return next((control.paused[target] for target in targets if target in control.paused), None)
