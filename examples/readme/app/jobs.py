"""Jobs of README.md with a plan: `workkit listen app-tasks --import app.jobs --sync`."""

from app import s
from workkit import Retry, current_job


@s.job(retries=5, timeout="2m", limit=2, rate="100/minute")
def export(day: str) -> None:
    if not day:
        raise Retry(after="30s")
    print(f"exported {day} in run {current_job().id}", flush=True)


@s.every("weekday at 9am", name="summary", tz="Europe/Paris")
def summary() -> None:
    print("summary sent", flush=True)
