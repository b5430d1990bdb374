"""The modules that stand as files under a folder. Imports none of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

DEEPEST, MOST_FILES = 5, 2000  # bounds of a search: parts of a module's name, files
OURS = Path(__file__).resolve().parents[2]
"""The package workkit. It is nobody's folder: a listener runs a module of it, as workkit.shell, only if it is told."""
MOST_SOURCES = 50  # folders of a repository with several packages


def modules_under(folder: Path, *, depth: int) -> Iterator[str]:
    """Find modules whose names have so many parts, for a guess at a mistyped one. Follows no link, and looks at no more
    than `MOST_FILES` files.
    """
    if depth > DEEPEST:
        return
    places, looked = [(folder, "")], 0
    for level in range(1, depth + 1):
        inner = []
        for place, prefix in places:
            with suppress(OSError), os.scandir(place) as entries:
                for entry in entries:
                    if (looked := looked + 1) > MOST_FILES:
                        return
                    stem, suffix = os.path.splitext(entry.name)
                    if not stem.isidentifier() or entry.is_symlink():
                        continue
                    if suffix == ".py" and level == depth:
                        yield prefix + stem
                    elif not suffix and entry.is_dir():
                        inner.append((Path(entry.path), f"{prefix}{stem}."))
                        if level == depth and (inner[-1][0] / "__init__.py").exists():
                            yield prefix + stem
        places = inner


def source_folder(module: str, folder: Path) -> str | None:
    """Name the folder below `folder` that Python has to search to find a module: ``src``, or ``PACKAGE/src``."""
    relative = module.replace(".", "/")
    with suppress(OSError):
        for below in (folder / "src", *sorted(folder.glob("*/src"))[:MOST_SOURCES]):
            if (below / f"{relative}.py").is_file() or (below / relative / "__init__.py").is_file():
                return below.relative_to(folder).as_posix()
    return None
