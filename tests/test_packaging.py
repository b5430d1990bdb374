"""The distributions as they are built: what the wheel and the sdist hold, and what a package index shows of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesParser
from pathlib import Path
from zipfile import ZipFile

import pytest

from hatch_build import Tree, readme_of_an_index, repository_address

ROOT = Path(__file__).parent.parent
REPOSITORY = "https://example.org/owner/workkit"
RELATIVE = re.compile(r"!?\[[^\]\n]*\]\((?![a-z]+:|#)[^)\s]+\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A wheel and an sdist, and their metadata."""

    wheel: Path
    sdist: Path

    def in_wheel(self) -> set[str]:
        """Return the paths of the files of the wheel."""
        with ZipFile(self.wheel) as opened:
            return set(opened.namelist())

    def in_sdist(self) -> set[str]:
        """Return the paths of the files of the sdist, below its one folder."""
        with tarfile.open(self.sdist) as opened:
            return {member.name.partition("/")[2] for member in opened.getmembers() if member.isfile()}

    def metadata(self) -> Message:
        """Return the metadata of the wheel."""
        return metadata_of(self.wheel)


def metadata_of(wheel: Path) -> Message:
    """Return the metadata of a wheel; its payload is the README as a package index shows it."""
    with ZipFile(wheel) as opened:
        (name,) = [name for name in opened.namelist() if name.endswith(".dist-info/METADATA")]
        return BytesParser().parsebytes(opened.read(name))


