"""The values of the layouts: what each takes and refuses, and that a program imports only the one that it uses."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import workkit
from workkit import schedule
from workkit.brokers.layout import COMMON, Layout, layout_names, layout_of, own_options
from workkit.errors import InvalidSchedule

GIVEN: dict[str, Any] = {
    "redis": "redis://h", "shards": 2, "limit": 3, "rate": "5/second", "history": "off",
    "amqp": "amqp://h", "namespace": "orders", "management": "http://h", "on_failure": "app:tell",
}  # fmt: skip


@pytest.fixture(params=layout_names())
def layout(request: pytest.FixtureRequest) -> Layout:
    return layout_of(request.param)


@pytest.mark.parametrize("option", [*COMMON, *own_options()])
def test_an_option_is_taken_or_refused_with_its_sentence(layout: Layout, option: str) -> None:
    def create(**more: Any) -> schedule.Schedule:
        return schedule.create("x", layout=layout.name, **{option: GIVEN[option]}, **more)

    refusal = layout.refuses.get(option)
    if layout.takes(option):
        assert create().layout == layout.name
        return
    with pytest.raises(InvalidSchedule) as caught:
        create()
    assert str(caught.value).startswith(f"{option}={GIVEN[option]!r} with layout={layout.name!r}: ")
    assert caught.value.where == option
    if refusal is not None:
        assert str(caught.value).endswith(f": {refusal.trouble}. {refusal.remedy}")
        if refusal.unless:
            assert create(**{refusal.unless: GIVEN[refusal.unless]}).layout == layout.name


def test_each_url_that_a_layout_names_is_one_of_its_servers(layout: Layout) -> None:
    option, name = (layout.place.name, "x") if layout.place else ("redis", "{x}")
    for scheme in layout.schemes:
        where = {"unix": "/tmp/redis.sock", "redis+sentinel": "h:1/main"}.get(scheme, "h:1")
        url = f"{scheme}:///tmp/folder" if scheme == "embedded" else f"{scheme}://{where}"
        given: dict[str, Any] = {option: url}
        assert url.rpartition("/")[2] in repr(schedule.create(name, layout=layout.name, **given))
    with pytest.raises(InvalidSchedule):
        schedule.create("x", layout=layout.name, **{option: "http://h"})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", layout_names())
def test_a_program_imports_the_layout_that_it_uses_alone(name: str) -> None:
    program = f"import sys; from workkit import schedule; schedule.create('x', layout={name!r})\n"
    program += "print(*sorted(one for one in sys.modules if one.endswith('.layout') and one.count('.') == 3))"
    done = subprocess.run([sys.executable, "-c", program], check=True, timeout=60, capture_output=True, text=True)
    folder = "hutch" if name == "event" else name
    assert done.stdout == f"workkit.brokers.{folder}.layout\n"


def test_no_code_above_the_layouts_names_one() -> None:
    """Prose may: helps, examples and docstrings. `wire` shows the bytes of one; back-offs have names of theirs."""
    root, found = Path(workkit.__file__).parent, set[str]()
    for file in root.rglob("*.py"):
        place = file.relative_to(root).as_posix()
        if place.startswith("brokers/"):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            is_name = isinstance(node, ast.Constant) and node.value in {"gocraft", "hutch", *own_options()}
            is_import = isinstance(node, ast.ImportFrom) and "brokers.gocraft" in (node.module or "")
            if is_name or is_import or (isinstance(node, ast.ImportFrom) and "brokers.hutch" in (node.module or "")):
                found.add(place)
    assert found == {
        "cli/commands/listeners.py", "cli/commands/wire_faults.py", "jobs/run_options.py", "verbs/creation.py",
    }  # fmt: skip
