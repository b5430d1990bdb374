"""The command line as processes: listeners, signals, pipes, terminals, the private server, the demo."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests import terminals
from tests.processes import Process, Processes, completed
from tests.servers import Server
from workkit import schedule
from workkit.text.cells import cells

APP = """
import os, time
def hi():
    print("hi", flush=True)
def greet(name):
    print(name, flush=True)
def fail():
    raise OSError("disk full")
"""


@pytest.fixture(autouse=True)
def app(folder: Path) -> Path:
    (folder / "app.py").write_text(APP)
    return folder


def ended(process: Process, status: int = 0, *, timeout: float = 15.0) -> Process:
    assert process.wait(timeout=timeout) == status, process.transcript()
    return process


def workkit(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return completed(sys.executable, "-m", "workkit", *words, env=env)


def test_listen_runs_what_now_adds(processes: Processes, server: Server, name: str) -> None:
    listener = processes.workkit("listen", name, "--redis", server.url)
    rooms = "10 threads, 100 coroutines"
    listener.wait_for(rf"listening  {name} on redis://127\.0\.0\.1:{server.port}/0, {rooms}, pid \d+, workkit ")
    listener.wait_for(r"may run    functions under \./.*Ctrl-C stops\.")
    ended(processes.workkit("now", name, "app:hi", "--redis", server.url))
    listener.wait_for(r"^hi$")
    listener.wait_for(r"done       [0-9a-f]{8}  app\.hi\(\)  [\d.]+ m?s$")
    listener.send(signal.SIGINT)
    ended(listener)
    assert re.search(r"stopped    ran 1, failed 0, given back 0, up ", listener.err[-1])
    assert listener.out == ["hi"]


def test_the_private_server_of_a_folder_joins_listen_and_now(processes: Processes, name: str, app: Path) -> None:
    listener = processes.workkit("listen", name, "--embedded")
    listener.wait_for(rf"listening  {name} on ")
    assert (app / ".workkit").is_dir()
    ended(processes.workkit("now", "--embedded", name, "app:hi"))
    listener.wait_for(r"^hi$")
    refused = ended(processes.workkit("now", name, "app:hy", "--embedded"), 2)
    assert "nearest: hi" in refused.err[0]
    listener.send(signal.SIGTERM)
    ended(listener)


def test_listen_takes_schedules_with_weights(processes: Processes, server: Server, name: str) -> None:
    listener = processes.workkit("listen", f"{name}-a:10", f"{name}-b", "--redis", server.url)
    listener.wait_for(rf"listening  {name}-a(:10)?, {name}-b on ")
    listener.send(signal.SIGTERM)
    ended(listener)


def test_burst_runs_what_is_due_and_ends(processes: Processes, server: Server, name: str) -> None:
    for word in ("greet", "fail"):
        arguments = ["one"] if word == "greet" else []
        ended(processes.workkit("now", name, f"app:{word}", *arguments, "--redis", server.url))
    burst = ended(processes.workkit("listen", name, "--burst", "--redis", server.url))
    assert burst.out == ["one"]
    assert re.search(
        r"(dead  |failed)     [0-9a-f]{8}  app\.fail\(\)  .*OSError: disk full \(app\.py:\d+\)", "\n".join(burst.err)
    )
    dead = ended(processes.workkit("dead", name, "--json", "--redis", server.url))
    record = json.loads("".join(dead.out))[0]
    assert record["state"] == "dead"
    assert (record["error_type"], record["error"]) == ("OSError", "disk full")
    table = ended(processes.workkit("dead", name, "--redis", server.url))
    assert "OSError: disk full" in table.out[1]


def test_json_lines_are_json(processes: Processes, server: Server, name: str) -> None:
    ended(processes.workkit("now", name, "app:greet", "secret", "--redis", server.url))
    burst = ended(processes.workkit("listen", name, "--burst", "--log", "json", "--redis", server.url))
    records = [json.loads(line) for line in burst.err]
    done = next(record for record in records if record["event"] == "done")
    assert done["fn"] == "app:greet"
    assert done["attempt"] == 1
    assert done["schedule"] == name
    assert isinstance(done["late_ms"], int)
    assert isinstance(done["took_ms"], int)
    assert done["listener"]
    assert "secret" not in "".join(burst.err)


def test_arguments_are_logged_with_v_only(processes: Processes, server: Server, name: str) -> None:
    for loudness, shown in ((), "app.greet(...)"), (("-v",), 'app.greet("word")'):
        ended(processes.workkit("now", name, "app:greet", "word", "--redis", server.url))
        burst = ended(processes.workkit("listen", name, "--burst", *loudness, "--redis", server.url))
        assert f"  {shown}  " in "\n".join(burst.err)


def test_settings_and_environment_reach_listen(processes: Processes, server: Server, name: str, app: Path) -> None:
    (app / "pyproject.toml").write_text(f'[tool.workkit]\nschedules = ["{name}"]\nthreads = 3\n')
    env = {"REDIS_URL": server.url}
    listener = processes.workkit("listen", env=env)
    listener.wait_for(rf"listening  {name} on .*, 3 threads")
    listener.send(signal.SIGTERM)
    ended(listener)
    listener = processes.workkit("listen", env=env | {"WORKKIT_THREADS": "2", "WORKKIT_IMPORT": "app,json.tool"})
    ended(listener, 2)
    assert "the standard library is never run" in listener.err[0]


def test_listen_without_a_server_ends_with_69(processes: Processes, name: str) -> None:
    start = time.monotonic()
    listener = ended(processes.workkit("listen", name, "--redis", "redis://127.0.0.1:1/"), 69)
    assert time.monotonic() - start < 12
    assert len(listener.err) == 1
    assert all(part in listener.err[0] for part in ("redis://127.0.0.1:1/0", "--redis URL", "--embedded"))


def test_listeners_shows_who_listens(processes: Processes, server: Server, name: str) -> None:
    listener = processes.workkit("listen", name, "--threads", "7", "--coroutines", "70", "--redis", server.url)
    listener.wait_for("listening")
    shown = ended(processes.workkit("listeners", name, "--redis", server.url))
    columns = ["LISTENER", "SCHEDULES", "BUSY", "COROUTINES", "STATE", "BEAT", "UP", "VERSION", "NOW"]
    assert shown.out[0].split() == columns
    assert re.search(rf":{listener.pid}:\w+ +{name} +0/7 +0/70 +listening ", shown.out[1])
    record = json.loads("".join(ended(processes.workkit("listeners", name, "--json", "--redis", server.url)).out))[0]
    assert (record["pid"], record["threads"], record["schedules"]) == (listener.pid, 7, {name: 1})
    assert (record["coroutines"], record["awaited"]) == (70, 0)
    listener.send(signal.SIGTERM)
    ended(listener)


def test_a_listener_with_a_name_is_shown_by_it(processes: Processes, server: Server, name: str) -> None:
    listener = processes.workkit("listen", name, "--name", "web-1", "--redis", server.url)
    listener.wait_for("listening")
    shown = ended(processes.workkit("listeners", name, "--redis", server.url))
    assert re.match(rf"web-1:{listener.pid}:\w+ +{name} ", shown.out[1])
    record = json.loads("".join(ended(processes.workkit("listeners", name, "--json", "--redis", server.url)).out))[0]
    assert record["name"] == "web-1"
    listener.send(signal.SIGTERM)
    ended(listener)


def test_a_reader_that_leaves_is_no_error(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    for year in range(2050, 2056):
        schedule.add(s, "app:greet", at=f"{year}-01-01", args=["x" * 20_000])
    line = f"{sys.executable} -m workkit list {name} --redis {server.url} | head -c 1"
    piped = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=30)
    assert piped.stderr == ""


def on_terminal(*words: str, columns: int, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run a command line on a terminal so wide, and give what it showed."""
    with closing(terminals.on_terminal(*words, columns=columns, cwd=Path.cwd(), env=env)) as shown:
        return shown.wait(), shown.text


