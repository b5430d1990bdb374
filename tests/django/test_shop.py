"""The example of a Django project, as it stands: four listener processes, one run per due time, nothing of a
transaction that was rolled back.
"""

from __future__ import annotations

import shutil
import signal
import sqlite3
import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.processes import Process, Processes, until
from tests.servers import Server
from workkit import schedule

SHOP = Path(__file__).parents[2] / "examples" / "django_shop"


class Shop:
    """A copy of the project."""

    def __init__(self, folder: Path, processes: Processes, url: str) -> None:
        self.folder, self._processes = folder, processes
        self._env = {"SHOP_REDIS": url, "DJANGO_SETTINGS_MODULE": "project.settings"}

    def manage(self, *words: str) -> Process:
        return self._processes.run(sys.executable, "manage.py", *words, cwd=self.folder, env=self._env)

    def rows(self, query: str) -> list[Any]:
        with closing(sqlite3.connect(self.folder / "shop.sqlite3", timeout=30)) as database:
            return database.execute(query).fetchall()


@pytest.fixture
def shop(processes: Processes, server: Server, tmp_path: Path) -> Shop:
    left_out = shutil.ignore_patterns(".workkit", "*.sqlite3", "__pycache__")
    return Shop(Path(shutil.copytree(SHOP, tmp_path / "shop", ignore=left_out)), processes, server.url)


def test_four_listener_processes_run_a_shop(shop: Shop, server: Server) -> None:
    assert shop.manage("migrate", "--verbosity=0").wait(timeout=60) == 0
    assert shop.manage("makemigrations", "--check", "--dry-run").wait(timeout=60) == 0
    listeners = [shop.manage("workkit", "listen", "--sync", "--processes", "2") for _ in range(2)]
    s = schedule.create("shop", redis=server.url)
    until(lambda: len(schedule.listeners(s)) == 4, timeout=60, what="four listeners")
    orders = [shop.manage("order", "ada"), shop.manage("order", "bob", "--sold-out"), shop.manage("order", "eve")]
    assert [order.wait(timeout=60) for order in orders] == [0, 0, 0]
    assert [order.out[-1].partition(" order ")[0] for order in orders] == [
        "SUCCESSFUL: receipt of",
        "sold out: nothing was stored, and no job was added",
        "SUCCESSFUL: receipt of",
    ]
    stored = "SELECT customer, receipts, reminders FROM shop_order ORDER BY customer"
    until(lambda: shop.rows(stored) == [("ada", 1, 1), ("eve", 1, 1)], timeout=60, what="all runs of two orders")
    until(lambda: len(shop.rows("SELECT due FROM shop_summary")) >= 8, timeout=60, what="eight runs of the summary")
    for listener in listeners:
        listener.send(signal.SIGTERM)
    assert [listener.wait(timeout=60) for listener in listeners] == [0, 0]

    due = sorted(datetime.fromisoformat(text) for (text,) in shop.rows("SELECT due FROM shop_summary"))
    assert len(due) == len(set(due)), "one run for each due time"
    assert shop.rows(stored) == [("ada", 1, 1), ("eve", 1, 1)]
    assert [(job.name, job.state) for job in schedule.jobs(s)] in ([("summary", "waiting")], [("summary", "due")])
    assert schedule.counts(s).dead == 0


def test_a_mistake_in_the_settings_is_one_sentence(shop: Shop) -> None:
    settings = shop.folder / "project" / "settings.py"
    settings.write_text(settings.read_text().replace('"schedule": "shop"', '"schedul": "shop"'))
    refused = shop.manage("workkit", "list")
    assert refused.wait(timeout=60) == 2
    assert refused.err == [
        "error: WORKKIT has 'schedul', which is not a setting of workkit. Did you mean \"schedule\"?"
    ]


@pytest.mark.parametrize(
    ("module", "line", "called"),
    [
        ("jobs", "__import__('workkit').schedule.add_now(s, remind, args=[1])", "schedule.add_now"),
        ("jobs", "__import__('workkit.django').django.add_on_commit(s, remind, args=[1])", "add_on_commit"),
        ("tasks", "send_receipt.enqueue(1)", "enqueue"),
    ],
    ids=["add_now", "add_on_commit", "enqueue"],
)
def test_an_addition_in_a_module_that_listeners_find_is_refused(
    shop: Shop, server: Server, module: str, line: str, called: str
) -> None:
    file = shop.folder / "shop" / f"{module}.py"
    file.write_text(f"{file.read_text()}\n{line}\n")
    number = len(file.read_text().splitlines())
    refused = shop.manage("workkit", "listen", "--burst")
    assert refused.wait(timeout=60) == 2
    refused.wait_for(
        f"^error: .*{called} was called at shop/{module}.py:{number} while a listener imported shop.{module}"
    )
    assert schedule.counts(schedule.create("shop", redis=server.url)).due == 0
