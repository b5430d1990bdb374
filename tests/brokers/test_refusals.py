"""How errors of servers are told: by their codes, whatever their texts are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import redis
from redis._parsers.base import BaseParser

from tests.rows import every_row
from tests.servers import Server
from workkit import schedule
from workkit.brokers.redis_server.refusal import ServerPlace, code_of, refusal
from workkit.errors import ServerError, ServerFull, ServerRefused, ServerUnreachable

BROKERS = Path(schedule.__file__).parent / "brokers"
# What a server answers, and what that is to us: the kind of error, and words of its trouble.
TOLD: list[tuple[str, str, type[ServerError], str]] = [
    ("NOSCRIPT", "NOSCRIPT anything", ServerRefused, "anything"),
    ("OOM", "OOM anything", ServerFull, "out of memory"),
    ("OOM", "ERR Error running script (call to f_1): @user_script:2: -OOM anything", ServerFull, "out of memory"),
    ("MISCONF", "MISCONF anything", ServerFull, "accepts no writes"),
    ("READONLY", "READONLY anything", ServerRefused, "read-only replica"),
    ("NOAUTH", "NOAUTH anything", ServerRefused, "needs a password"),
    ("WRONGPASS", "WRONGPASS anything", ServerRefused, "the password is wrong"),
    ("NOPERM", "NOPERM anything", ServerRefused, "may not do that"),
    ("NOPERM", "ACL anything", ServerRefused, "may not do that"),
    ("WRONGTYPE", "WRONGTYPE anything", ServerRefused, "another kind of value"),
    ("CROSSSLOT", "CROSSSLOT anything", ServerRefused, "cluster"),
    ("LOADING", "LOADING anything", ServerUnreachable, "anything"),
    ("MASTERDOWN", "MASTERDOWN anything", ServerUnreachable, "anything"),
    ("CLUSTERDOWN", "CLUSTERDOWN anything", ServerUnreachable, "anything"),
    ("BUSY", "BUSY anything", ServerUnreachable, "anything"),
    ("NOREPLICAS", "NOREPLICAS anything", ServerUnreachable, "anything"),
    ("ERR", "ERR NOAUTHORITY over the wrong password, without any reason", ServerRefused, "NOAUTHORITY"),
    ("ERR", "ERR anything", ServerRefused, "anything"),
]


# Versions of the client library that keep no code cut it off; they tell these by their real texts alone.
CUT_OFF = {("NOAUTH", "NOAUTH anything"), TOLD[-2][:2]}


@every_row(("code", "answer", "kind", "trouble"), TOLD)
def test_an_error_is_told_by_its_code(code: str, answer: str, kind: type[ServerError], trouble: str) -> None:
    parser: Any = BaseParser
    error = parser.parse_error(answer)
    if not hasattr(error, "status_code") and (code, answer) in CUT_OFF:
        return
    told = refusal(error, ServerPlace(url="redis://h:1/0", schedule="s", answered=True))
    assert (code_of(error), type(told)) == (code, kind)
    assert trouble in str(told)


def test_only_one_module_looks_into_texts_of_servers() -> None:
    codes = "NOSCRIPT|OOM|MISCONF|READONLY|NOAUTH|WRONGPASS|NOPERM|WRONGTYPE|cluster support|unknown command|DB index"
    looks = re.compile(rf'"[^"]*(?:{codes})[^"]*" (?:not )?in \w+|startswith\("(?:{codes})')
    wrong = [
        f"{file.relative_to(BROKERS)}: {line.strip()}"
        for file in BROKERS.rglob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if re.search(r" in (?:text|t|str\()|startswith", line) and looks.search(line)
    ]
    assert not wrong


def test_a_database_that_the_server_does_not_have_is_named(server: Server) -> None:
    s = schedule.create("t", redis=f"redis://127.0.0.1:{server.port}/99")
    with pytest.raises(ServerRefused, match="there is no database 99") as caught:
        schedule.counts(s)
    assert "/0" in str(caught.value)


def test_an_error_of_this_side_has_no_code() -> None:
    for error in (
        redis.exceptions.ConnectionError("OOM, said nobody"),
        OSError("x"),
        redis.exceptions.TimeoutError("y"),
    ):
        assert code_of(error) == ""
