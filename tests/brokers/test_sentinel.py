"""A schedule whose primary sentinels name: found, left when it is replaced; and errors that say what is wrong."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.fleets import SERVICE, SentinelFleet, try_verbs
from tests.metronome import Metronome
from tests.optional import needed
from tests.processes import Processes, until
from tests.servers import Server, free_port, program
from workkit import schedule
from workkit.brokers.connect import open_broker
from workkit.contract.broker import Broker
from workkit.errors import ServerError, ServerRefused, ServerUnreachable

DUE = "2040-01-01 09:00"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SentinelFleet]:
    """A primary with two replicas, all with a password, and three sentinels without one."""
    with closing(SentinelFleet(tmp_path_factory.mktemp("fleet"), replicas=2, password="pw")) as started:
        yield started


@pytest.fixture
def broker(fleet: SentinelFleet, name: str) -> Iterator[Broker]:
    with closing(open_broker(name, redis=fleet.url)) as opened:
        yield opened


def stands_on(fleet: SentinelFleet, server: Server, name: str) -> bool:
    return bool(fleet.client(server).exists(f"{name}:jobs"))


def error_of(url: str) -> ServerError:
    with pytest.raises(ServerError) as caught, closing(open_broker("x", redis=url)) as opened:
        opened.now_ms()
    return caught.value


def test_every_verb_works_behind_sentinels(fleet: SentinelFleet, name: str, processes: Processes) -> None:
    try_verbs(fleet.url, name=name, processes=processes)


@pytest.mark.parametrize("family", ["redis", "valkey"])
def test_a_client_of_sentinels_is_used_as_given(fleet: SentinelFleet, name: str, family: str) -> None:
    library = needed(family)
    sentinels = library.Sentinel([("127.0.0.1", s.port) for s in fleet.sentinels])
    s = schedule.create(name, redis=sentinels.master_for(SERVICE, password="pw"))
    assert schedule.add(s, "app:note", at=DUE).new
    assert stands_on(fleet, fleet.primary(), name)
    assert schedule.counts(s).waiting == 1
    for client in sentinels.sentinels:
        client.close()


def test_sentinels_that_do_not_answer_are_skipped(fleet: SentinelFleet, name: str, machine: Metronome) -> None:
    nowhere = f"127.0.0.1:{free_port()}"
    frozen = fleet.sentinels[0]
    frozen.freeze()
    try:
        url = f"redis+sentinel://:pw@{nowhere},127.0.0.1:{frozen.port},127.0.0.1:{fleet.sentinels[1].port}/{SERVICE}"
        with closing(open_broker(name, redis=url)) as broker:
            begun = time.monotonic()
            broker.now_ms()
            assert 1.0 <= time.monotonic() - begun < 4.0 + machine.slack  # the frozen one was waited for
            broker.close()
            begun = time.monotonic()
            broker.inspector.counts()
            assert time.monotonic() - begun < 0.9 + machine.slack  # it is asked last now
    finally:
        frozen.thaw()


def test_no_sentinel_at_all_is_said(fleet: SentinelFleet) -> None:
    a, b = free_port(), fleet.primary().port
    error = error_of(f"redis+sentinel://:secret@127.0.0.1:{a},127.0.0.1:{b}/{SERVICE}")
    assert type(error) is ServerUnreachable
    assert str(error) == (
        f"redis+sentinel://:***@127.0.0.1:{a},127.0.0.1:{b}/{SERVICE}/0: no sentinel can be asked: 127.0.0.1:{a} "
        f"refuses connections, 127.0.0.1:{b} is not a sentinel. Start one there, or name others."
    )


def test_an_unknown_service_is_said_with_those_known(fleet: SentinelFleet) -> None:
    url = fleet.url.replace(f"/{SERVICE}", "/app")
    error = error_of(url)
    assert isinstance(error, ServerRefused)
    assert not error.lasting
    assert str(error) == f'{url.replace("pw@", "***@")}/0: the sentinels know no service "app". They know: {SERVICE}.'


def test_the_password_of_the_primary_is_asked_for(fleet: SentinelFleet) -> None:
    error = error_of(fleet.url.replace("pw@", "wrong@"))
    assert isinstance(error, ServerRefused)
    assert error.lasting
    assert str(error).endswith(f"/{SERVICE}/0: the password is wrong.")
    missing = error_of(fleet.url.replace(":pw@", ""))
    where = fleet.url.partition("@")[2]
    assert str(missing) == (f"redis+sentinel://{where}/0 needs a password. Write redis+sentinel://:PASSWORD@{where}/0.")


def test_sentinels_with_a_password_of_their_own_are_asked_with_it(fleet: SentinelFleet, name: str) -> None:
    closed = fleet.sentinel("closed", primary=fleet.primary(), password="s3")
    try:
        url = fleet.url_of([closed])
        assert "wants another password" in str(error_of(url))
        assert "wants another password" in str(error_of(f"{url}?sentinel_password=wrong"))
        s = schedule.create(name, redis=f"{url}?sentinel_password=s3")
        assert schedule.add(s, "app:note", at=DUE).new
    finally:
        closed.close()


def test_a_replica_that_a_sentinel_takes_for_the_primary_is_not_used(fleet: SentinelFleet, name: str) -> None:
    replica = fleet.replica()
    wrong = fleet.sentinel("wrong", primary=replica, down_after_ms=60_000)
    try:
        error = error_of(fleet.url_of([wrong]))
        assert type(error) is ServerUnreachable
        assert f"127.0.0.1:{replica.port} is a replica; the sentinels have not named another primary yet" in str(error)
        s = schedule.create(name, redis=fleet.url_of([wrong, fleet.sentinels[0]]))
        assert schedule.add(s, "app:note", at=DUE).new  # the second sentinel knew better
    finally:
        wrong.close()


def test_a_replaced_primary_is_left_before_it_knows(fleet: SentinelFleet, broker: Broker, name: str) -> None:
    broker.now_ms()
    broker.inspector.counts()
    woken: list[object] = []
    waiting = threading.Thread(target=lambda: woken.append(waited(broker)))
    waiting.start()
    until(lambda: fleet.client(fleet.primary()).info("clients")["blocked_clients"] == 1, what="the wait to have begun")
    before = fleet.fail_over()
    assert fleet.client(before).role()[0] == b"master", "it must still take itself for the primary"
    s = schedule.create(name, redis=fleet.url)
    schedule.add(s, "app:note", at=DUE)
    assert stands_on(fleet, fleet.primary(), name)
    until(lambda: broker.inspector.counts().waiting == 1, what="the open connection to be left")
    fleet.demote(before)
    waiting.join(5)
    assert woken == ["cut"]


def test_a_demoted_primary_that_stays_connected_is_left(fleet: SentinelFleet, broker: Broker, name: str) -> None:
    """REPLICAOF on its own cuts no idle connection: READONLY tells."""
    s = schedule.create(name, redis=fleet.url)
    assert schedule.add(s, "app:note", at=DUE).new
    before = fleet.fail_over()
    fleet.demote(before)
    until(lambda: schedule.counts(s).waiting == 1, what="reading")
    assert not schedule.add(s, "app:note", at=DUE).new
    assert schedule.add(s, "app:note", at=DUE, args=[1]).new
    assert fleet.client(fleet.primary()).hlen(f"{name}:jobs") == 2


def test_a_frozen_primary_holds_nobody_once_it_is_replaced(fleet: SentinelFleet, broker: Broker, name: str) -> None:
    broker.inspector.counts()
    woken: list[object] = []
    waiting = threading.Thread(target=lambda: woken.append(waited(broker)))
    waiting.start()
    frozen, switches = fleet.primary(), fleet.switches()
    until(lambda: fleet.client(frozen).info("clients")["blocked_clients"] == 1, what="the wait to have begun")
    frozen.freeze()
    try:
        switches.wait()
        until(lambda: broker.inspector.counts().waiting == 0, what="an answer")
        assert time.monotonic() - switches.at < 4.0
        waiting.join(2)  # its own patience is a minute
        assert woken == ["cut"]
    finally:
        frozen.thaw()


def test_sentinels_and_their_primary_are_reached_over_tls(tmp_path: Path, name: str) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = ["openssl", "req", "-x509", "-nodes", "-newkey", "rsa:2048", "-subj", "/CN=127.0.0.1", "-days", "2"]
    make += ["-addext", "subjectAltName=IP:127.0.0.1", "-out", str(certificate), "-keyout", str(key)]
    subprocess.run(make, check=True, capture_output=True)
    tls = ["--tls-cert-file", str(certificate), "--tls-key-file", str(key), "--tls-ca-cert-file", str(certificate)]
    tls += ["--tls-auth-clients", "no", "--tls-replication", "yes", "--tls-port"]
    primary_port, sentinel_port = free_port(), free_port()
    conf = f"sentinel monitor {SERVICE} 127.0.0.1 {primary_port} 1\n"
    for place in ("primary", "sentinel"):
        (tmp_path / place).mkdir()
    primary = Server(program("redis"), folder=tmp_path / "primary", is_durable=False, options=[*tls, str(primary_port)])
    sentinel = Server(
        program("redis"),
        folder=tmp_path / "sentinel",
        is_durable=False,
        options=["--sentinel", *tls, str(sentinel_port)],
        conf=conf,
    )
    with closing(primary), closing(sentinel):
        primary.start()
        sentinel.start()
        url = f"rediss+sentinel://127.0.0.1:{sentinel_port}/{SERVICE}?ssl_ca_certs={certificate}"
        assert schedule.add(schedule.create(name, redis=url), "app:note", at=DUE).new
        assert primary.client().hlen(f"{name}:jobs") == 1
        assert "cannot be used: its certificate is not trusted: self-signed certificate" in str(
            error_of(url.partition("?")[0])
        )


def waited(broker: Broker) -> object:
    """What a wait for a token comes to: woken or not, or that its connection was cut."""
    try:
        return broker.wait(30)
    except ServerUnreachable:
        return "cut"
