"""The server of `workkit web` on real sockets: what comes in too slowly ends, what is quick or long does not."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.processes import until
from tests.servers import Server
from workkit import asgi, schedule
from workkit.cli.commands.web_serving import bound, read_binding, web_server
from workkit.web.auth import Local

HEADERS_S, BODY_S = 0.5, 1.0
POST = "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nSec-Fetch-Site: same-origin\r\nContent-Length: 100\r\n\r\n"
GET = "GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\n{}\r\n"


@pytest.fixture
def port(server: Server, name: str) -> Iterator[int]:
    """A web face with short times."""
    application = asgi.build(
        schedule.create(name, redis=server.url), way=Local(), signer=asgi.signer("secret"), hosts={"localhost"}
    )
    served = web_server(application, headers_s=HEADERS_S, body_s=BODY_S)
    with closing(bound(read_binding("127.0.0.1:0"))) as listening:
        thread = threading.Thread(target=served.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            until(lambda: served.started, what="the web server")
            yield listening.getsockname()[1]
        finally:
            served.should_exit = True
            thread.join()


class Client:
    """One connection."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self._began = time.monotonic()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, text: str) -> None:
        self._socket.sendall(text.encode())

    def read(self, *, until: bytes) -> bytes:
        found = b""
        while until not in found and (part := self._socket.recv(65_536)):
            found += part
        return found

    def end(self, *, drip: str = "") -> tuple[bytes, float]:
        """What came until the end, and when that was; something is sent each 50 ms meanwhile."""
        found = b""
        self._socket.settimeout(0.05)
        while time.monotonic() - self._began < 15:
            try:
                part = self._socket.recv(65_536)
            except TimeoutError:
                if drip:
                    try:
                        self.send(drip)
                    except OSError:
                        break
                continue
            except ConnectionError:
                break
            if not part:
                break
            found += part
        else:
            pytest.fail("the connection is still open")
        return found, time.monotonic() - self._began


@pytest.mark.parametrize(
    ("sent", "drip"),
    [("", ""), ("GET /-/health HTTP/1.1\r\nX-A: ", "a"), ("G", ""), (GET.format("/-/health", "")[:-2], "X-A: b\r\n")],
)
def test_headers_that_take_too_long_end_the_connection(port: int, sent: str, drip: str) -> None:
    with Client(port) as client:
        client.send(sent)
        answer, took_s = client.end(drip=drip)
        assert answer == b""
        assert HEADERS_S * 0.9 <= took_s < 10


def test_headers_of_a_second_request_have_a_time_of_their_own(port: int) -> None:
    with Client(port) as client:
        for _ in range(3):  # each of them is quick, and together they are not
            client.send(GET.format("/-/health", ""))
            assert b"ok\n" in client.read(until=b"ok\n")
            threading.Event().wait(HEADERS_S / 2)
        client.send("GET /-/health HTTP/1.1\r\nX-A: ")
        answer, _ = client.end(drip="a")
        assert answer == b""


@pytest.mark.parametrize("address", ["/-/look", "/-/health", "/nowhere"])
@pytest.mark.parametrize("drip", ["", "a"])
def test_a_body_that_takes_too_long_ends_the_connection(port: int, address: str, drip: str) -> None:
    head = POST if address == "/-/look" else POST.replace("POST", "GET", 1)
    with Client(port) as client:
        client.send(head.format(address))
        _, took_s = client.end(drip=drip)
        assert BODY_S * 0.9 <= took_s < 10


def test_a_form_that_takes_too_long_is_answered(
    port: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("workkit.web.request.BODY_S", 0.2)
    with Client(port) as client:
        client.send(POST.format("/-/look"))
        answer, took_s = client.end()
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"took longer than" in answer
        assert took_s < BODY_S
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_a_form_that_breaks_off_leaves_no_traceback(port: int, caplog: pytest.LogCaptureFixture) -> None:
    with Client(port) as client:
        client.send(POST.format("/-/look"))
    with Client(port) as client:
        client.send(GET.format("/-/health", "Connection: close\r\n"))
        assert b"ok\n" in client.end()[0]
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_an_answer_may_take_longer_than_its_request_did(port: int, name: str) -> None:
    with Client(port) as client:
        client.send(GET.format(f"/s/{name}/live?page=", "Accept: text/event-stream\r\n"))
        client.read(until=b"event: patch")
        threading.Event().wait(BODY_S + 2 * HEADERS_S)
        assert client.read(until=b"event: clock") != b""
