"""The examples and the peers of interop/, run as they stand."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import sys
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest

from tests import rabbit
from tests.optional import needed
from tests.processes import Process, Processes, until
from tests.servers import Server, program
from workkit import schedule
from workkit.brokers.hutch.names import Names
from workkit.testing import plugin

ROOT = Path(__file__).parent.parent
SAID = {  # what each prints, wherever in its lines
    "cancel.py": ("later is gone", "a thread has tidied up", "a coroutine has tidied up", "all three are over"),
    "cpu.py": ("in a thread of the listener: True", "on its event loop: True", "in a process of its own: True"),
    "gocraft_bridge.py": (
        "mail to tracy@domain.com",
        "mail to ada@domain.com",
        "digest for platform, job [0-9a-f]{24}",
        "resize_image waits for a pool in Go",
        "its arguments: {'path': 'cat.png', 'width': 640}",
    ),
    "limits.py": ("at most alice: [12] all: [123] bob: [12]", "six calls took half a second, or more"),
    "middleware.py": ("tracy greets ada", "a run took a moment", "tracy greets nobody", "ran 2, failed 0"),
    "named.py": (
        "first: 2 added",
        "digest replaced the one of the plan",
        "again: 1 changed, 1 unchanged",
        "/tmp swept",
    ),
    "order.py": ("priority 3, priority 2, priority 1, priority 0", r"most were \w+; then the rest: 200"),
    "pausing.py": ("cleaned", r"paused until .* UTC: the mail server moves", "mail to tracy@domain.com"),
    "progress.py": (r"it is at \d+ 1000000", "cancelled, and tidied up"),
    "recurring.py": ("every second: .*every second: ", "once, late: ", "polled.*polled", r"missed: poll, overlap, \d"),
    "request_id.py": ("request-7: charged order 42", "request-7: thanked for order 42", "-: no request here"),
    "sentry_errors.py": (
        "fails twice\nto Sentry: OSError: disk full on monday in export, tags {.*sentry-errors.*}(?!.*to Sentry)",
    ),
    "unique.py": (
        "kept rebuilt from 1",
        "replaced rebuilt from 2",
        "throttled rebuilt from 1",
        "debounced rebuilt from 3",
    ),
    "web.py": ("welcome, tracy@domain.com",),
}

FRAMEWORKS = ("fastapi_app.py", "flask_app.py", "litestar_app.py")  # of tests/frameworks/
MOUNTED = ("web_django.py", "web_fastapi.py", "web_flask.py", "web_litestar.py")  # of tests/test_mounts.py
APPLICATIONS = {"reminders": "fastapi", "pipeline": "workkit", "shop": "flask"}  # folders, each with what it needs
NEEDS = {"sentry_errors.py": "sentry_sdk"}  # packages that CI has, and others may have


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "examples", tmp_path / "examples"))


def test_one_file_adds_and_listens_and_another_listener_runs_the_same(processes: Processes, examples: Path) -> None:
    program("valkey")
    alone = processes.run(sys.executable, "app.py", cwd=examples)
    alone.wait_for("hello, now")
    alone.wait_for("hello, in two seconds")
    s = schedule.create("examples", redis=f"embedded://{examples.resolve()}/.workkit")
    until(lambda: [job.fn for job in schedule.jobs(s)] == ["#'app/greet"], what="the end of the one that printed")
    alone.send(signal.SIGTERM)
    assert alone.wait() == 0
    beside = processes.workkit("listen", "examples", f"--embedded={examples / '.workkit'}", cwd=examples)
    beside.wait_for("listening")
    schedule.add_now(s, "app:greet", args=["beside"])
    beside.wait_for("hello, beside")
    beside.send(signal.SIGINT)
    assert beside.wait() == 0


def test_all_others_run_side_by_side_on_the_server_of_their_folder(processes: Processes, examples: Path) -> None:
    program("valkey")
    assert sorted([*SAID, "app.py", "hutch_events.py", *FRAMEWORKS, *MOUNTED]) == sorted(
        path.name for path in examples.glob("*.py")
    )
    chosen = [name for name in SAID if name not in NEEDS or os.environ.get("CI") or find_spec(NEEDS[name])]
    running = {name: processes.run(sys.executable, name, cwd=examples) for name in chosen}
    for name, process in running.items():
        assert process.wait(timeout=120) == 0, process.transcript()
        for said in SAID[name]:
            assert re.search(said, "\n".join(process.lines), re.DOTALL), f"no {said!r}\n{process.transcript()}"


def test_the_head_of_an_example_installs_what_it_uses() -> None:
    heads = {file: file.read_text().split('"""')[1:2] for file in (ROOT / "examples").rglob("*.py")}
    lines = {file.name: line for file, head in heads.items() for line in "".join(head).splitlines() if "pip in" in line}
    assert len(lines) == 11
    for name, line in lines.items():
        assert re.match(r"pip install '/path/to/workkit\[(django,)?embedded(,web)?\]'", line), f"{name}: {line}"


def started(processes: Processes, examples: Path, application: str, command: str, *more: str) -> Process:
    """Run a command as the head of an application has it, in its folder."""
    head = (examples / application / f"{application}.py").read_text().split('"""')[1]
    assert re.search(rf"\b{re.escape(command)}( {{2}}| &&|$)", head, re.MULTILINE), f"no command {command!r} in\n{head}"
    words = shlex.split(command.removeprefix("python -m "))
    return processes.run(sys.executable, "-m", *words, *more, cwd=examples / application)


