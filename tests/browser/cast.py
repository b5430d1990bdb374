"""What the listener of the scene runs, under names as a shop might have them."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from workkit import current_job, job

DONE = "app.jobs:run"
SYNC = "app.invoices:sync"
FULL = "app.images:store"
WORDY = "app.mail:parse"
LONG = "app.export:rows"
ALONE = "app.stock:count"
DEAF = "app.backup:dump"
FOLLOW = "app.feed:follow"
MANY = "app.orders:place"

WAIT = threading.Event()  # nobody sets it: what waits for it runs until it is cancelled, or its listener ends


@job("app.jobs/run")
def done(*_: Any, **__: Any) -> None:
    """Do nothing, well."""


@job("app.invoices/sync")
def sync(*_: Any) -> None:
    raise ConnectionError("api.example.com: 503")


@job("app.images/store")
def full(disk: int) -> None:
    raise OSError(28, "No space left on device", f"/var/spool/{disk}")


@job("app.files/load")
def load(path: str) -> None:
    """Fail until somebody puts the file there."""
    if not Path(path).exists():
        raise LookupError("the file has not come")


@job("app.mail/parse")
def wordy() -> None:
    raise ValueError("<script>document.title='owned'</script> password=hunter2 \u202e" + "x" * 100_000)


@job("app.export/rows")
def long(rows: int, **_: Any) -> None:
    """Run on, and say how far it is."""
    current_job().checkin(f"340 of {rows:,}")
    WAIT.wait()


@job("app.stock/count", limit=1)
def alone(shop: str) -> None:
    """Run one at a time."""
    WAIT.wait()


@job("app.backup/dump")
def deaf() -> None:
    """Hear of no cancellation."""
    WAIT.wait()


@job("app.orders/place")
def many(
    customer: str,
    product: str,
    quantity: int,
    price: float,
    currency: str = "EUR",
    country: str = "FR",
    street: str = "",
    postcode: str = "",
    is_gift: bool = False,
) -> None:
    """Do nothing with many arguments."""


@job("app.feed/follow")
def follow() -> None:
    """Run on, and hear of a cancellation."""
    while not WAIT.wait(0.05):
        pass


@job("app.shelf/refuse")
def refuse(error: str) -> None:
    """Fail of the error that it is given."""
    raise RuntimeError(error)
