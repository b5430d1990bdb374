"""What type checkers and editors say of users' programs: mistakes in options and arguments are refused, all of
README.md and of the guide is accepted, and an editor completes the methods of a function.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jedi
import pytest

from tests.docs.page import parts_of

ROOT = Path(__file__).parent.parent
CALLS = (ROOT / "tests" / "typing" / "right.py", ROOT / "tests" / "typing" / "wrong.py")
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs" / "guide").glob("*.md")])

MISTAKES = """\
from datetime import timedelta

from workkit import aio, call, job, schedule
from workkit.jobs.call import AddOptions, Row

s = schedule.create("app-tasks")


def send(to: str, *, copies: int = 1) -> None: ...


schedule.add(s, send, at="now", priorty=2)  # Unexpected keyword argument "priorty"
schedule.add(s, send, at="now", retries="x")  # Argument "retries"
schedule.add(s, send, every="minute", overlap="wait")  # Argument "overlap"
schedule.add(s, send, every="minute", limit=2)  # Unexpected keyword argument "limit"
schedule.add(s, send, when=5)  # Argument "when"
schedule.add_now(s, send, timeout=30)  # Argument "timeout"
schedule.add_now(s, call=call(send))  # Too few arguments|Missing positional argument|No overload variant
schedule.add_now(s, call=call(send, 5))  # Argument 2|No overload variant
schedule.add_now(s, call=call(send, "a@b.c", copys=2))  # Unexpected keyword argument|No overload variant
schedule.listener(s, thread=4)  # Unexpected keyword argument "thread"
schedule.listen(s, deadline=25)  # Argument "deadline"
schedule.drain(s, strict="yes")  # Argument "strict"
schedule.cancel(s, "digest", missing_ok=True).id  # Item "None" of "Job
row: Row = {"fn": send, "overlap": "wait"}  # Incompatible types


@job(retrys=5)  # Unexpected keyword argument "retrys"
def one() -> None: ...


@job(rate=5)  # No overload variant of "job"
def two() -> None: ...


async def three() -> None:
    await aio.add(s, send, at="now", priorty=2)  # Unexpected keyword argument "priorty"
    text: str = await aio.counts(s)  # Incompatible types
    print((await aio.cancel(s, "digest", missing_ok=True)).id)  # Item "None" of "Job
    await aio.add_now(s, send, retries="x")  # Argument "retries"
"""

RIGHT = """\
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from workkit import Job, aio, call, clojure, job, schedule
from workkit.jobs.call import AddOptions, ListenOptions, Row

s = schedule.create("app-tasks")


@job
def send(to: str, *, copies: int = 1) -> None: ...


@job("your-app.mail/send", retries=3, retry_on=(OSError,), rate="3/10s", limit=1, limit_key=lambda to: to, cpu=True)
async def post(to: str) -> int:
    return 1


def from_v1(to: str) -> tuple[str, int]:
    return to, 1


def tell(id: str, error: str) -> None: ...


@job(accepts=[from_v1], on_failure=tell)
def letter(to: str, copies: int) -> None: ...


print(schedule.retry(s, map=from_v1), schedule.create("mail", on_failure="app.mail:tell").on_failure)
options: AddOptions = {"retries": 3, "timeout": timedelta(minutes=1), "tz": ZoneInfo("Europe/Paris"), "name": None}
added: Job = schedule.add(s, send, when="every weekday at 9am", args=["a@b.c"], **options)
schedule.add(s, at=datetime(2050, 1, 1, tzinfo=UTC), fn=send)
schedule.add(s, call=call(send, "a@b.c", copies=2), in_=timedelta(hours=1), priority=3, unique=False)
schedule.add_now(s, call=call(post, to="a@b.c"), debounce="30s", debounce_most="2m")
schedule.add_now(s, call=call("app.mail:send", "a@b.c"))
schedule.add_now(s, clojure("(fn [x] x)"), args=[1])
rows: list[Row] = [{"fn": send, "when": "7pm tomorrow"}, {"call": call(post, "a@b.c"), "at": "now", "overlap": "skip"}]
print(schedule.add_many(s, rows).new, schedule.sync(s, {"mail": rows[0]}, prune=True).added)
print(schedule.add_many(s, ({"fn": "app:f", "in_": f"{n} hours"} for n in range(1, 5))).known)
how: ListenOptions = {"threads": 4, "imports": ["app"], "folder": None, "deadline": "1m", "health_port": 8080}
schedule.drain(s, limit=1, **how)
gone: Job = schedule.cancel(s, added)
perhaps: Job | None = schedule.cancel(s, "digest", missing_ok=True)


