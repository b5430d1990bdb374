"""`workkit forward`, as a process: it publishes, shows where, answers for its health, and hands back at a stop."""

from __future__ import annotations

import json
import signal
import urllib.error
import urllib.request

import pytest

from tests.cli.conftest import Run, begin
from tests.processes import Processes, until
from tests.servers import Server, free_port
from workkit import schedule


def ready(port: int) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as page:
            return page.status, page.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_a_command_publishes_to_a_namespace_until_stopped(processes: Processes, server: Server, name: str) -> None:
    port = free_port()
    begin(server, name)
    to = ("--to", f"{name}-go", "--to-layout", "gocraft")
    forward = processes.workkit("forward", name, *to, "--redis", server.url, "--health-port", str(port))
    forward.wait_for(rf"listening  {name} on redis://127\.0\.0\.1:{server.port}/0, 1 thread, pid")
    forward.wait_for(rf"forwarding to {name}-go on redis://127\.0\.0\.1:{server.port}/0")
    words = ("now", name, "send_email", "--kwarg", "address=a@b.c", "--redis", server.url)
    adding = processes.workkit(*words)
    assert adding.wait() == 0, adding.transcript()
    adding.wait_for('note: send_email is a plain name: a forward passes it on, and a function marked @job."send_email"')
    forward.wait_for(r"done       [0-9a-f]{8}  send_email\(\.\.\.\)")
    (text,) = until(lambda: server.client().lrange(f"{name}-go:jobs:send_email", 0, -1))
    assert json.loads(text)["args"] == {"address": "a@b.c"}
    schedule.add_now(schedule.create(name, redis=server.url), "send_email", args=[7])
    forward.wait_for(
        r"failed  .* InvalidArguments: args=\[7\] is given by position: .* by its name\. attempt|by its name"
    )
    assert "Traceback" not in forward.transcript()
    assert ready(port)[0] == 200
    forward.send(signal.SIGTERM)
    assert forward.wait() == 0
    forward.wait_for(r"stopped    ran \d")


def test_a_command_waits_for_the_other_server_and_says_so(
    processes: Processes, server: Server, own_server: Server, name: str
) -> None:
    port = free_port()
    begin(server, name)
    to = ("--to", name, "--to-layout", "gocraft", "--to-redis", own_server.url)
    forward = processes.workkit("forward", name, *to, "--redis", server.url, "--health-port", str(port))
    forward.wait_for("forwarding")
    own_server.kill()
    s = schedule.create(name, redis=server.url)
    schedule.add_now(s, "send", kwargs={"n": 1})
    forward.wait_for(rf"lost       redis://127\.0\.0\.1:{own_server.port}/0  connection refused\. 1 job goes on")
    assert ready(port) == (503, f"without redis://127.0.0.1:{own_server.port}/0\n")
    forward.send(signal.SIGTERM)
    assert forward.wait(timeout=10) == 0
    forward.wait_for("given back 1")
    assert schedule.counts(s).due == 1


def test_a_command_ends_with_69_where_the_other_server_is_not_there(run: Run, server: Server, name: str) -> None:
    begin(server, name)
    there = f"redis://127.0.0.1:{free_port()}/0"
    ran = run("forward", name, "--to", "x", "--to-redis", there, "--redis", server.url)
    assert (ran.status, ran.out) == (69, "")
    assert there in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--to"),
        (("--to", "other", "--layout", "gocraft"), "Say the layout of the other side: --to-layout."),
        (("--to", "other", "-v", "-q"), "-v and -q were both given."),
        (("--to", "other thing"), 'schedule "other thing" has a blank at column 6.'),
    ],
    ids=["nowhere", "layout", "both", "blank"],
)
def test_a_command_refuses_what_it_cannot_do(run: Run, server: Server, words: tuple[str, ...], said: str) -> None:
    ran = run("forward", "shop", *words, "--redis", server.url)
    assert ran.status == 2
    assert said in ran.err


def test_a_forward_to_itself_is_refused(run: Run, server: Server) -> None:
    begin(server, "shop")
    ran = run("forward", "shop", "--to", "shop", "--redis", server.url)
    assert ran.status == 2
    assert 'schedule "shop" is forwarded to itself. Name another one as --to.' in ran.err


def test_listen_forwards_what_recurs_to_the_namespace_that_it_serves(
    processes: Processes, server: Server, name: str
) -> None:
    (processes.folder / "fw_jobs.py").write_text(
        "from workkit import job\n@job('send')\ndef send(n: int) -> None:\n    print('sent', n, flush=True)\n"
    )
    words = ("listen", name, "--layout", "gocraft", "--import", "fw_jobs", "--forward", f"{name}-times")
    listener = processes.workkit(*words, "--redis", server.url)
    listener.wait_for(rf"forwarding to {name} on ")
    times = schedule.create(f"{name}-times", redis=server.url)
    schedule.add(times, "send", every="second", count=2, kwargs={"n": 7})
    listener.wait_for("sent 7", count=2)
    listener.send(signal.SIGINT)
    assert listener.wait() == 0
    listener.wait_for("stopped", count=2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a", "b"), "--forward with 2 schedules: it does not say to which."),
        (("a", "--burst"), "--forward with --burst: it is one forwarder."),
        (("a", "--processes", "2"), "--forward with --processes: it is one forwarder."),
    ],
    ids=["several", "burst", "processes"],
)
def test_listen_refuses_a_forward_that_it_cannot_do(
    run: Run, server: Server, words: tuple[str, ...], said: str
) -> None:
    ran = run("listen", *words, "--forward", "times", "--redis", server.url)
    assert ran.status == 2
    assert said in ran.err
