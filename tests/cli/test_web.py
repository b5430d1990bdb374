from __future__ import annotations

import json
import signal
import socket
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import Run, begin
from tests.processes import Processes
from tests.servers import Server
from workkit import schedule
from workkit.cli.commands.web_serving import bound, read_binding


def test_an_open_address_is_refused_without_users(run: Run) -> None:
    ran = run("web", "app-tasks", "--bind", "0.0.0.0:5040")
    assert ran.status == 4
    assert ran.err == (
        "error: --bind 0.0.0.0:5040 would show app-tasks to everyone who reaches this machine. "
        "Add --users FILE, or --trust-header behind a proxy.\n"
    )


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--bind", "here"], 2, "--bind here is no address with a port."),
        (["--bind", "127.0.0.1:99999"], 2, "is no address with a port"),
        (["--bind", "example.com:80"], 2, "Accepted: ADDRESS:PORT with a numeric address or localhost"),
        (["--origin", "jobs.example.com"], 2, "--origin jobs.example.com is no origin."),
        (
            ["--users", "none.toml"],
            3,
            "users file none.toml does not exist. Make it: workkit web --add-user NAME:ROLE --users none.toml.",
        ),
        (["--trust-header", "X-User"], 2, "--trust-header and --from-proxy belong together"),
        (["--add-user", "ada:editor"], 2, "--add-user and --add-token need --users FILE"),
        (["--users", "u.toml", "--add-user", "ada:king"], 2, '"ada:king" names no user with a role.'),
        (["--mask", "("], 2, "is not a regular expression"),
        (["--tz", "Mars/Base"], 2, "Mars/Base"),
        (
            ["--root-path", "ops"],
            2,
            "--root-path ops is no path. Write it as browsers show it, without a final slash: ",
        ),
        (["--root-path", "/ops?x"], 2, "--root-path /ops?x is no path."),
        (["--root-path", "//evil.example"], 2, "--root-path //evil.example is no path."),
        (["--root-path", "/a/../b"], 2, "--root-path /a/../b is no path."),
        (["--root-path", "https://x/ops"], 2, "--root-path https://x/ops is no path."),
        (["--root-path", "/a b"], 2, "is no path."),
        (["--root-path", "/s/ops"], 2, "--root-path /s/ops begins as addresses of the pages do. Choose another path"),
        (["--root-path", "/-"], 2, "--root-path /- begins as addresses of the pages do."),
    ],
)
def test_what_cannot_be_meant_is_refused(run: Run, words: list[str], status: int, said: str) -> None:
    ran = run("web", "app-tasks", *words)
    assert ran.status == status
    assert said in ran.err


def test_a_user_is_added_with_a_password_from_the_input(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "typed").write_text("correct horse\n")
    with open(tmp_path / "typed") as typed:
        monkeypatch.setattr("sys.stdin", typed)
        ran = run("web", "--users", "users.toml", "--add-user", "ada:editor")
    assert (ran.status, ran.out) == (0, "added ada, editor, to users.toml\n")
    assert '[users."ada"]' in (folder / "users.toml").read_text()


def test_a_token_is_shown_once(run: Run, folder: Path) -> None:
    ran = run("web", "--users", "users.toml", "--add-token", "ci:viewer")
    assert ran.status == 0
    assert len(ran.out.strip()) == 43
    assert ran.out.strip() not in (folder / "users.toml").read_text()


def asked(address: str, path: str) -> str:
    with urllib.request.urlopen(address + path, timeout=30) as answer:
        text: str = answer.read().decode()
    return text


