"""Take pictures of the pages: each page of a shop with a past, in both themes, at 1280 and 390 px.

`python -m tests.browser.make_pictures FOLDER` writes `PAGE-THEME-WIDTH.png` into the folder, and
`python -m tests.browser.make_pictures --docs` those of the documentation: `docs/pictures/THEME/PAGE.png`.
README.md shows one of them. With pngquant on the PATH they are small.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from shutil import which
from typing import Final

import httpx

from tests.browser.addresses import base, crawled
from tests.browser.conftest import Site, chromium, shown
from tests.browser.scene import MODULE, SHOP, crowd
from tests.browser.seen import LOOKS, WIDE, Looks, Theme
from tests.processes import ROOT, Processes
from tests.servers import Server, program
from workkit.web.pages.registry import PAGES

PICTURES: Final = ROOT / "docs" / "pictures"
MOST_BYTES: Final = 150_000
IN_DOCS: Final[Mapping[str, str]] = {
    "now": "",
    "timeline": "timeline",
    "recurring": "recurring",
    "recurring-job": "jobs/nightly",
    "jobs": "jobs",
    "job": "jobs/again",
    "runs": "runs",
    "dead": "dead",
    "listeners": "listeners",
    "limits": "limits",
    "doctor": "doctor",
    "changes": "changes",
    "edit": "jobs/prices/edit",
}
"""The pages that the documentation shows: the name of the picture, and the path below that of the shop."""


@contextmanager
def demo() -> Iterator[tuple[Site, Looks]]:
    """Serve the scene, and start a browser."""
    with ExitStack() as ends:
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory()))
        server = ends.enter_context(closing(Server(program("redis"), folder=folder, is_durable=False)))
        server.start()
        processes = ends.enter_context(closing(Processes(folder)))
        site = shown(server, processes, "--tz", "Europe/Paris")
        crowd(site.scene)
        other = processes.workkit("listen", SHOP, "--redis", server.url, "--import", MODULE, "--threads", "4")
        other.wait_for("listening")
        yield site, Looks(chromium(ends), site.address)


def take(looks: Looks, path: str, file: Path, *, theme: Theme, width: int, is_whole: bool = True) -> None:
    """Take one picture."""
    with looks.at(has_script=True) as seen:
        seen.show(theme, width)
        seen.open(path)
        seen.page.screenshot(path=file, full_page=is_whole)
    if squeezer := which("pngquant"):
        subprocess.run([squeezer, "--force", "--skip-if-larger", "--output", file, "64", file], check=False)


def take_all(folder: Path) -> list[Path]:
    """Take the pictures of each page, by its first address."""
    taken = []
    with demo() as (site, looks):
        with httpx.Client(base_url=site.address, timeout=30) as client:
            found = crawled(client, (SHOP,))
        for page in PAGES:
            for n, path in enumerate(found[page.name] if "{" in page.path else found[page.name][:1]):
                for theme, width in LOOKS:
                    name = f"{page.name}-{n}" if n else page.name
                    taken.append(folder / f"{name}-{theme}-{width}.png")
                    take(looks, path, taken[-1], theme=theme, width=width)
    return taken


def take_for_docs() -> list[Path]:
    """Take the pictures of the documentation: what a screen shows of each page, in both themes."""
    taken: list[Path] = []
    themes: Sequence[Theme] = ("light", "dark")
    with demo() as (_, looks):
        for theme in themes:
            folder = PICTURES / theme
            folder.mkdir(parents=True, exist_ok=True)
            for name, path in IN_DOCS.items():
                taken.append(folder / f"{name}.png")
                take(looks, base(SHOP) + path, taken[-1], theme=theme, width=WIDE, is_whole=False)
    return taken


def main(words: list[str]) -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.browser.make_pictures", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--docs", action="store_true", help=f"write {PICTURES.relative_to(ROOT)}")
    given = parser.parse_args(words)
    if given.docs:
        sizes = {file: file.stat().st_size for file in take_for_docs()}
        for file, size in sizes.items():
            print(f"{file.relative_to(ROOT)}: {size:,} bytes")
        return int(max(sizes.values()) >= MOST_BYTES)
    if given.folder is None:
        parser.error("name a folder, or --docs")
    given.folder.mkdir(parents=True, exist_ok=True)
    print(f"{len(take_all(given.folder))} pictures in {given.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
