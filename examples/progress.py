"""A long job says how far it is; the program that added it watches, and cancels it.

python examples/progress.py
"""

import time
from pathlib import Path

from workkit import current_job, schedule
from workkit.errors import JobCancelled

s = schedule.create("progress", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")


@s.job
def import_rows(count: int) -> None:
    """Pretend to import rows, and tidy up where it is cancelled half way."""
    try:
        for n in range(count):
            time.sleep(0.001)
            current_job().progress(n, count)
    except JobCancelled:
        print("cancelled, and tidied up", flush=True)
        raise


if __name__ == "__main__":
    with schedule.listener(s, folder=Path(__file__).parent):
        job = import_rows.send(1_000_000)
        while (progress := job.refresh().progress) is None:
            time.sleep(0.05)
        print("it is at", *progress, flush=True)
        job.cancel()
        while any(schedule.jobs(s)):
            time.sleep(0.05)