@pytest.fixture
def filled(server: Server, name: str) -> list[str]:
    words = ["every weekday at 9am", "app:greet", "a rather long argument of this function"]
    assert workkit("add", name, *words, "--redis", server.url).returncode == 0
    return [name, "--redis", server.url]


def test_a_terminal_of_forty_columns_is_not_exceeded(filled: list[str]) -> None:
    status, shown = on_terminal("list", *filled, columns=40, env={"NO_COLOR": "1"})
    assert status == 0
    assert all(len(line) <= 40 for line in shown.splitlines())
    assert "app.gre" in shown


@pytest.mark.parametrize(
    ("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False), ({"NO_COLOR": ""}, True)]
)
def test_colour_is_for_terminals_that_want_it(filled: list[str], env: dict[str, str], coloured: bool) -> None:
    assert ("\x1b[" in on_terminal("list", *filled, columns=120, env=env)[1]) is coloured


def test_a_pipe_has_colour_only_by_force(filled: list[str]) -> None:
    assert "\x1b[" not in workkit("list", *filled).stdout
    assert "\x1b[" in workkit("list", *filled, env={"FORCE_COLOR": "1"}).stdout


def test_an_ascii_locale_is_no_error(server: Server, name: str) -> None:
    env = {"PYTHONIOENCODING": "ascii"}
    added = workkit("now", name, "app:greet", "größe 日本", "--redis", server.url, env=env)
    assert added.returncode == 0
    listed = workkit("list", name, "--json", "--redis", server.url, env=env)
    assert json.loads(listed.stdout)[0]["args"] == ["größe 日本"]


def test_demo_shows_what_it_measured_and_keeps_server_and_data_if_told(processes: Processes, tmp_path: Path) -> None:
    """In pipes and on terminals side by side, as each takes some 12 seconds. It is in colour on a terminal, and breaks
    no word.
    """
    demo, kept = processes.workkit("demo"), processes.workkit("demo", "--keep")
    with ExitStack() as ends:
        widths = {
            columns: ends.enter_context(closing(terminals.on_terminal("demo", columns=columns, cwd=tmp_path)))
            for columns in (40, 80)
        }
        for columns, shown in widths.items():
            assert shown.wait(60) == 0
            check_its_lines(shown, columns)
    check_what_it_shows(ended(demo, timeout=60))
    line = next(line for line in ended(kept, timeout=60).out if line.startswith("Kept in .workkit."))
    listener = processes.workkit(*line.partition("workkit ")[2].split())
    listener.wait_for(r"done .*workkit\.demo\.tick\(\)")
    listener.send(signal.SIGTERM)
    ended(listener)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_demo_shows_its_jobs_in_the_browser_until_it_is_ended(processes: Processes, sign: signal.Signals) -> None:
    demo = processes.workkit("demo", "--web")
    address = demo.wait_for(r"^Open (http://127\.0\.0\.1:\d+/)$")[1]
    try:
        with urllib.request.urlopen(address, timeout=30) as answer:
            assert answer.url == f"{address}s/demo/"
            assert "workkit.demo.tick" in answer.read().decode()
    except OSError as error:
        pytest.fail(f"{error!r}\n{demo.transcript()}")
    demo.wait_for(r"done +workkit\.demo\.tick\(\)")
    demo.send(sign)
    ended(demo)
    assert any("stopped    ran" in line for line in demo.out)
    assert any("web my-tasks --embedded" in line for line in demo.out)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address, timeout=5)


