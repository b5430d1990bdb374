from __future__ import annotations

from pathlib import Path

import pytest

from workkit.cli.folder import checked
from workkit.errors import InvalidFunction
from workkit.jobs.names import Clojure

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
        ("elsewhere:run", "no module elsewhere under ./"),
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


def test_a_module_in_src_is_found_if_python_would(app: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (app / "src").mkdir()
    (app / "src" / "lib.py").write_text("def f(): ...\n")
    assert checked("lib:g", app) == ("lib:g", "no module lib under ./")
    monkeypatch.syspath_prepend(str(app / "src"))
    with pytest.raises(InvalidFunction, match=r"src/lib\.py; nearest: f|src/lib\.py\. It has f"):
        checked("lib:g", app)