async def main() -> None:
    again: Job = await aio.add(s, send, when="tomorrow at 7pm", args=["a@b.c"], retries=3)
    over: Job = await aio.cancel(s, again, missing_ok=False)
    missing: Job | None = await aio.cancel(s, again, missing_ok=True)
    print((await aio.counts(s)).waiting, (await aio.retry(s, again.id)) + 1)
    async for one in aio.jobs(s):
        print(one.id)
    async with aio.listener(s, threads=4) as listener:
        listener.quiet()
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What mypy --strict says, by file; it reads workkit as an installed package."""
    folder = tmp_path_factory.mktemp("programs")
    shutil.copytree(ROOT / "examples" / "readme" / "app", folder / "app")
    for name in ("shop.py", "with_workkit.py"):
        shutil.copy(ROOT / "examples" / "comparison" / name, folder)
    (folder / "mistakes.py").write_text(MISTAKES)
    (folder / "right.py").write_text(RIGHT)
    for file in CALLS:
        shutil.copy(file, folder / f"calls_{file.name}")
    for page in PAGES:
        parts = [part for part in parts_of(page) if part.kind == "python"]
        blocks = [part.text for part in parts if not any(one.file for one in parts)]  # files import one another
        (folder / f"{page.stem.lower()}.py").write_text("\n".join(blocks))  # one program, as the pages say
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context",
         *sorted(path.name for path in folder.glob("*.py"))],
        cwd=folder, env={**os.environ, "MYPYPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        found.setdefault(line.partition(":")[0], []).append(line)
    return found


@pytest.mark.parametrize(
    ("number", "line"),
    [(n, line) for n, line in enumerate(MISTAKES.splitlines(), 1) if "  # " in line],
    ids=lambda value: str(value),
)
def test_a_mistake_is_refused(said: dict[str, list[str]], number: int, line: str) -> None:
    expected = re.compile(line.partition("  # ")[2])
    errors = [one for one in said["mistakes.py"] if one.startswith(f"mistakes.py:{number}: error: ")]
    assert any(expected.search(error) for error in errors), errors


def test_nothing_else_is_refused(said: dict[str, list[str]]) -> None:
    marked = {n for n, line in enumerate(MISTAKES.splitlines(), 1) if "  # " in line}
    errors = {int(one.split(":")[1]) for one in said["mistakes.py"] if ": error: " in one}
    assert errors == marked
    assert {file: lines for file, lines in said.items() if file not in ("mistakes.py", "calls_wrong.py")} == {}


@pytest.fixture(scope="module")
def refusals(said: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[int, str]]:
    """The errors in `tests/typing/wrong.py` by line, of mypy and of pyright, which refuses nothing in `right.py`."""
    folder = tmp_path_factory.mktemp("pyright")
    for file in CALLS:
        shutil.copy(file, folder)
    config = {"extraPaths": [str(ROOT)], "typeCheckingMode": "strict"}
    (folder / "pyrightconfig.json").write_text(json.dumps(config))
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "-p", str(folder), "--pythonpath", sys.executable, "--outputjson"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[str, dict[int, str]] = {"mypy": {}, "pyright": {}}
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == len(CALLS)
    errors = [(Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["message"])
              for one in report["generalDiagnostics"] if one["severity"] == "error"]  # fmt: skip
    assert [error for error in errors if error[0] != "wrong.py"] == []
    lines = [line.split(":", 2) for line in said["calls_wrong.py"] if ": error: " in line]
    for checker, number, message in (
        *(("mypy", int(number), message) for _, number, message in lines),
        *(("pyright", number, message) for _, number, message in errors),
    ):
        found[checker][number] = found[checker].get(number, "") + message
    return found


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_each_wrong_call_is_refused_and_no_other(refusals: dict[str, dict[int, str]], checker: str) -> None:
    text = CALLS[1].read_text()
    marked = {n: line.partition("  # ")[2] for n, line in enumerate(text.splitlines(), 1) if "  # " in line}
    found = refusals[checker]
    assert found.keys() == marked.keys()
    expected = {n: said.split(" ~ ")[checker == "pyright"] for n, said in marked.items()}
    other = {n: (said, found[n]) for n, said in expected.items() if not re.search(said, found[n])}
    assert not other


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("export.", {"send", "asend", "delay", "many", "map", "now", "at", "in_", "every", "cron", "when"}),
        ("export.at('7pm', priority=3).", {"send", "asend", "delay", "many", "map"}),
        ("load.in_('5 minutes').send(3).", {"result", "aresult", "cancel", "refresh", "id", "due"}),
        ("s.bind(export).", {"send", "at", "every"}),
        ("s.", {"job", "bind", "configure"}),
        ("export.at(", {"at", "options"}),
    ],
)
def test_an_editor_completes_the_methods(typed: str, names: set[str]) -> None:
    """By jedi, as IPython, Jupyter and editors use it. It knows no ParamSpec, so pyright alone completes arguments."""
    source = CALLS[0].read_text() + "\n" + typed
    script = jedi.Script(source, project=jedi.Project(ROOT))
    place = (source.count("\n") + 1, len(typed))
    if typed.endswith("("):
        (signature,) = script.get_signatures(*place)
        found = {one.name for one in signature.params}
    else:
        found = {one.name for one in script.complete(*place)}
    assert names <= found
