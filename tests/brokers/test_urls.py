"""URLs and clients of several servers: how they are read, shown and refused. Nothing is connected to."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import traceback
from contextlib import closing
from typing import Any

import pytest
import redis.sentinel
from hypothesis import given
from hypothesis import strategies as st

from tests.optional import needed
from tests.rows import every_row
from tests.servers import Server, free_port
from workkit import schedule
from workkit.brokers.connect import open_broker, open_brokers
from workkit.brokers.layout import check_redis as check
from workkit.brokers.redis_server.address import SIMPLE, masked, read_addresses, without_passwords
from workkit.brokers.redis_server.connecting import connect
from workkit.brokers.redis_server.primaries import tag_of
from workkit.brokers.redis_server.refusal import ServerPlace, refusal
from workkit.errors import InvalidSchedule, ServerRefused, ServerUnreachable

Sentinel: Any = redis.sentinel.Sentinel
SENTINELS = "redis+sentinel://u:pw@db1,db2:26380,[::1]:1/my%20tasks/3?sentinel_password=s3&socket_timeout=2"


def test_a_sentinel_url_is_read() -> None:
    read = read_addresses(SENTINELS)
    assert read.kind == "sentinel"
    assert read.nodes == (("db1", 26379), ("db2", 26380), ("::1", 1))
    assert (read.service, read.sentinel) == ("my tasks", {"password": "s3"})
    assert read.single == "redis://u:pw@localhost/3?socket_timeout=2"
    assert read.shown == "redis+sentinel://u:***@db1:26379,db2:26380,[::1]:1/my%20tasks/3"


def test_a_cluster_url_is_read() -> None:
    read = read_addresses("rediss+cluster://:pw@db1:7000,db2?ssl_ca_certs=/ca.pem")
    assert (read.kind, read.nodes, read.service) == ("cluster", (("db1", 7000), ("db2", 6379)), "")
    assert read.single == "rediss://:pw@localhost/?ssl_ca_certs=%2Fca.pem"
    assert read.shown == "rediss+cluster://:***@db1:7000,db2:6379"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis+sentinel://h/tasks", "redis+sentinel://h:26379/tasks/0"),
        ("rediss+sentinel://u@h:1,i:2/tasks/", "rediss+sentinel://u@h:1,i:2/tasks/0"),
        ("redis+cluster://h", "redis+cluster://h:6379"),
        ("valkey://h", "valkey://h:6379/0"),
        ("valkey://u:pw@h:1/2", "valkey://u:***@h:1/2"),
        ("valkeys://h:7000/1", "valkeys://h:7000/1"),
        ("valkey+sentinel://h/tasks", "valkey+sentinel://h:26379/tasks/0"),
        ("valkeys+sentinel://u@h:1,i:2/tasks/", "valkeys+sentinel://u@h:1,i:2/tasks/0"),
        ("valkey+cluster://h,i:7000", "valkey+cluster://h:6379,i:7000"),
        ("valkeys+cluster://h", "valkeys+cluster://h:6379"),
        ("redis+cluster://h:7000/0", "redis+cluster://h:7000"),
    ],
)
def test_a_server_is_shown_by_all_that_lead_to_it(url: str, shown: str) -> None:
    assert connect(url).url == shown
    assert open_broker("{a}", redis=url).url == shown


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "redis+sentinel://:pw@h:26379",
            "redis='redis+sentinel://:***@h:26379' names no service. Write redis+sentinel://h:26379/SERVICE, by the "
            "name that the sentinels give to the primary.",
        ),
        *(
            (
                f"{url}{path}",
                f"redis='{url}{path}': '{path.strip('/')}' is not the number of a database. "
                "Write a number after the last /, or nothing.",
            )
            for url, path in (
                ("redis+sentinel://h/tasks", "/x"),
                ("redis://h:7401", "/abc"),
                ("rediss://h:7401", "/abc"),
                ("redis://h", "/1/2"),
                ("redis://h", "/1_0"),
                ("redis://h", "/-1"),
                ("redis://h", "/%31"),
                ("redis://h", "#1"),
                ("redis://h", "/123456"),
            )
        ),
        ("redis://h/1?db=2", "redis='redis://h/1?db=2' names two databases, 1 and 2. Keep one."),
        ("redis+cluster://h/1", "redis='redis+cluster://h/1': a cluster has only database 0. Leave /1 out."),
        (
            "redis+cluster://h:1,,i",
            "redis='redis+cluster://h:1,,i': '' is not a server. Write HOST:PORT, several apart by commas.",
        ),
        (
            "redis+cluster://h:99999",
            "redis='redis+cluster://h:99999': 'h:99999' is not a server. Write HOST:PORT, several apart by commas.",
        ),
        (
            "redis+sentinel://u:pw@h:x/tasks?sentinel_password=s3",
            "redis='redis+sentinel://u:***@h:x/tasks?sentinel_password=***': 'h:x' is not a server. "
            "Write HOST:PORT, several apart by commas.",
        ),
        (
            "redis+ring://h",
            "redis='redis+ring://h' is not a URL of a server. "
            "Accepted: redis:// rediss:// redis+sentinel:// redis+cluster:// valkey:// valkeys:// unix:// embedded://.",
        ),
    ],
)
def test_what_leads_nowhere_is_refused(url: str, message: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        check(url)
    assert str(caught.value) == message
    with pytest.raises(InvalidSchedule):
        schedule.create("x", redis=url)


@pytest.mark.parametrize(
    "url",
    [SENTINELS, "redis+cluster://u:pw@db1:7000", "redis://h?password=pw", "redis+sentinel://h/s?sentinel_password=pw"],
)
def test_no_password_is_shown(url: str) -> None:
    assert "pw" not in masked(url)
    assert "s3" not in masked(url)
    assert "pw" not in connect(url).url
    assert "s3" not in connect(url).url


BROKEN = [
    "redis:/u:PW@h", "redis:/:PW@h", "redis:/PW@h", "redis:u:PW@h", "redis:PW@h", "redis:///u:PW@h", "//u:PW@h",
    "u:PW@h:6379", ":PW@h", "redis//u:PW@h", "redis:\\\\u:PW@h", "u:P://W@h", "redis:u:PW://x@h", "redis ://u:PW@h",
    "rediss+sentinel:/u:PW@h/tasks", "rediss+sentinel:u:PW@h/tasks", "redis+cluster:/:PW@h:1,i:2", "http://u:PW@h",
    "redis://u:P/W@h", "redis://u:P?W@h", "redis://u:P#W@h", "redis://u:P@W@h:x", "redis://u:PW@h:x", "redis://u:PW@h:7x/1",
    "redis://u:12/PW@h", "redis://u:12?PW@h", "redis://u:12#PW@h", "redis://u:P W@h:x", "redis://[u:PW@h", "redis://u:PW@[h",
    "redis+sentinel://u:P/W@h/tasks", "redis+sentinel://u:12/PW@h", "redis+cluster://u:P/W@h", "redis+cluster://u:PW@h:x",
    "redis+sentinel://u:PW@h:1", "redis+sentinel://u:PW@h/tasks/PW@x", "redis+cluster://u:PW@h,v:PW@i:x",
    "redis:/h?password=PW", "redis://h:x?password=PW", "redis+sentinel://h:1,/s?sentinel_password=P@W&password=PW",
    "redis://h:x?db=1&Password=P@W", "embedded://:PW@h/0", "embedded://u:PW@h", "embedded:/u:PW@h", "embedded://d?u:PW@h",
]  # fmt: skip


@every_row("url", BROKEN)
def test_no_password_of_a_broken_url_is_in_its_refusal(url: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        schedule.create("app-tasks", redis=url)
    shown = str(caught.value)
    assert "PW" not in shown
    assert not {"P", "W", "12", "P@W"} & set(re.findall(r"\w+", shown)), shown
    assert "redis=" in shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis:/u:PW@h:1/0", "redis:/***@h:1/0"),
        ("u:PW@h", "u:***@h"),
        ("//u:PW@h", "//***@h"),
        ("redis://u:P@W/@h", "redis://u:***@h"),
        ("redis://u@h", "redis://u@h"),
        ("redis://h:1/0?client_name=x", "redis://h:1/0?client_name=x"),
        ("unix://u:PW@/tmp/a.sock", "unix://u:***@/tmp/a.sock"),
        ("unix:///tmp/a@b.sock?db=1", "unix:///tmp/a@b.sock?db=1"),
        ("redis://u:***@h", "redis://u:***@h"),
        ("app", "app"),
    ],
)
def test_a_masked_url_shows_what_is_no_password(url: str, shown: str) -> None:
    assert masked(url) == shown


@pytest.mark.parametrize(
    ("url", "trouble"),
    [
        ("redis://h?colour=red", "no option is called colour"),
        ("redis://h?ssl_certfile=x", "no option is called ssl_certfile"),
        ("rediss://h?ssl_cert_reqs=maybe", "Invalid SSL Certificate Requirements Flag: maybe"),
        ("redis://h?socket_timeout=soon", "Invalid value for 'socket_timeout' in connection URL"),
    ],
)
def test_an_option_that_cannot_be_used_is_refused_before_anything_is_asked(url: str, trouble: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        check(url)
    assert str(caught.value) == f"redis='{url}' is not a URL of a server: {trouble}."


def test_a_password_may_have_any_character_in_its_percent_form() -> None:
    assert connect("redis://u:p%2Fw%3F%23%40@h/1").url == "redis://u:***@h:6379/1"
    assert connect("redis://h/1?client_name=a@b").url == "redis://h:6379/1"
    with pytest.raises(InvalidSchedule) as caught:
        connect("redis://u:12/34@h")
    assert str(caught.value) == (
        "redis='redis://u:***@h' has a password with /, ? or # in it. Write them as %2F, %3F and %23."
    )


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("app", ""), ("{app}", "app"), ("{app}tasks", "app"), ("a{b}c{d}", "b"), ("{}x", ""), ("{}{x}", ""),
        ("{app", ""), ("}app{", ""), ("a}{b}", "b"), ("{{a}", "{a"),
    ],
)  # fmt: skip
def test_a_tag_stands_between_the_first_brace_and_the_next_closing_one(name: str, tag: str) -> None:
    assert tag_of(name) == tag


@pytest.mark.parametrize("url", ["redis+cluster://127.0.0.1:1", "rediss+cluster://127.0.0.1:1,127.0.0.1:2"])
def test_a_name_without_a_tag_is_refused_on_a_cluster_before_anything_is_asked(url: str) -> None:
    refused = (
        'schedule "app-tasks" on a cluster: its keys would fall into different slots. Name it "{app-tasks}".',
        "{app-tasks}",
    )
    for call in (
        lambda: open_broker("app-tasks", redis=url),
        lambda: open_brokers("app-tasks", redis=url),
        lambda: check(url, schedule="app-tasks"),
    ):
        with pytest.raises(InvalidSchedule) as caught:
            call()
        assert (str(caught.value), caught.value.suggestion) == refused
    check(url)
    check(url, schedule="{app-tasks}")
    check(url, schedule="{app-tasks.0}")
    assert open_broker("app-tasks", redis=url, shards=2).schedule == "app-tasks"


@pytest.mark.parametrize("url", ["valkeys://h", "valkeys+sentinel://h/tasks", "valkeys+cluster://h"])
def test_valkeys_means_tls(url: str) -> None:
    plain = f"valkey{url.removeprefix('valkeys')}"
    for one, secure in ((url, True), (plain, False)):
        pool = connect(one).client.connection_pool
        assert issubclass(pool.connection_class, redis.SSLConnection) is secure


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("valkey://h/abc", "redis='valkey://h/abc': 'abc' is not the number of a database. Write a number after the "
         "last /, or nothing."),
        ("valkey+sentinel://h", "redis='valkey+sentinel://h' names no service. Write valkey+sentinel://h/SERVICE, by "
         "the name that the sentinels give to the primary."),
        ("valkeyss://h", "redis='valkeyss://h' is not a URL of a server. Accepted: redis:// rediss:// "
         "redis+sentinel:// redis+cluster:// valkey:// valkeys:// unix:// embedded://."),
    ],
)  # fmt: skip
def test_valkey_urls_are_refused_as_they_were_given(url: str, message: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        connect(url)
    assert str(caught.value) == message


def test_clients_of_valkey_are_shown_like_their_urls() -> None:
    library = needed("valkey")
    own_retry = importlib.import_module("valkey.retry").Retry(None, 3)
    unix = library.Valkey(unix_socket_path="/tmp/x.sock", db=3, password="pw")
    assert connect(unix).url == "unix://:***@/tmp/x.sock?db=3"
    assert connect(library.Valkey(host="h", port=7, username="u", password="pw", db=1)).url == "valkey://u:***@h:7/1"
    secure = connect(
        library.Valkey(host="h", ssl=True, ssl_ca_certs="/ca.pem", ssl_check_hostname=True, retry=own_retry)
    )
    assert secure.url == "valkeys://h:6379/0"
    kwargs = secure.client.connection_pool.connection_kwargs
    assert (kwargs["ssl_ca_certs"], kwargs["ssl_check_hostname"]) == ("/ca.pem", True)
    ours = [secure.client, *kwargs.values()]  # none of what valkey-py made: it would raise errors of its own
    assert not [one for one in ours if type(one).__module__.startswith("valkey")]
    sentinels = library.Sentinel([("db1", 26379), ("db2", 26380)])
    given = sentinels.master_for("tasks", username="u", password="pw", db=2)
    assert connect(given).url == "valkey+sentinel://u:***@db1:26379,db2:26380/tasks/2"
    with pytest.raises(InvalidSchedule, match=r"a client of the replicas of tasks; give one of its primary"):
        check(sentinels.slave_for("tasks"))


@pytest.mark.parametrize(("package", "client"), [("redis", "Redis"), ("valkey", "Valkey")])
def test_a_client_of_asyncio_is_refused_by_its_name(package: str, client: str) -> None:
    needed(package)
    given = getattr(importlib.import_module(f"{package}.asyncio"), client)(host="h")
    with pytest.raises(InvalidSchedule) as caught:
        schedule.create("x", redis=given)
    assert str(caught.value) == (
        f"redis= is a {package}.asyncio.client.{client}, a client of asyncio; give a URL (redis://host:port/db) or a "
        "redis.Redis or valkey.Valkey client, whose connection settings are then used."
    )


def test_errors_about_a_valkey_url_name_valkey_urls() -> None:
    with pytest.raises(ServerUnreachable) as caught:
        schedule.counts(schedule.create("x", redis=f"valkey+sentinel://127.0.0.1:{free_port()}/tasks"))
    assert str(caught.value).startswith("valkey+sentinel://127.0.0.1:")
    place = ServerPlace(url="valkey://h:1/0")
    replica = refusal(redis.exceptions.ReadOnlyError("READONLY You can't write"), place)
    assert replica.remedy == "Name the primary, or use valkey+sentinel://."
    closed = refusal(redis.exceptions.ConnectionError("Connection closed by server."), place)
    assert str(closed) == "valkey://h:1/0: closed without an answer; if the port speaks TLS, try valkeys://h:1/0."
    plain = refusal(redis.exceptions.TimeoutError("Timeout"), ServerPlace(url="valkeys://h:1/0"))
    assert plain.remedy == "Try valkey://h:1/0."
    moved = refusal(redis.exceptions.MovedError("1 127.0.0.1:7"), ServerPlace(url="valkeys://h:1/0", schedule="{x}"))
    assert str(moved).endswith("use valkeys+cluster://h:1.")


def test_errors_of_sentinels_of_a_valkey_client_are_ours() -> None:
    library = needed("valkey")
    sentinels = library.Sentinel([("127.0.0.1", free_port())], socket_timeout=1.0)
    with pytest.raises(ServerUnreachable) as caught:
        schedule.counts(schedule.create("x", redis=sentinels.master_for("tasks")))
    assert not isinstance(caught.value, library.ValkeyError)


def test_a_client_of_valkey_adds_and_listens(server: Server, name: str) -> None:
    library = needed("valkey")
    with closing(library.Valkey(host="127.0.0.1", port=server.port, decode_responses=True)) as client:
        s = schedule.create(name, redis=client)
        assert schedule.add_now(s, "tests.handlers:note", args=["x"]).new
        assert schedule.counts(s).due == 1
        assert schedule.drain(s, imports=["tests.handlers"], raise_errors=False).ran == 1
    wrong = schedule.create(name, redis=library.Valkey(host="127.0.0.1", port=server.port, password="PW"))
    with pytest.raises(ServerRefused, match=r"^valkey://:\*\*\*@127\.0\.0\.1:\d+/0: this server has no password"):
        schedule.counts(wrong)


def test_workkit_never_imports_valkey() -> None:
    code = (
        "import sys; from workkit import schedule, aio; schedule.create('x', redis='valkey://h'); "
        "import redis; schedule.create('x', redis=redis.Redis()); print('valkey' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout == "False\n"


def test_a_name_needs_no_tag_elsewhere() -> None:
    for url in ("redis://h", "redis+sentinel://h/tasks", "embedded:///tmp/x"):
        check(url, schedule="app-tasks")


def test_a_client_of_sentinels_is_shown_like_their_url() -> None:
    sentinels = Sentinel([("db1", 26379), ("db2", 26380)])
    given = sentinels.master_for("tasks", username="u", password="pw", db=2)
    assert connect(given).url == "redis+sentinel://u:***@db1:26379,db2:26380/tasks/2"


def test_a_client_of_replicas_is_refused() -> None:
    with pytest.raises(InvalidSchedule) as caught:
        check(Sentinel([("db1", 26379)]).slave_for("tasks"))
    assert str(caught.value) == (
        "redis= is a client of the replicas of tasks; give one of its primary: Sentinel(...).master_for('tasks')."
    )


@every_row("url", [*BROKEN, "redis://u:PW"])
def test_no_field_and_no_traceback_of_a_refused_url_holds_its_password(url: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        schedule.create("app-tasks", redis=url)
    error = caught.value
    shown = "".join(traceback.format_exception(error.with_traceback(None))) + repr(error) + repr(vars(error))
    assert "PW" not in shown
    assert "P@W" not in shown


def test_a_url_where_a_name_belongs_is_refused_without_its_password() -> None:
    with pytest.raises(InvalidSchedule, match=r'^schedule "redis://u:\*\*\*@h" is a URL, not a name\.') as caught:
        schedule.create("redis://u:PW@h")
    assert "PW" not in repr(vars(caught.value)) + str(caught.value)


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("error: redis://u:PW@h/0: refused.", "error: redis://u:***@h/0: refused."),
        ('"redis://:P W@h" is no number', '"redis://:***@h" is no number'),
        ("a rediss://:P/W@h and b", "a rediss://:***@h and b"),
        ("'redis://h/0?db=1&password=PW': no", "'redis://h/0?db=1&password=***': no"),
        ("redis+sentinel://h/s?sentinel_password=PW.", "redis+sentinel://h/s?sentinel_password=***."),
        ("redis://h:1/0, and me@example.org", "redis://h:1/0, and me@example.org"),
        ("password=PW is no option", "password=PW is no option"),
    ],
)
def test_a_text_is_shown_without_the_passwords_of_its_urls(text: str, hidden: str) -> None:
    assert without_passwords(text) == hidden
    assert without_passwords(hidden) == hidden


@pytest.mark.parametrize(
    ("url", "db"),
    [
        ("redis://h", 0),
        ("redis://h/", 0),
        ("redis://h/3", 3),
        ("redis://h/3/", 3),
        ("redis://h/3?db=3", 3),
        ("redis://h?db=4", 4),
    ],
)
def test_the_database_is_the_one_that_a_url_names(url: str, db: int) -> None:
    assert connect(url).url == f"redis://h:6379/{db}"


@given(st.from_regex(SIMPLE, fullmatch=True))
def test_the_client_library_takes_each_url_that_is_checked_without_it(url: str) -> None:
    connect(url).close()
    is_secure_url = url.startswith(("rediss:", "valkeys:"))
    assert connect(url).url.partition("://")[0] in (("rediss", "valkeys") if is_secure_url else ("redis", "valkey"))


@pytest.mark.parametrize("url", ["redis://h", "rediss://u:p%40@h:6379/0", "valkey://:p@h-1.example/15", "redis://h:1/"])
def test_a_usual_url_is_checked_without_the_client_library(url: str) -> None:
    assert SIMPLE.fullmatch(url)


@pytest.mark.parametrize(
    "url", ["redis://h:65536", "redis://h/0?db=1", "redis://h:1/99999", "redis://[::1]", "redis://é"]
)
def test_another_url_is_checked_by_the_client_library(url: str) -> None:
    assert not SIMPLE.fullmatch(url)
