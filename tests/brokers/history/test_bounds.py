"""However many runs there are, history holds so many entries and bytes: those of spec/history.md, 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.servers import Server
from workkit.brokers.native.history import entry_of, packed_cell, read_cell
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.results import MAY, MUST, MUST_NOT, SUBJECTS
from workkit.brokers.redis_server.connecting import connect
from workkit.brokers.redis_server.control import pack
from workkit.brokers.redis_server.script import load
from workkit.contract.history import ALL, Buckets, Cell

DAY_MS, NOW = 86_400_000, 1_795_341_600_000
WORKER = "host-17.example.org:12345:0123456789ab"


class Filler:
    """Has the script `tally` write rows and cells, as listeners do."""

    def __init__(self, server: Server, name: str) -> None:
        self.client, self.keys = server.client(), Keys(name)
        self._server = connect(server.url)

    def fill(self, rows: Sequence[Any] = (), cells: Sequence[Any] = ()) -> None:
        script = load("native")["tally"]
        keys = script.keys(self.keys, slots=("h:1",))
        self._server.call(script, keys, [pack([[3600, SUBJECTS]]), pack(cells), pack(rows)])

    def memory(self, key: str) -> int:
        return int(self.client.memory_usage(key, samples=0))


@pytest.fixture
def filler(server: Server, name: str) -> Filler:
    return Filler(server, name)


def row(n: int, *, field: str = "", how: int = MUST, ended_ms: int | None = None, error: str = "") -> list[Any]:
    entry = entry_of(NOW + 1000 * n if ended_ms is None else ended_ms, late_ms=n % 7, took_ms=n % 977, ending="done")
    return [field, entry.encode(), 1, how, f"{n:040x}", "", "#'my.app.reports/nightly", WORKER, error]


def pages(rows: Iterator[list[Any]]) -> Iterator[list[Any]]:
    page: list[Any] = []
    for one in rows:
        page.append(one)
        if len(page) == 1000:
            yield page
            page = []
    yield page


def test_single_runs_are_about_fifty_thousand(filler: Filler) -> None:
    for page in pages(row(n) for n in range(52_000)):
        filler.fill(page)
    assert 50_000 <= filler.client.xlen(filler.keys.runs) <= 50_200
    assert filler.memory(filler.keys.runs) <= 9_000_000


def test_rings_and_days_take_so_much_for_each_job(filler: Filler) -> None:
    rows = (
        row(n, field=f"report-{n % 20}", how=MUST_NOT, ended_ms=NOW + n // 20 * DAY_MS)
        for n in range(20 * 450)  # 450 days of 20 jobs
    )
    for page in pages(rows):
        filler.fill(page)
    rings, days = filler.client.hgetall(filler.keys.lately), filler.client.hgetall(filler.keys.days)
    assert {len(ring) for ring in rings.values()} == {16 + 60 * 16}
    assert {len(value) for value in days.values()} == {400 * 5}
    assert filler.memory(filler.keys.lately) <= 20 * 1_300
    assert filler.memory(filler.keys.days) <= 20 * 2_400


def test_no_more_jobs_have_a_ring_than_the_bound(filler: Filler) -> None:
    for page in pages(row(n, field=f"job {n}", how=MUST_NOT) for n in range(11_000)):
        filler.fill(page)
    fields = {field.decode() for field in filler.client.hkeys(filler.keys.lately)}
    assert len(fields) == 10_000
    assert {f"job {n}" for n in range(10_990, 11_000)} <= fields  # those that ran last stay
    left = sum(int(field.split()[1]) < 2_000 for field in fields)
    assert left < 1_500  # those that ran the longest ago leave; by mere chance 1,800 were left


def test_cells_take_a_hundred_subjects_and_lose_no_count(filler: Filler) -> None:
    cell = Cell(done=2, busy_ms=10, lateness=Buckets([(0, 2)]), durations=Buckets([(7, 1), (20, 1)]))
    for n in range(150):
        filler.fill(cells=[[ALL, packed_cell(cell)], [f"fn:app:f{n}", packed_cell(cell)]])
    cells = {subject: read_cell(value) for subject, value in filler.client.hgetall(filler.keys.past("h:1")).items()}
    assert len(cells) == SUBJECTS + 1
    whole = cells.pop(b"schedule")
    assert whole is not None
    assert (whole.done, whole.lateness.total, whole.durations.total) == (300, 300, 300)
    parts = Cell()
    for part in cells.values():
        assert part is not None
        parts += part
    assert parts == whole
    assert filler.memory(filler.keys.past("h:1")) <= (SUBJECTS + 1) * 250


@pytest.mark.parametrize("side", [[float("nan"), 1], [1], [5, 1, 3, 1]])
def test_a_cell_that_others_wrote_stops_no_count(filler: Filler, side: list[Any]) -> None:
    key = filler.keys.past("h:1")
    filler.client.hset(key, ALL, pack([1, 0, 0, 0, 0, 0, 5, side, []]))
    filler.fill(cells=[[ALL, packed_cell(Cell(done=1, lateness=Buckets([(3, 1)])))]])
    assert filler.client.hexists(key, ALL)


def test_a_frequent_job_enters_the_single_runs_once_in_half_a_minute(filler: Filler) -> None:
    filler.fill([row(n, field="often", how=MAY) for n in range(100)])  # one a second
    found = [int(fields[b"x"]) for _, fields in filler.client.xrange(filler.keys.runs)]
    assert found == [1, 30, 30, 30]
    filler.fill([row(100, field="often", how=MUST)])
    found = [int(fields[b"x"]) for _, fields in filler.client.xrange(filler.keys.runs)]
    assert found == [1, 30, 30, 30, 1]
