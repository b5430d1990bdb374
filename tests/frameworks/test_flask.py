"""`workkit.flask`: examples/flask_app.py as it stands, and what the extension refuses."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.examples import runs_of_poll
from tests.optional import needed
from tests.processes import Processes, until
from tests.servers import Server
from workkit import schedule
from workkit.errors import InvalidFunction, InvalidOptions, InvalidSchedule
from workkit.jobs.middleware import AROUND

flask = needed("flask")

from workkit.flask import Workkit, make_again  # noqa: E402 (without Flask there is no such module)

HOW: dict[str, Any] = {"imports": [__name__], "folder": None}
told: list[str] = []
ADD = """
from flask_app import create_app
print(create_app().test_client().post("/signups/tracy@domain.com").json["job"])
"""


def tell(what: str) -> None:
    told.append(f"{what} in {flask.current_app.name}, {vars(flask.g)}")
    flask.g.left = "behind"


async def tell_later(what: str) -> None:
    tell(what)


def fail() -> None:
    raise OSError("disk full")


@pytest.fixture(autouse=True)
def forgotten(name: str) -> Iterator[None]:
    """Leave no middleware behind."""
    told.clear()
    yield
    AROUND.pop(name, None)


def test_each_run_has_an_application_context_of_its_own(server: Server, name: str) -> None:
    app, wk = flask.Flask("shop"), Workkit()
    app.config.update(WORKKIT_SCHEDULE=name, WORKKIT_REDIS_URL=server.url, WORKKIT_TZ="Europe/Paris")
    app.teardown_appcontext(lambda error: told.append(f"torn down after {error!r}"))
    wk.init_app(app)
    with app.app_context():
        s = wk.schedule
    assert (s.name, s.tz) == (name, "Europe/Paris")
    told.clear()
    schedule.add_now(s, tell, args=["in a thread"])
    schedule.drain(s, **HOW)
    schedule.add_now(s, tell_later, args=["in a coroutine"])
    schedule.drain(s, **HOW)
    schedule.add_now(s, fail)
    schedule.drain(s, raise_errors=False, **HOW)
    assert told == [
        "in a thread in shop, {}",
        "torn down after None",
        "in a coroutine in shop, {}",
        "torn down after None",
        "torn down after OSError('disk full')",
    ]


def test_the_application_that_was_made_last_has_the_runs(server: Server, name: str) -> None:
    wk = Workkit(schedule=schedule.create(name, redis=server.url))
    for title in ("first", "second"):
        wk.init_app(flask.Flask(title))
    schedule.add_now(wk.schedule, tell, args=["once"])
    schedule.drain(wk.schedule, **HOW)
    assert told == ["once in second, {}"]
    assert len(AROUND[name].plain) == 1


def test_two_applications_have_their_own_schedules(name: str) -> None:
    wk, apps = Workkit(), [flask.Flask(title) for title in ("shop", "bank")]
    for app in apps:
        app.config["WORKKIT_SCHEDULE"] = f"{name}-{app.name}"
        wk.init_app(app)
    for app in apps:
        with app.app_context():
            assert wk.schedule.name == f"{name}-{app.name}"
        AROUND.pop(f"{name}-{app.name}")


def test_a_mistake_is_named() -> None:
    app, wk = flask.Flask("shop"), Workkit()
    with pytest.raises(InvalidOptions, match=r"^WORKKIT_SCHEDULE is not in the configuration. Write app.config\["):
        wk.init_app(app)
    with pytest.raises(InvalidOptions, match=r"^wk.schedule is asked for outside of an application. Use it in a"):
        _ = wk.schedule
    with app.app_context(), pytest.raises(InvalidOptions, match=r"Call wk.init_app\(app\) first.$"):
        _ = wk.schedule
    app.config["WORKKIT_SCHEDULE"] = "app tasks"
    with pytest.raises(InvalidSchedule, match="has a blank at column 4"):
        wk.init_app(app)
    with pytest.raises(InvalidSchedule, match="'shop' is a text, not a Schedule"):
        Workkit(schedule="shop")  # type: ignore[arg-type]


def test_four_listeners_run_each_occurrence_once_and_stop_cleanly(processes: Processes, examples: Path) -> None:
    words = (sys.executable, "-m", "flask", "--app", "flask_app", "workkit")
    listen = (*words, "listen", "--sync", "--processes", "2", "--log", "json")
    pairs = [processes.run(*listen, cwd=examples) for _ in range(2)]
    s = schedule.create("flask", redis=f"embedded://{examples}/.workkit")
    for pair in pairs:
        pair.wait_for('"listening"', timeout=60)
    until(lambda: len(schedule.listeners(s)) == 4, what="four listeners")
    added = processes.python(ADD, cwd=examples)
    assert added.wait(timeout=60) == 0, added.transcript()
    assert re.fullmatch("[0-9a-f]{40}", added.out[0])
    until(lambda: len(runs_of_poll(*pairs)) >= 5, what="five runs")
    until(lambda: any("the shop misses you, tracy@domain.com" in pair.out for pair in pairs), what="the coroutine")
    assert any("welcome to the shop, tracy@domain.com" in pair.out for pair in pairs)

    for pair in pairs:
        pair.send(signal.SIGTERM)
    for pair in pairs:
        assert pair.wait(timeout=60) == 0, pair.transcript()
    due = runs_of_poll(*pairs)
    assert len(set(due)) == len(due)
    assert schedule.listeners(s) == []


def test_the_commands_are_those_of_workkit_for_the_schedule_of_the_application(
    processes: Processes, examples: Path
) -> None:
    words = (sys.executable, "-m", "flask", "--app", "flask_app", "workkit")
    listed = processes.run(*words, "list", "--json", cwd=examples)
    wrong = processes.run(*words, "lisen", cwd=examples)
    assert (listed.wait(timeout=60), listed.out) == (0, ["[]"])
    assert (wrong.wait(timeout=60), wrong.err) == (2, ['error: workkit has no command "lisen". Did you mean listen?'])


FACTORY = """
from flask import Flask, current_app
from workkit import current_job, job
from workkit.flask import Workkit

