"""What is printed for other programs is JSON, whatever is on the server: no NaN and no infinity."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.servers import Server
from workkit import wire
from workkit.cli.log import json_line
from workkit.contract.record import compact
from workkit.events import Event

NAN, INFINITE = float("nan"), float("inf")


def strict(text: str) -> Any:
    """Read JSON as other languages do, which know no NaN and no infinities."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON: {text}")

    return json.loads(text, parse_constant=refuse)


def test_compact_writes_null_for_what_is_no_finite_number() -> None:
    at = datetime(2026, 11, 20, tzinfo=UTC)
    record = {"a": NAN, "b": [INFINITE, (1.5, -INFINITE)], "c": {"d": {"e": NAN}}, "f": at, "g": 10**20, "h": True}
    assert strict(compact(record)) == {
        "a": None, "b": [None, [1.5, None]], "c": {"d": {"e": None}}, "f": str(at), "g": 10**20, "h": True,
    }  # fmt: skip


def test_compact_replaces_what_utf_8_cannot_carry() -> None:
    record = {"a": ["x\ud800", "\U0001f600", "\\ud800"], "b\udc80": 1, "c": NAN}
    assert json.loads(compact(record)) == {"a": ["x\ufffd", "\U0001f600", "\\ud800"], "b\ufffd": 1, "c": None}


def test_a_stored_lone_surrogate_breaks_neither_json_nor_tables(run: Run, server: Server, name: str) -> None:
    client: Any = server.client()
    for number in range(2):
        payload = b'{"args":["\\ud800 %d"],"cron":"2050 1 1 * 0 0 0","job":"#\'app/f"}' % number
        client.hset(f"{name}:jobs", wire.job_id(payload), payload)
        client.zadd(f"{name}:next", {wire.item(wire.job_id(payload)): number})
    for words in (("list", name), ("show", name, wire.job_id(payload))):
        ran = run(*words, "--redis", server.url)
        assert (ran.status, ran.err) == (0, ""), words
        assert "\\ud800 1" in ran.out
        ran = run(*words, "--json", "--redis", server.url)
        assert (ran.status, ran.err) == (0, "")
        assert "\ufffd 1" in json.dumps(json.loads(ran.out), ensure_ascii=False)
        assert "\\ud8" not in ran.out


def test_json_line_writes_null_for_what_is_no_finite_number() -> None:
    fields = {"took_ms": NAN, "tags": {INFINITE}, "at": datetime(2026, 11, 20, tzinfo=UTC)}
    read = strict(json_line(Event(name="done", schedule="s", fields=fields), listener=None))
    assert (read["took_ms"], read["tags"], read["at"]) == (None, [None], "2026-11-20T00:00:00.000Z")


@pytest.mark.parametrize("score", ["inf", "-inf", "1e300", "1.5", "4e12"])
def test_no_json_holds_an_infinite_number(
    run: Run, server: Server, name: str, score: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    payload = wire.payload(cron="2030 1 1 * 0 0 0", job="#'app/f", args=[1]).replace(b"[1]", b'[1e999,{"a":[-1e999]}]')
    id = wire.job_id(payload)
    client = server.client()
    client.hset(f"{name}:jobs", id, payload)
    client.zadd(f"{name}:next", {wire.item(id): float(score)})
    listed = run("list", name, "--json")
    assert strict(listed.out)[0]["args"] == [None, {"a": [None]}], listed
    assert strict(run("show", name, id[:8], "--json").out)["args"] == [None, {"a": [None]}]
    for command in (["wire", "dump"], ["wire", "verify"], ["doctor"], ["stats"], ["dead"], ["listeners"]):
        ran = run(*command, name, "--json")
        assert ran.status in (0, 1), ran
        strict(ran.out)