def build(source: Path, into: Path, *targets: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Build the targets of a source, "wheel" or "sdist", with hatchling, as every front end does."""
    env = {name: value for name, value in os.environ.items() if name != "WORKKIT_REPOSITORY"} | environment
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(into), *(f"-t{target}" for target in targets)]
    return subprocess.run(command, cwd=source, env=env, capture_output=True, text=True, timeout=120, check=False)


def built(source: Path, into: Path, **environment: str) -> Built:
    done = build(source, into, "sdist", "wheel", **environment)
    assert done.returncode == 0, done.stderr
    (wheel,), (sdist,) = into.glob("*.whl"), into.glob("*.tar.gz")
    return Built(wheel=wheel, sdist=sdist)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The distributions where nobody says where the repository is."""
    return built(ROOT, tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The distributions of a build that knows the address of the repository."""
    return built(ROOT, tmp_path_factory.mktemp("published"), WORKKIT_REPOSITORY=REPOSITORY)


def tracked(*options: str) -> set[str]:
    """Return the files of the repository as git lists them, those that exist."""
    if not (ROOT / ".git").exists():
        pytest.skip("no repository here: an unpacked sdist")
    listed = subprocess.run(["git", "ls-files", *options], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {path for path in listed.splitlines() if (ROOT / path).is_file()}


def test_the_wheel_holds_the_package_and_nothing_else(plain: Built) -> None:
    package = {str(path.relative_to(ROOT)) for path in (ROOT / "workkit").rglob("*") if path.is_file()}
    package = {path for path in package if "__pycache__" not in path}
    assert {"workkit/py.typed", "workkit/plan.schema.json"} < package
    assert {Path(path).suffix for path in package} >= {".py", ".lua", ".html", ".css", ".js"}
    about = {name for name in plain.in_wheel() if ".dist-info/" in name}
    assert plain.in_wheel() - about == package
    said = {name.partition(".dist-info/")[2] for name in about}
    assert said == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}


def test_the_sdist_holds_every_file_of_the_repository(plain: Built) -> None:
    assert sorted(tracked() - plain.in_sdist()) == []


def test_the_sdist_holds_nothing_that_the_repository_ignores(plain: Built) -> None:
    allowed = tracked("--cached", "--others", "--exclude-standard")
    assert sorted(plain.in_sdist() - allowed) == ["PKG-INFO"]


def test_a_build_that_knows_the_repository_links_to_it(published: Built) -> None:
    metadata = published.metadata()
    assert dict(one.split(", ") for one in metadata.get_all("Project-URL", [])) == {
        "Homepage": REPOSITORY,
        "Documentation": f"{REPOSITORY}/blob/v{metadata['Version']}/README.md",
        "Changelog": f"{REPOSITORY}/blob/v{metadata['Version']}/CHANGELOG.md",
        "Issues": f"{REPOSITORY}/issues",
        "Source": REPOSITORY,
    }
    text = str(metadata.get_payload())
    assert RELATIVE.findall(text) == []
    linked = re.findall(rf"\]\({REPOSITORY}/(?:blob|tree|raw)/v{re.escape(metadata['Version'])}/([^)#]*)", text)
    assert len(linked) > 20
    assert [path for path in linked if not (ROOT / path).exists()] == []


def test_a_build_that_does_not_know_the_repository_invents_no_address(plain: Built) -> None:
    metadata = plain.metadata()
    assert "Project-URL" not in metadata
    assert "Dynamic" not in metadata
    text = str(metadata.get_payload())
    assert RELATIVE.findall(text) == []
    assert "The commands on this page run in examples/readme, the folder" in text


@pytest.mark.parametrize(("kind", "environment"), [("published", {}), ("plain", {"WORKKIT_REPOSITORY": REPOSITORY})])
def test_a_wheel_from_an_sdist_has_the_addresses_of_the_sdist(
    kind: str, environment: dict[str, str], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    source: Built = request.getfixturevalue(kind)
    with tarfile.open(source.sdist) as opened:
        opened.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    done = build(unpacked, tmp_path / "dist", "wheel", **environment)
    assert done.returncode == 0, done.stderr
    (again,) = (tmp_path / "dist").iterdir()
    assert metadata_of(again).as_bytes() == source.metadata().as_bytes()
    with ZipFile(again) as opened:
        assert set(opened.namelist()) == source.in_wheel()


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("", ""),
        (" ", ""),
        ("https://example.org/owner/workkit", REPOSITORY),
        ("https://example.org/owner/workkit/", REPOSITORY),
        ("https://example.org/owner/workkit.git", REPOSITORY),
        ("https://example.org:8443/group/part/workkit", "https://example.org:8443/group/part/workkit"),
    ],
)
def test_an_address_of_a_repository_is_read(given: str, address: str) -> None:
    assert repository_address(given) == address


@pytest.mark.parametrize(
    "given",
    [
        "example.org/owner/workkit", "http://example.org/owner/workkit", "git@example.org:owner/workkit",
        "https://example.org", "https://example.org/owner/workkit?tab=readme", "https://example.org/a b",
        "https://example.org/owner//workkit", "https://tracy:secret@example.org/owner/workkit",
    ],
)  # fmt: skip
def test_no_other_address_is_taken(given: str) -> None:
    with pytest.raises(ValueError, match=r"^WORKKIT_REPOSITORY=.* is not the address of a repository\. Give one such"):
        repository_address(given)


def test_a_build_with_a_wrong_address_ends_with_one_line(tmp_path: Path) -> None:
    done = build(ROOT, tmp_path / "dist", "wheel", WORKKIT_REPOSITORY="example.org")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "error: WORKKIT_REPOSITORY='example.org' is not the address of a repository. "
        "Give one such as https://example.org/owner/workkit, or leave the variable unset.",
    ]
    assert not list(tmp_path.glob("dist/*"))


PAGE = """See [the rules](spec/web.md#6-roles), [pages](docs) or [elsewhere](https://example.net/x), [below](#limits).

![a page](docs/now.png)

```
rows[0](1) and [a link](spec/web.md)
```
"""


def test_a_readme_without_a_repository_has_texts_for_links_and_no_pictures(tmp_path: Path) -> None:
    assert (
        readme_of_an_index(PAGE, None)
        == """\
See the rules, pages or [elsewhere](https://example.net/x), [below](#limits).

```
rows[0](1) and [a link](spec/web.md)
```
"""
    )


def test_a_readme_with_a_repository_has_addresses_of_pages_folders_and_pictures(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    assert (
        readme_of_an_index(PAGE, Tree(tmp_path, "https://example.org/o/w", "v1"))
        == """\
See [the rules](https://example.org/o/w/blob/v1/spec/web.md#6-roles), [pages](https://example.org/o/w/tree/v1/docs) \
or [elsewhere](https://example.net/x), [below](#limits).

![a page](https://example.org/o/w/raw/v1/docs/now.png)

```
rows[0](1) and [a link](spec/web.md)
```
"""
    )
