"""Run workkit's own code with its faults compiled in: every comment line ``# fault: TEXT`` becomes a call.

`install` is for a process that has not imported workkit yet; TEXT is the body of an f-string, evaluated at its place.
What a call does is said by the environment: see `faulty_points`. As a program: ``list`` prints the points,
``listen ...`` is the command line with its faults, ``FILE ...`` runs a script.
"""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

PACKAGE = Path(__file__).resolve().parent.parent.parent / "workkit"
HOOK = re.compile(r"^(\s*)# fault: (.+?)\s*$")
CALL = '__import__("tests.acceptance.faulty_points", fromlist=["hit"]).hit'

# Scripts that only an administrator's command runs: no job is on its way between add and settle there.
ADMINISTRATION = {
    "native": {
        "bury",
        "plan",
        "withdraw",
        "declare",
        "discard",
        "interrupt",
        "note",
        "repair",
        "pause",
        "quiet",
        "reschedule",
        "restore",
        "resume",
        "retag",
        "revive",
        "run",
        "tidy",
        "trace",
        "undo",
    },
    "gocraft": {"aside", "cancel", "know", "pause", "release", "requeue", "resume"},
}
TOGETHER = {"native": ("settle+claim",), "gocraft": ()}  # scripts sent as one request, by layout
NEVER = {
    "native": ("plan decided", "plan put"),
    "gocraft": ("admitted", "counted", "plan decided", "plan put"),
}  # a pool takes no job that must wait for a slot, and counts no runs; a plan is made so before any job is on its way
OUTCOMES = ("Done", "Again", "Dead")  # what `decide` answers for a run; Released is never decided by it


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """One hook in the sources."""

    file: Path
    line: int
    text: str


def hooks(layout: str = "native") -> Iterator[Hook]:
    """Every hook that a process of this layout can come to, in the order of the files."""
    others = [PACKAGE / "brokers" / other for other in TOGETHER if other != layout]
    for file in sorted(PACKAGE.rglob("*.py")):
        if any(file.is_relative_to(other) for other in others):
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if found := HOOK.match(line):
                yield Hook(file=file, line=number, text=found[2])


def points(layout: str = "native") -> list[str]:
    """Every text that a hook can say, sorted. Raises ValueError for a hook of a kind that is not known here."""
    return sorted({text for hook in hooks(layout) for text in _spoken(hook, layout)} - {*NEVER[layout]})


def verbs(layout: str = "native") -> list[str]:
    """The scripts of a layout by which work moves, and those that travel together."""
    stems = {file.stem for file in (PACKAGE / "brokers" / layout / "lua").glob("*.lua")}
    return sorted({*stems - ADMINISTRATION[layout], *TOGETHER[layout]})


def rewritten(source: str) -> str:
    """The source with its hooks as calls, line by line in the same places."""
    return "\n".join(HOOK.sub(lambda m: f"{m[1]}{CALL}(f'''{m[2]}''')", line) for line in source.split("\n"))


def install() -> None:
    """Have workkit imported with its hooks as calls from now on, in this process."""
    loaded = [name for name in sys.modules if name.partition(".")[0] == "workkit"]
    assert not loaded, f"imported without faults already: {loaded}"
    sys.meta_path.insert(0, _Finder())


def _spoken(hook: Hook, layout: str) -> list[str]:
    """The texts that a hook's f-string can give."""
    placeholders = re.findall(r"\{.*\}", hook.text)
    if not placeholders:
        return [hook.text]
    (placeholder,) = placeholders
    for sign, words in (("script.name", verbs(layout)), ("type(outcome).__name__", OUTCOMES)):
        if sign in placeholder:
            return [hook.text.replace(placeholder, word) for word in words]
    raise ValueError(f"{hook.file.name}:{hook.line}: nobody knows what {placeholder} may say; teach tests here")


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "workkit":
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(fullname, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        """Compile anew each time: what is cached beside the sources has no faults, and must not get any."""
        path = self.get_filename(fullname)
        code = self.source_to_code(rewritten(self.get_data(path).decode()).encode(), path)
        assert isinstance(code, CodeType)
        return code


def main(arguments: Sequence[str]) -> None:
    if list(arguments) == ["list"]:
        print("\n".join(points()))
        return
    install()
    sys.argv = ["workkit", *arguments]
    if arguments[0].endswith(".py"):
        sys.argv = list(arguments)
        runpy.run_path(arguments[0], run_name="__main__")
        return
    from workkit.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main(sys.argv[1:])