@pytest.mark.parametrize("address", ["127.0.0.1:0", "[::1]:0"])
def test_a_connection_sends_the_body_without_waiting_for_the_client_to_acknowledge_the_headers(address: str) -> None:
    with closing(bound(read_binding(address))) as listening, socket.create_connection(listening.getsockname()[:2]):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_real_process_serves_until_it_is_stopped(
    processes: Processes, server: Server, name: str, sign: signal.Signals
) -> None:
    schedule.add(schedule.create(name, redis=server.url), "app:f", in_="1 hour", name="nightly")
    web = processes.workkit("web", name, "--redis", server.url, "--bind", "127.0.0.1:0", "--env", "staging")
    line = web.wait_for(r"listening  (\S+) on (\S+), read and write, for this machine only")
    address = line[2].rstrip("/")
    assert "nightly" in asked(address, f"/s/{name}/")
    assert json.loads(asked(address, f"/s/{name}.json"))["sentence"] == "Nobody listens."
    assert "staging" in asked(address, f"/s/{name}/listeners")
    asks = urllib.request.Request(f"{address}/s/{name}/live?page=", headers={"accept": "text/event-stream"})
    with urllib.request.urlopen(asks, timeout=30) as stream:
        assert stream.readline().startswith(b"event: ")
        web.send(sign)
        stream.read()  # it is ended as it should be, not cut off
    assert web.wait() == 0


@pytest.mark.parametrize("how", ["option", "env"])
def test_a_real_process_serves_below_a_path(processes: Processes, server: Server, name: str, how: str) -> None:
    begin(server, name)
    words = ("--root-path", "/ops/") if how == "option" else ()
    env = {"WORKKIT_WEB_ROOT_PATH": "/ops"} if how == "env" else {}
    web = processes.workkit("web", name, "--redis", server.url, "--bind", "127.0.0.1:0", *words, env=env)
    address = web.wait_for(r"listening  \S+ on (http://127\.0\.0\.1:\d+)/ops/, read and write")[1]
    with httpx.Client(base_url=address) as client:
        for path in ("/", "/ops", "/ops/"):  # the proxy strips the prefix, or keeps it
            assert client.get(path).headers["location"] == f"/ops/s/{name}/"
        for path in (f"/s/{name}/", f"/ops/s/{name}/"):
            assert f'href="/ops/s/{name}/listeners"' in client.get(path).text
        assert client.get("/ops/-/health").text == client.get("/-/health").text == "ok\n"
    web.send(signal.SIGTERM)
    assert web.wait() == 0


def test_it_listens_on_a_socket_of_this_machine(
    processes: Processes, server: Server, name: str, tmp_path: Path
) -> None:
    path = tmp_path / "web.sock"
    begin(server, name)
    web = processes.workkit("web", name, "--redis", server.url, "--bind", f"unix:{path}")
    web.wait_for(f"listening  {name} on unix:{path}, read and write, for this machine only")
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://localhost") as client:
        assert client.get("/-/health?ready=1").status_code == 200
    web.send(signal.SIGTERM)
    assert web.wait() == 0
    assert not path.exists()


def test_it_ends_while_a_browser_holds_its_connection(processes: Processes, server: Server, name: str) -> None:
    begin(server, name)
    web = processes.workkit("web", name, "--redis", server.url, "--bind", "127.0.0.1:0")
    with httpx.Client(base_url=web.wait_for(r" on (\S+/), read and write")[1]) as client:
        assert client.get("/-/health").text == "ok\n"
        web.send(signal.SIGTERM)
        assert web.wait(timeout=10) == 0


def test_no_page_shows_the_password_of_its_server(processes: Processes, name: str) -> None:
    web = processes.workkit("web", name, "--redis", "redis://user:hunter2@127.0.0.1:1/0", "--bind", "127.0.0.1:0")
    address = web.wait_for(r" on (\S+/), read and write")[1].rstrip("/")
    for path in (f"/s/{name}/", f"/s/{name}.json"):
        with pytest.raises(urllib.error.HTTPError) as caught:
            asked(address, path)
        assert caught.value.code == 503
        with caught.value as answer:
            assert "hunter2" not in answer.read().decode()
    assert "hunter2" not in web.transcript().partition("\n")[2]  # after the command line itself