@pytest.mark.parametrize(("application", "module"), APPLICATIONS.items())
def test_the_tests_of_an_application_pass_and_it_stays_small(
    processes: Processes, examples: Path, application: str, module: str
) -> None:
    program("valkey")
    needed(module)
    folder = examples / application
    lines = sum(len(file.read_text().splitlines()) for file in folder.iterdir() if file.suffix in (".py", ".toml"))
    assert lines < 200
    tests = started(processes, examples, application, "python -m pytest", "-q", "-p", plugin.__name__)
    assert tests.wait(timeout=120) == 0, tests.transcript()
    tests.wait_for(r"^\d+ passed")


def test_the_reminders_are_served_and_told(processes: Processes, examples: Path) -> None:
    program("valkey")
    needed("fastapi")
    served = started(processes, examples, "reminders", "uvicorn reminders:api", "--port", "0")
    address = served.wait_for(r"running on (http://127\.0\.0\.1:\d+)", timeout=60)[1]
    new = {"text": "water the plants", "when": "in 1 second"}
    assert httpx.post(f"{address}/reminders", json=new, headers={"user": "7"}, timeout=30).status_code == 201
    served.wait_for("to user 7: water the plants")


def test_the_pipeline_runs_a_night_by_hand(processes: Processes, examples: Path) -> None:
    program("valkey")
    synced = started(processes, examples, "pipeline", "workkit sync pipeline plan.toml --embedded")
    assert synced.wait() == 0, synced.transcript()
    listener = started(processes, examples, "pipeline", "workkit listen pipeline --embedded")
    listener.wait_for("listening")
    night = ("--args", '["2026-11-05"]')
    assert started(processes, examples, "pipeline", "workkit run pipeline nightly --embedded", *night).wait() == 0
    listener.wait_for("night of 2026-11-05: 17 rows")


def test_the_shop_takes_an_order_and_makes_its_invoice_in_a_worker_process(
    processes: Processes, examples: Path
) -> None:
    program("valkey")
    needed("flask")
    listener = started(processes, examples, "shop", "flask --app shop workkit listen --sync")
    served = started(processes, examples, "shop", "flask --app shop run", "--port", "0")
    address = served.wait_for(r"Running on (http://127\.0\.0\.1:\d+)", timeout=60)[1]
    with httpx.Client(base_url=f"{address}/acme", timeout=30) as client:
        client.post("/ada/cart/tea")
        number = client.post("/ada/order").json()["number"]
        listener.wait_for("acme to ada: thank you for tea", timeout=60)
        made = f"Invoice {number} for ada: tea"
        until(lambda: client.get(f"/invoices/{number}").text == made, what=made)


def test_the_services_on_rabbitmq_share_an_exchange(processes: Processes, examples: Path, amqp: str, name: str) -> None:
    words = (sys.executable, "hutch_events.py")
    try:
        audit = processes.run(*words, "audit", amqp, name, cwd=examples)
        audit.wait_for("audit listens")
        billing = processes.run(*words, "billing", amqp, name, cwd=examples)
        for service in (billing, audit):
            assert service.wait(timeout=40) == 0, service.transcript()
    finally:
        names = Names(exchange=name, dialect="hutch")
        queues = ("billing:orders.created", "billing:invoices.due", "audit:orders.created")
        rabbit.forget(amqp, names, *(f"{name}-{queue}" for queue in queues))
    said = {audit: ["audit listens", *(f"order {n} noted" for n in (1, 2, 3))], billing: [
        "billing listens",
        "invoice for order 1",
        "invoice for order 2",
        "order 1 charged in attempt 2",
        "order 2 charged in attempt 1",
        "order 3 is free",
    ]}  # fmt: skip
    for service, expected in said.items():
        text = "\n".join(service.out)  # threads print side by side: one's line may end after another's has begun
        found = re.findall(r"\w+ listens|invoice for order \d|order \d (?:noted|is free|charged in attempt \d)", text)
        assert sorted(found) == expected, service.transcript()


def test_the_plan_of_the_examples_is_shown_and_carried_out_by_a_command(processes: Processes, examples: Path) -> None:
    program("valkey")
    words = ("sync", "named", "plan.toml", f"--embedded={examples / '.workkit'}")
    shown = processes.workkit(*words, "--dry-run", cwd=examples)
    assert shown.wait() == 0, shown.transcript()
    shown.wait_for(r"^\+ digest +named\.digest\(\) +every weekday at 9:00 Europe/Paris")
    shown.wait_for(r"2 added, in a new schedule \(nothing was done: --dry-run\)")
    done = processes.workkit(*words, cwd=examples)
    assert done.wait() == 0, done.transcript()
    s = schedule.create("named", redis=f"embedded://{examples.resolve()}/.workkit")
    assert sorted(job.name or "?" for job in schedule.jobs(s)) == ["digest", "sweep"]


def test_a_job_added_from_the_shell_runs(server: Server, name: str, processes: Processes, tmp_path: Path) -> None:
    if not shutil.which("redis-cli"):
        program("redis")  # the package that brings it; skips or fails as a missing server does
    (tmp_path / "app.py").write_text("def say(text, n): print('said', text, n, flush=True)\n")
    listener = processes.workkit("listen", name, "--redis", server.url)
    listener.wait_for("listening")
    shell = ROOT / "interop" / "shell" / "add.sh"
    args = json.dumps(["from the shell", 7])
    adding = processes.run(str(shell), name, "#'app/say", args, "-p", str(server.port))
    assert adding.wait() == 0, adding.transcript()
    listener.wait_for("said from the shell 7")
    until(lambda: not server.client().exists(f"{name}:jobs", f"{name}:next"))
