"""Pause a job, a function or a whole schedule; what waited goes on afterwards.

python examples/pausing.py
"""

import time
from pathlib import Path

from workkit import schedule

s = schedule.create("pausing", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")
ran: list[str] = []


@s.job
def mail(to: str) -> None:
    """Pretend to send a mail."""
    ran.append(f"mail to {to}")


@s.job
def clean() -> None:
    """Pretend to clean up."""
    ran.append("cleaned")


def wait_for(text: str) -> None:
    """Wait until it has run."""
    while text not in ran:
        time.sleep(0.05)
    print(text, flush=True)


if __name__ == "__main__":
    schedule.pause(s, fn=mail, reason="the mail server moves", until="in 1 hour")
    mail.send("tracy@domain.com")
    clean.every("second", name="clean").send()
    with schedule.listener(s, folder=Path(__file__).parent):
        wait_for("cleaned")
        schedule.pause(s, "clean")
        held = [job for job in schedule.jobs(s, state="paused") if job.name is None]
        print(*(job.why for job in held), flush=True)
        schedule.resume(s, fn=mail)
        wait_for("mail to tracy@domain.com")
    schedule.cancel(s, "clean")
