from __future__ import annotations

from pathlib import Path

import pytest

from workkit.cli.folder import checked
from workkit.errors import FunctionNotFound, InvalidArguments, InvalidFunction
from workkit.jobs.names import Clojure
from workkit.jobs.registry import Registry

APP = """
import os
from shutil import copy
raise SystemExit("must not run")

def hi(): ...
async def later(): ...
def _hidden(): ...
if os.name:
    def guarded(): ...
alias = hi
def numbers(): yield 1
def outer():
    def inner(): yield 1
    return [n for n in inner()]
@contextmanager
def around(): yield

class Mailer:
    @staticmethod
    def send(): ...

class Child(Mailer):
    pass
"""


@pytest.fixture(autouse=True)
def app(folder: Path) -> Path:
    (folder / "app.py").write_text(APP)
    (folder / "pkg").mkdir()
    (folder / "pkg" / "__init__.py").write_text("def top(): ...\n")
    (folder / "pkg" / "cache.py").write_text("def clear(): ...\n")
    return folder


@pytest.mark.parametrize(
    "text",
    [
        "app:hi",
        "app:later",
        "app:guarded",
        "app:alias",
        "app:copy",
        "app:outer",
        "app:around",
        "app:Mailer.send",
        "app:Child.send",
        "pkg:top",
        "pkg.cache:clear",
    ],
)
def test_what_is_there_goes_through(app: Path, text: str) -> None:
    assert checked(text, app) == (text, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("app:hy", '"app:hy": no such function in app.py; nearest: hi. Write app:hi.'),
        ("app:Mailer.sent", '"app:Mailer.sent": no such function in app.py; nearest: send. Write app:Mailer.send.'),
        ("app:Mailer", '"app:Mailer": Mailer is a class in app.py. Name a function.'),
        ("pkg.cache:claer", '"pkg.cache:claer": no such function in pkg/cache.py; nearest: clear.'),
        ("pkg.cache:xyz", "no such function in pkg/cache.py. It has clear."),
        ("app:_hidden", "_hidden begins with _"),
        ("app.py:hi", '"app.py:hi" names a file. Name the module, as Python imports it: app:hi.'),
        ("./pkg/cache.py:clear", "as Python imports it: pkg.cache:clear."),
        ("app.hi", 'Write "app:hi".'),
        ("os:system", '"os:system": os is Python\'s own, and no listener runs its functions.'),
        ("os.path:join", '"os.path:join": os is Python\'s own, and no listener runs its functions.'),
        ("builtins:print", "builtins is Python's own"),
        ("workkit.shell:rum", "no such function in workkit/shell.py; nearest: run. Write workkit.shell:run."),
        ("app:numbers", '"app:numbers": numbers in app.py is a generator function: calling it runs nothing'),
    ],
)
def test_what_is_not_there_is_refused_with_the_nearest(app: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidFunction) as caught:
        checked(text, app)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("ap:hi", "no module ap under ./; nearest: app"),
        ("pkg.cahce:clear", "no module pkg.cahce under ./; nearest: pkg.cache"),
        ("elsewhere:run", "no module elsewhere under ./ (this folder)"),
        ("workkit.shell:run", "a listener runs workkit.shell only where it is told: --import workkit.shell"),
        ("workkit.shall:run", "no module workkit.shall under ./ (this folder)"),
    ],
)
def test_a_module_elsewhere_goes_through_with_a_note(app: Path, text: str, note: str) -> None:
    assert checked(text, app) == (text, note)


def test_a_file_that_is_not_python_goes_through_with_a_note(app: Path) -> None:
    (app / "broken.py").write_text("def f(:\n")
    assert checked("broken:f", app) == ("broken:f", "broken.py cannot be read as Python (line 1)")


@pytest.mark.parametrize("source", ["from x import *\n", "def __getattr__(name): ...\n"])
def test_names_that_only_running_could_tell_go_through(app: Path, source: str) -> None:
    (app / "open.py").write_text(source)
    assert checked("open:anything", app) == ("open:anything", None)


def test_clojure_names_and_forms_go_through(app: Path) -> None:
    assert checked("#'your-app.cache/clear", app) == ("#'your-app.cache/clear", None)
    fn, note = checked("(fn [] (prn 1))", app)
    assert isinstance(fn, Clojure)
    assert (fn, note) == ("(fn [] (prn 1))", None)