def check_what_it_shows(demo: Process) -> None:
    text = "\n".join(demo.out)
    assert demo.err == []
    assert re.match(r"workkit demo: a private (Valkey|Redis) server, four jobs, one listener\. About 12 seconds;", text)
    assert '  schedule.add_now(s, hello, args=["now"])                 at once\n' in text
    assert (
        '  schedule.add(s, at="7pm tomorow", fn=hello)              refused: "tomorow" is not understood. '
        'Did you mean "7pm tomorrow"?\n'
    ) in text
    assert re.search(r'done       workkit\.demo\.hello\("now"\)  [\d.]+ m?s after due +hello, now$', text, re.MULTILINE)
    assert re.search(r'done       workkit\.demo\.hello\("3s"\)   [\d.]+ m?s after due +hello, 3s$', text, re.MULTILINE)
    assert re.search(r"done       workkit\.demo\.tick\(\)        [\d.]+ m?s after due +tick 2$", text, re.MULTILINE)
    still = r"Still waiting: 7pm tomorrow, and the next tick\.$"
    assert re.search(rf"stopped    ran [45], failed 0\. {still}", text, re.MULTILINE)
    commands = [re.sub(r"^.*workkit (?=\w+ )", "", line).split("  ")[0] for line in demo.out[-3:]]
    assert commands == ["listen my-tasks --embedded", "now my-tasks app:hi --embedded", 'next "every weekday at 9am"']


