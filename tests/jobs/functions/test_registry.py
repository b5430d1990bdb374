"""What a listener may run: only functions defined where it was told, found without asking anything else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import handlers
from workkit import job
from workkit.errors import FunctionNotFound, InvalidFunction, InvalidOptions, NotAllowed
from workkit.jobs.registry import Registry

APP = """
import os
import subprocess
from subprocess import run
from os import system
from click import echo
from helper_of_{stem} import helped
class Thing:
    @staticmethod
    def act(): return "acted"
    def method(self): raise AssertionError
    @property
    def danger(self): raise AssertionError("evaluated")
thing = Thing()
def __getattr__(name):
    if name == "__path__": raise AttributeError(name)  # asked by the import system itself
    raise AssertionError("asked")
def clear(): return "cleared"
def _secret(): raise AssertionError
partial = __import__("functools").partial(clear)
"""


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    stem = f"app_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{stem}.py").write_text(APP.format(stem=stem))
    (tmp_path / f"helper_of_{stem}.py").write_text("def helped(): return 'helped'\n")
    venv = tmp_path / ".venv" / "lib" / "site-packages" / f"inside_{stem}"
    venv.mkdir(parents=True)
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("")
    (venv / "__init__.py").write_text("def f(): raise AssertionError\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(venv.parent))
    yield stem
    for module in [m for m in sys.modules if stem in m]:
        del sys.modules[module]


def test_a_function_under_the_folder_runs(app: str, tmp_path: Path) -> None:
    registry = Registry(folder=tmp_path)
    assert registry.resolve(f"#'{app}/clear")() == "cleared"
    assert registry.resolve(f"{app}:Thing.act")() == "acted"
    assert registry.resolve(f"(var {app.replace('_', '-')}/clear)")() == "cleared"
    assert registry.resolve(f"#'{app}/helped")() == "helped"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("os.system", "may not run .*: os.system leaves what"), ("system", "is not a function of"),
        ("subprocess.run", "leaves what"), ("run", "it is defined in subprocess, not there"),
        ("echo", r"it is defined in click\.utils, not there"), ("_secret", "_secret begins with _, and is private"),
        ("thing.danger", "leaves what"), ("thing.act", "leaves what"), ("partial", "is not a function"),
        ("Thing", "is not a function"), ("Thing.danger", "is not a function"),
    ],
)  # fmt: skip
def test_what_it_does_not_define_never_runs(app: str, tmp_path: Path, path: str, message: str) -> None:
    with pytest.raises(NotAllowed, match=message):
        Registry(folder=tmp_path).resolve(f"#'{app}/{path}")


@pytest.mark.parametrize("name", ["os/system", "subprocess/run", "builtins/print", "posix/system", "shutil/rmtree"])
def test_the_standard_library_never_runs(tmp_path: Path, name: str) -> None:
    for registry in (Registry(folder=tmp_path), Registry(folder=Path("/")), Registry(imports=[name.partition("/")[0]])):
        with pytest.raises(NotAllowed, match="Python's own, and never run"):
            registry.resolve(f"#'{name}")


def test_a_library_in_a_venv_under_the_folder_is_not_your_code(app: str, tmp_path: Path) -> None:
    with pytest.raises(NotAllowed, match=r"is not under \./ and not named with imports="):
        Registry(folder=tmp_path).resolve(f"#'inside_{app}/f")


def test_without_a_folder_only_imports_run(app: str) -> None:
    with pytest.raises(NotAllowed, match="is not named with imports="):
        Registry(folder=None).resolve(f"#'{app}/clear")
    registry = Registry(imports=[app], folder=None)
    registry.load()
    assert registry.resolve(f"#'{app}/clear")() == "cleared"


def test_submodules_of_an_import_may_run() -> None:
    assert Registry(imports=["tests"]).resolve("#'tests.handlers/note") is handlers.note


@pytest.mark.parametrize(
    ("job_text", "message"),
    [
        ("#'{app}/claer", r"no such function in {app}\.py; nearest: clear\."),
        ("#'{app}x/clear", r"no module {app}x under \./; nearest: {app}\."),
        ("#'{app}.sub/clear", r"no module {app}\.sub under \./"),
        ("(fn [] 42)", "a Clojure form"),
        ("#'clojure.core/+", "not a Python name"),
    ],
)
def test_what_is_not_there_says_what_is_near(app: str, tmp_path: Path, job_text: str, message: str) -> None:
    with pytest.raises(FunctionNotFound, match=message.format(app=app)):
        Registry(folder=tmp_path).resolve(job_text.format(app=app))


def test_a_module_that_fails_to_import_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_app.py").write_text("raise RuntimeError('no settings')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(FunctionNotFound, match="importing broken_app failed: RuntimeError: no settings"):
        Registry(folder=tmp_path).resolve("#'broken_app/f")


def test_registered_names_come_first() -> None:
    assert Registry().resolve("#'your-app.cache/clear") is handlers.clear_cache
    assert Registry().resolve("#'tests.handlers/clear_cache") is handlers.clear_cache


@pytest.mark.parametrize("name", ["your-app.cache/clear'", "your-app.cache/it's", "your'app/x#", "your-app/a:b"])
def test_a_clojure_name_with_a_mark_inside_finds_its_function(name: str) -> None:
    assert job(name)(handlers.clear_cache) is handlers.clear_cache
    assert Registry().resolve(f"#'{name}") is Registry().resolve(f"(var {name})") is handlers.clear_cache


def test_a_registered_name_belongs_to_one_function() -> None:
    with pytest.raises(InvalidFunction, match=r"belongs to tests\.handlers\.clear_cache already"):
        job("your-app.cache/clear")(handlers.note)
    assert job("your-app.cache/clear")(handlers.clear_cache) is handlers.clear_cache


@pytest.mark.parametrize(
    ("module", "message"),
    [("no_such_module_here", "no such module"), ("os", "standard library is never run"), ("tests.nothing", "no such")],
)
def test_an_import_that_cannot_be_is_refused_at_the_start(module: str, message: str) -> None:
    with pytest.raises(InvalidFunction, match=message):
        Registry(imports=[module]).load()


def test_the_decorator_refuses_arguments_without_a_spec() -> None:
    with pytest.raises(InvalidOptions, match=r"without periodic=: no run has them"):
        job("nothing", periodic_args={"a": 1})
    with pytest.raises(InvalidOptions, match=r"periodic=7 is not a text"):
        job("nothing", periodic=7)  # type: ignore[call-overload]
