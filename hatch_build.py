"""Metadata that depends on where the repository is: the project URLs, and the README as a package index shows it.

The public address of the repository comes from the environment variable WORKKIT_REPOSITORY when a distribution is
built, and from nowhere else. Without it the distribution names no URL: links of the README to files of the repository
become their texts, and pictures there are left out. A wheel that is built from an sdist has what the sdist says.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

VARIABLE = "WORKKIT_REPOSITORY"
ADDRESS = re.compile(r"https://[^\s/?#@]+(/[^\s/?#]+)+")
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"!\[([^\]\n]*)\]\((?![a-z]+:)([^)\s]+)\)(\n*)")
LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\((?![a-z]+:|#)([^)\s]+)\)")


class CustomMetadataHook(MetadataHookInterface):
    """Gives hatchling the dynamic fields `readme` and `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set both fields. End the build with one line if the variable holds no address of a repository."""
        metadata.setdefault("urls", {})
        if "readme" not in metadata["dynamic"]:  # an unpacked sdist: its PKG-INFO has told both
            return
        try:
            repository = repository_address(os.environ.get(VARIABLE, ""))
        except ValueError as error:
            sys.exit(f"error: {error}")
        root = Path(self.root)
        tree = Tree(root, repository, f"v{metadata['version']}") if repository else None
        readme = (root / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": readme_of_an_index(readme, tree)}
        if tree:
            metadata["urls"] = project_urls(tree)


class Tree:
    """The files of one release as the web shows them: `repository` without a slash at its end, and a tag or branch."""

    def __init__(self, root: Path, repository: str, ref: str) -> None:
        self.root, self.repository, self.ref = root, repository, ref

    def page(self, path: str) -> str:
        """Return the address of the page of a file or folder; `path` is relative to the root, and may have a #part."""
        kind = "tree" if (self.root / path.partition("#")[0]).is_dir() else "blob"
        return f"{self.repository}/{kind}/{self.ref}/{path}"

    def bytes_of(self, path: str) -> str:
        """Return the address of the contents of a file."""
        return f"{self.repository}/raw/{self.ref}/{path}"


def repository_address(given: str) -> str:
    """Return the address without a slash or .git at its end; empty if none is given. Raises ValueError for others."""
    address = given.strip().removesuffix("/").removesuffix(".git")
    if address and not ADDRESS.fullmatch(address):
        raise ValueError(
            f"{VARIABLE}={given!r} is not the address of a repository. "
            "Give one such as https://example.org/owner/workkit, or leave the variable unset."
        )
    return address


def project_urls(tree: Tree) -> dict[str, str]:
    """Return the links that a package index shows beside the project."""
    return {
        "Homepage": tree.repository,
        "Documentation": tree.page("README.md"),
        "Changelog": tree.page("CHANGELOG.md"),
        "Issues": f"{tree.repository}/issues",
        "Source": tree.repository,
    }


def readme_of_an_index(text: str, tree: Tree | None) -> str:
    """Return the README for a page without the repository beside it. Code in fences is kept as it is."""
    parts = FENCED.split(text)
    parts[::2] = (_prose(part, tree) for part in parts[::2])
    return "".join(parts)


def _prose(text: str, tree: Tree | None) -> str:
    if tree is None:
        return LINK.sub(r"\1", PICTURE.sub("", text))
    text = PICTURE.sub(lambda found: f"![{found[1]}]({tree.bytes_of(found[2])}){found[3]}", text)
    return LINK.sub(lambda found: f"[{found[1]}]({tree.page(found[2])})", text)
