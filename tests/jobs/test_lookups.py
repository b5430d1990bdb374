"""Whatever a module or a name does to its lookup, the registry answers with a sentence, and soon."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from workkit import job, schedule
from workkit.errors import CannotRun, FunctionNotFound, InvalidFunction, NotAllowed, described
from workkit.jobs.registry import Registry
from workkit.text.nearest import nearest_word

HOSTILE = {
    "exits": ("import sys\nsys.exit(0)\n", r"SystemExit: 0 \({module}\.py:2\)\. Put what .*__main__"),
    "interrupts": ("raise KeyboardInterrupt\n", r"KeyboardInterrupt \({module}\.py:1\)"),
    "has_no_text": ("class E(Exception):\n def __str__(self): raise SystemExit(4)\nraise E\n",
                    r"E: \(its text cannot be had: SystemExit\)"),
    "has_no_name": ("class M(type):\n @property\n def __name__(cls): raise SystemExit(5)\n"
                    "class Odd(Exception, metaclass=M): pass\nraise Odd('why')\n", r"Odd: why"),
    "marks_badly": ("from workkit import job\n@job(retries=-1)\ndef f(): ...\n", r"retries=-1.* \({module}\.py:2\)"),
    "recurses": ("def f(): f()\nf()\n", "RecursionError: maximum recursion depth"),
    "says_much": ("raise ValueError('x' * 5_000_000)\n", r"ValueError: x{{1000}}"),
    "names_no_text": ("raise ModuleNotFoundError('odd', name=5)\n", "ModuleNotFoundError: odd"),
    "lacks_another": ("import no_such_library_here\n", "No module named 'no_such_library_here'"),
}  # fmt: skip


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], str]]:
    """Write a module, and return its name, which no other test has."""
    monkeypatch.syspath_prepend(str(tmp_path))
    names = []

    def write(stem: str, text: str) -> str:
        names.append(f"{stem}_{tmp_path.name}")
        (tmp_path / f"{names[-1]}.py").write_text(text)
        return names[-1]

    yield write
    for name in names:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_module_that_raises_anything_is_refused_with_a_sentence(
    written: Callable[[str, str], str], tmp_path: Path, kind: str
) -> None:
    text, message = HOSTILE[kind]
    module = written(kind, text)
    registry = Registry(folder=tmp_path)
    error = registry.refusal(f"#'{module}/f")
    assert isinstance(error, FunctionNotFound)
    assert registry.knows(f"#'{module}/f")
    sentence = str(error)
    assert sentence.startswith(f"cannot run {module}:f: importing {module} failed: ")
    assert len(sentence) < 1500
    with pytest.raises(FunctionNotFound, match=message.format(module=module)):
        registry.resolve(f"#'{module}/f")


@pytest.mark.parametrize("kind", [kind for kind in HOSTILE if kind != "interrupts"])
def test_an_import_that_raises_anything_is_refused_at_the_start(written: Callable[[str, str], str], kind: str) -> None:
    text, message = HOSTILE[kind]
    module = written(kind, text)
    with pytest.raises(InvalidFunction, match=message.format(module=module)) as raised:
        Registry(imports=[module]).load()
    assert str(raised.value).startswith(f'imports=["{module}"]: importing it failed: ')


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("", 'imports=[""] is not the name of a module. Name it as Python imports it, for example app.jobs.'),
        ("../x", 'imports=["../x"] is relative. Name it as'),
        (".x", 'imports=[".x"] is relative. Name it as'),
        ("a/b.py", 'imports=["a/b.py"] names a file. Name the module, as Python imports it: a.b.'),
        ("./a/b", 'imports=["./a/b"] names a file. Name the module, as Python imports it: a.b.'),
        ("no_such.py", 'imports=["no_such.py"]: no such module. Name it as'),
        ("no_such.py", 'For a file write imports=["no_such"].'),
        ("a b", 'imports=["a b"] is not the name of a module.'),
        ("x" * 5000 + "/", f'imports=["{"x" * 80}..."] is not the name of a module'),
    ],
)
def test_what_names_no_module_says_how_to_name_one(module: str, message: str) -> None:
    with pytest.raises(InvalidFunction, match=re.escape(message)):
        Registry(imports=[module]).load()


@pytest.mark.parametrize(
    "name",
    ["#'a" + ".a" * 700 + "/f", "#'a" + ".a" * 230 + "/f", "#'a/f" + ".f" * 700, "#'" + "x" * 20_000 + "/f"],
    ids=["700 dots", "230 dots", "a long path", "20 kB"],
)
def test_an_absurd_name_is_refused_soon(tmp_path: Path, name: str) -> None:
    registry = Registry(folder=tmp_path)
    began = time.process_time()
    error = registry.refusal(name)
    assert time.process_time() - began < 0.5
    assert isinstance(error, FunctionNotFound)
    assert len(str(error)) < 1500
    assert registry.knows(name)
    if len(name) > 500:
        assert not registry.found, "a name of any length is kept in memory"
        assert len(str(error)) < 200


def test_a_long_clojure_form_is_shortened() -> None:
    with pytest.raises(
        FunctionNotFound, match=r"cannot run \(fn .{76}\.\.\.: a Clojure form, for a Clojure listener\."
    ):
        Registry().resolve("(fn " + "x" * 20_000 + ")")


def test_the_search_for_the_nearest_module_follows_no_link(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / name).symlink_to(".")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "export.py").write_text("")
    registry = Registry(imports=["a"], folder=tmp_path)
    began = time.process_time()
    with pytest.raises(FunctionNotFound, match=r"no module a\.b\.c\.d\.e\.f\.g\.h\.i\.j\.k\.l under"):
        registry.resolve("#'a.b.c.d.e.f.g.h.i.j.k.l/f")
    assert "nearest: pkg.export." in registry._no_module("pkg.exprot")
    assert "nearest" not in registry._no_module("one.pkg.export")
    assert time.process_time() - began < 0.5


def test_the_search_for_the_nearest_module_looks_at_some_files_only(tmp_path: Path) -> None:
    for number in range(3000):
        (tmp_path / f"file_{number}.py").touch()
    registry = Registry(folder=tmp_path)
    began = time.process_time()
    registry._no_module("a.b.c.d")
    assert time.process_time() - began < 0.5
    assert nearest_word("x" * 101, ["x" * 100]) is None


def numbers() -> Iterator[int]:
    yield 1


async def numbers_async() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(("fn", "kind"), [(numbers, "a generator"), (numbers_async, "an async generator")])
def test_a_generator_function_is_no_handler(fn: Any, kind: str) -> None:
    sentence = f"is {kind} function: calling it runs nothing of its body. Write a handler without yield."
    with pytest.raises(InvalidFunction, match=sentence):
        job(fn)
    with pytest.raises(InvalidFunction, match=sentence):
        job("your-app/numbers", retries=2)(fn)
    with pytest.raises(InvalidFunction, match=sentence):
        schedule.add_now(schedule.create("t", redis="redis://127.0.0.1:1"), fn)
    with pytest.raises(NotAllowed, match=sentence):
        Registry(imports=["tests"]).resolve(f"#'tests.jobs.test_lookups/{fn.__name__}")


def test_a_registered_name_has_an_end() -> None:
    with pytest.raises(InvalidFunction, match=r"has 601 characters\. Accepted: 1 to 500"):
        job("a/" + "x" * 599)(described)


def test_an_error_is_described_whatever_it_does() -> None:
    class Text(str):
        def split(self, *_: Any) -> Any:
            raise SystemExit(3)

    class Odd(Exception):
        def __str__(self) -> str:
            return Text("two\nlines")

    assert described(Odd()) == "Odd: two lines"
    assert described(ValueError()) == "ValueError"
    assert issubclass(FunctionNotFound, CannotRun)