wk = Workkit()


@job(cpu=True)
def burn(folder):
    with open(f"{folder}/burnt", "a") as file:
        print(current_app.config["SHOP"], current_job().schedule, file=file)


def create_app(shop="the usual shop"):
    app = Flask(__name__)
    app.config.update(SHOP=shop, WORKKIT_SCHEDULE="SCHEDULE", WORKKIT_REDIS_URL="URL"MORE)
    wk.init_app(app)
    return app
"""
MAIN = """
import sys
from factory import burn, create_app, wk
from workkit import schedule

app = create_app("the shop of main")
with app.app_context():
    s = wk.schedule
job = schedule.add_now(s, burn, args=[sys.argv[1]])
schedule.drain(s)
"""


def factory(folder: Path, server: Server, name: str, more: str = "") -> None:
    text = FACTORY.replace('SCHEDULE"', f'{name}"').replace('URL"', f'{server.url}"').replace("MORE", more)
    (folder / "factory.py").write_text(text)
    (folder / "main.py").write_text(MAIN)


@pytest.mark.parametrize(
    ("path", "said"),
    [("factory", "the usual shop"), ("factory:create_app('the other shop')", "the other shop")],
)
def test_a_worker_process_has_the_application_of_the_command(
    processes: Processes, server: Server, name: str, tmp_path: Path, path: str, said: str
) -> None:
    factory(tmp_path, server, name)
    s = schedule.create(name, redis=server.url)
    for _ in range(2):
        schedule.add_now(s, "factory:burn", args=[str(tmp_path)])
    listening = processes.run(
        sys.executable, "-m", "flask", "--app", path, "workkit", "listen", "--burst", cwd=tmp_path
    )
    assert listening.wait(timeout=60) == 0, listening.transcript()
    assert (tmp_path / "burnt").read_text() == f"{said} {name}\n" * 2, listening.transcript()


@pytest.mark.parametrize(
    ("more", "said"),
    [("", "the usual shop"), (", WORKKIT_APP=\"factory:create_app('said')\"", "said")],
    ids=["found in its module", "said in the configuration"],
)
def test_a_worker_process_makes_the_application_of_a_program(
    processes: Processes, server: Server, name: str, tmp_path: Path, more: str, said: str
) -> None:
    factory(tmp_path, server, name, more)
    program = processes.run(sys.executable, "main.py", str(tmp_path), cwd=tmp_path)
    assert program.wait(timeout=60) == 0, program.transcript()
    assert (tmp_path / "burnt").read_text() == f"{said} {name}\n"


def test_an_application_that_no_worker_process_can_make_is_named(
    server: Server, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    factory(tmp_path, server, name)
    file = tmp_path / "factory.py"
    file.write_text(file.read_text().replace('shop="the usual shop"', "shop"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "factory", raising=False)
    with pytest.raises(InvalidFunction, match=r'^the application "factory" cannot be made in a worker process: .*Say'):
        make_again("factory")