@pytest.mark.parametrize("columns", [60, 100])
def test_the_lines_of_a_listener_break_no_word_on_a_terminal(
    server: Server, name: str, app: Path, columns: int
) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add_now(s, "app:greet", args=["a rather long-winded argument of this function, of many words"])
    schedule.add_now(s, "app:fail")
    with closing(terminals.on_terminal("listen", name, "--redis", server.url, columns=columns, cwd=app)) as listener:
        listener.wait_for(r"(?s)dead.*disk full.*done|(?s:done.*disk full)")
        listener.child.send_signal(signal.SIGINT)
        assert listener.wait() == 0
    lines = [line for line in listener.plain.splitlines() if not line.startswith("a rather")]  # what the job prints
    assert all(cells(line) <= columns for line in lines), listener.plain
    said = " ".join(listener.plain.split())
    assert "functions under ./ (this folder). Ctrl-C stops." in said
    assert '"a rather long-winded argument of this function, of many words"' in said
    assert any(line.startswith(" " * 21) and line.strip() for line in lines)


def check_its_lines(demo: terminals.Terminal, columns: int) -> None:
    assert "\x1b[32mdone\x1b[0m" in demo.text
    assert "\x1b[31mrefused:\x1b[0m" in demo.text
    lines = demo.plain.splitlines()
    assert all(cells(line) <= columns for line in lines)
    said = " ".join(demo.plain.split())
    for whole in (
        "four jobs, one listener. About 12 seconds; Ctrl-C ends it sooner.",
        'schedule.add(s, in_="3 seconds", fn=hello, args=["3s"])',
        "failed 0. Still waiting: 7pm tomorrow, and the next tick.",
        "listen my-tasks --embedded",
    ):
        assert whole in said


def test_demo_ends_sooner_with_ctrl_c(processes: Processes) -> None:
    demo = processes.workkit("demo")
    demo.wait_for(r"hello, now")
    demo.send(signal.SIGINT)
    ended(demo, 0, timeout=8)
    assert any("stopped    ran " in line for line in demo.out)
    assert demo.err == []


@pytest.mark.parametrize("line", [r"listening  demo", r"at once"])
def test_demo_that_is_interrupted_early_says_so_and_is_no_failure(processes: Processes, line: str) -> None:
    demo = processes.workkit("demo")
    demo.wait_for(line)
    demo.send(signal.SIGINT)
    ended(demo, 0, timeout=8)
    assert any("stopped" in line for line in demo.out)
    assert demo.err == []


def test_burst_counts_the_runs_that_wait_for_a_retry(
    processes: Processes, server: Server, name: str, app: Path
) -> None:
    s = schedule.create(name, redis=server.url)
    for _ in range(2):
        schedule.add_now(s, "app:fail", retries=3, base="1h")
    burst = processes.workkit("listen", name, "--burst", "--redis", server.url)
    ended(burst, 75)
    assert re.search(
        r"stopped    ran 2, failed 0, retried 2, given back 0, up [^;]+; 2 wait for a retry$", burst.err[-1]
    )
    several = processes.workkit("listen", name, "--burst", "--processes", "2", "--redis", server.url)
    ended(several, 75)
    assert several.err[-1].endswith("; 2 wait for a retry")
    asjson = processes.workkit("listen", name, "--burst", "--log", "json", "--redis", server.url)
    ended(asjson, 75)
    assert json.loads(asjson.err[-1])["retrying"] == 2
    ended(processes.workkit("listen", f"{name}-empty", "--burst", "--redis", server.url), 0)


def test_the_last_line_counts_every_run(processes: Processes, server: Server, name: str, app: Path) -> None:
    (app / "flaky.py").write_text(
        "from workkit import current_job\n\n\ndef often():\n    if current_job().attempt < 10:\n        raise OSError\n"
    )
    s = schedule.create(name, redis=server.url)
    schedule.add_now(s, "flaky:often", retries=20, base="0s")
    schedule.add_now(s, "app:fail")
    burst = processes.workkit("listen", name, "--burst", "--redis", server.url)
    ended(burst)
    assert "stopped    ran 12, failed 1, retried 10, given back 0, up " in burst.err[-1]