CALLS = """
from functools import wraps
from workkit import job
import workkit
def none(): ...
def two(a, b): ...
def some(a, b=1, *, c=2): ...
def any_(*args, **kwargs): ...
def key(a, *, b): ...
def whole(a, /): ...
def listed(a=[], /): ...
@job(retries=3)
def marked(a): ...
@workkit.job
def marked_too(a): ...
@s.job(retries=3)
def sending(a): ...
@s.every("day at 9am")
@app.s.job
def planned(a): ...
@wraps(none)
def other(a, b): ...
class Mailer:
    @staticmethod
    def send(to): ...
if True:
    def twice(a): ...
else:
    def twice(): ...
"""


@pytest.mark.parametrize(
    ("fn", "args", "kwargs", "trouble"),
    [
        ("none", [], {}, None),
        ("none", [1], {}, "none() in calls.py takes 0 arguments; 1 given."),
        ("two", [1, 2], {}, None),
        ("two", [1], {"b": 2}, None),
        ("two", [1], {}, "two(a, b) in calls.py takes 2 arguments; 1 given."),
        ("two", [1], {"c": 2}, "two(a, b) in calls.py cannot be called so: missing a required argument: 'b'."),
        ("some", [1], {"c": 3}, None),
        ("some", [1, 2, 3], {}, "some(a, b, c) in calls.py takes 1 to 2 arguments; 3 given."),
        ("any_", [1, 2], {"x": 1}, None),
        ("key", [1], {"b": 2}, None),
        ("key", [1], {}, "key(a, b) in calls.py cannot be called so: missing a required argument: 'b'."),
        ("whole", [], {"x": 1, "y-z": 2}, None),
        ("whole", [1], {}, None),
        ("whole", [], {}, "whole(a) in calls.py takes 1 argument; 0 given."),
        ("listed", [], {"x": 1}, None),
        ("marked", [], {}, "marked(a) in calls.py takes 1 argument; 0 given."),
        ("marked_too", [], {}, "marked_too(a) in calls.py takes 1 argument; 0 given."),
        ("sending", [], {}, "sending(a) in calls.py takes 1 argument; 0 given."),
        ("planned", [], {}, "planned(a) in calls.py takes 1 argument; 0 given."),
        ("other", [], {}, None),
        ("twice", [], {}, None),
        ("Mailer.send", [], {}, "Mailer.send(to) in calls.py takes 1 argument; 0 given."),
    ],
)
def test_arguments_are_compared_with_the_parameters_in_the_file(
    app: Path, fn: str, args: list[int], kwargs: dict[str, int], trouble: str | None
) -> None:
    (app / "calls.py").write_text(CALLS)
    if trouble is None:
        assert checked(f"calls:{fn}", app, call=(args, kwargs)) == (f"calls:{fn}", None)
        return
    with pytest.raises(InvalidArguments) as caught:
        checked(f"calls:{fn}", app, call=(args, kwargs))
    assert str(caught.value) == trouble


@pytest.mark.parametrize("below", ["src", "packages/src"])
def test_a_module_in_src_is_said_to_be_there(app: Path, below: str) -> None:
    (app / below / "shop").mkdir(parents=True)
    (app / below / "shop" / "jobs.py").write_text("def f(): ...\n")
    note = f"no module shop.jobs under ./, but it is under {below}/. A listener finds it with PYTHONPATH={below}"
    assert checked("shop.jobs:f", app) == ("shop.jobs:f", note)
    with pytest.raises(FunctionNotFound, match=rf"but it is under {below}/: start with PYTHONPATH={below}\."):
        Registry(folder=app).resolve("#'shop.jobs/f")


def test_a_module_in_src_is_found_if_python_would(app: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (app / "src").mkdir()
    (app / "src" / "lib.py").write_text("def f(): ...\n")
    fn, note = checked("lib:g", app)
    assert (fn, str(note).startswith("no module lib under ./, but it is under src/")) == ("lib:g", True)
    monkeypatch.syspath_prepend(str(app / "src"))
    with pytest.raises(InvalidFunction, match=r"src/lib\.py; nearest: f|src/lib\.py\. It has f"):
        checked("lib:g", app)
