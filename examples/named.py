"""Named jobs, made equal to a plan that stands in a file; one is changed, left out once, and run by its name.

python examples/named.py
"""

import tomllib
from pathlib import Path

from workkit import schedule

s = schedule.create("named", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")


@s.job
def digest() -> None:
    """Pretend to write a digest."""
    print("digest written", flush=True)


def sweep(folder: str) -> None:
    """Pretend to delete old files."""
    print(f"{folder} swept", flush=True)


if __name__ == "__main__":
    plan = tomllib.loads(Path(__file__).with_name("plan.toml").read_text())
    print(f"first: {schedule.sync(s, plan)}")
    changed = digest.every("weekday at 8am", tz="Europe/Paris", name="digest").send()
    print(f"by hand: {changed.name} replaced {changed.replaced and 'the one of the plan'}")
    print(f"again: {schedule.sync(s, plan, prune=True)}", flush=True)
    schedule.skip(s, "digest")
    schedule.run(s, "sweep")
    schedule.drain(s, folder=Path(__file__).parent)
    print(*sorted(job.name or "?" for job in schedule.jobs(s)))
