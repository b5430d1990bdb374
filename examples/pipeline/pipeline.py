"""A nightly pipeline: each source is extracted by itself, then the night is loaded, then reported.

pip install '/path/to/workkit[embedded]' pytest
cd examples/pipeline; workkit sync pipeline plan.toml --embedded && workkit listen pipeline --embedded
cd examples/pipeline; python -m pytest            tests nights of it, with a clock that the tests move

workkit run pipeline nightly --embedded           the night now; with --args '["2026-11-05"]' that of another day
workkit dead pipeline --embedded                  what failed for good, with its error
workkit retry pipeline --all --embedded           tries that again; the rest of its night follows by itself
workkit batch show pipeline "night of 2026-11-05" --embedded      how far a night is

Every step may run again, after a crash or by hand: it writes the same rows. A night is a batch, which is made once.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zoneinfo import ZoneInfo

from workkit import call, current_job, schedule

HERE = Path(__file__).parent.resolve()
PARIS = ZoneInfo("Europe/Paris")
DATABASE = HERE / "pipeline.sqlite3"
SOURCES = ("orders", "stock", "visits")
s = schedule.create("pipeline", redis=f"embedded://{HERE}/.workkit", tz=PARIS.key, on_failure="pipeline:tell")


def nightly(day: str | None = None) -> None:
    """Begin the night of a day, or complete it: a source that its batch has already is not added again."""
    day = day or f"{current_job().due.astimezone(PARIS):%Y-%m-%d}"  # however late this run is
    with schedule.batch(s, f"night of {day}", on_success=call(load, day)) as night:
        for source in SOURCES:
            night.add(extract, args=[day, source], name=f"extract/{day}/{source}", done_by="7am")


@s.job(retries=4, base="1m", cap="15m", timeout="10m", retry_on=(OSError,))  # after 1, 2, 4, 8 minutes, or a bit less
def extract(day: str, source: str) -> None:
    rows = fetch(source, day)
    with database() as db:
        db.execute("INSERT OR REPLACE INTO extracted VALUES (?, ?, ?)", (day, source, rows))


@s.job(retries=4, base="1m", timeout="10m")
def load(day: str) -> None:
    """Load a night: its batch adds this when each source is extracted, also if one of them had to be repaired."""
    with database() as db:
        db.execute("INSERT OR REPLACE INTO nights SELECT day, sum(rows) FROM extracted WHERE day = ?", (day,))
    s.bind(report).now(name=f"report/{day}", done_by="7am").send(day)


@s.job(retries=4, base="1m")
def report(day: str) -> None:
    with database() as db:
        (rows,) = db.execute("SELECT rows FROM nights WHERE day = ?", (day,)).fetchone()
    print(f"night of {day}: {rows} rows", flush=True)  # yours sends a mail


def tell(id: str, error: str) -> None:
    """Say which step failed for good, as soon as it did."""
    print(f"{schedule.job(s, id).name}: {error}. Repair it, then: workkit retry pipeline {id[:8]}", flush=True)


def fetch(source: str, day: str) -> int:
    """Pretend to ask a source for its rows of a day."""
    return len(source)


@contextmanager
def database() -> Iterator[sqlite3.Connection]:
    db = sqlite3.connect(DATABASE, timeout=30)
    try:
        with db:  # one transaction
            db.execute("CREATE TABLE IF NOT EXISTS extracted (day, source, rows, PRIMARY KEY (day, source))")
            db.execute("CREATE TABLE IF NOT EXISTS nights (day PRIMARY KEY, rows)")
            yield db
    finally:
        db.close()
