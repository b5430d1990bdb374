"""The folder of an embedded server and our files in it. It belongs to one user alone, and this module never follows a
link in it.

A user who can write into the folder, or could do so earlier, may have put a link in place of one of our files. This
module knows file names, modes and owners. It knows no servers and no locks.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from workkit.errors import EmbeddedError, WorkkitWarning

ANOTHER = 'name another folder: redis="embedded:///FOLDER".'
_OTHERS = 0o077  # mode bits of all users but the owner
_FILES = re.compile(
    r"(users|server|gate)\.lock|server\.log(\.old)?|server\.json(\.new)?|\.gitignore|dump\.rdb|temp-.*\.(rdb|aof)"
    r"|appendonly\.aof.*"
)
_KINDS = (
    (_FILES, "plain file"),
    (re.compile(r"server-[0-9a-f]+\.sock"), "socket"),
    (re.compile(r"appendonlydir"), "folder"),
)


def prepare_folder(folder: Path) -> Path:
    """Make the folder if it is missing, for this user alone, and return its real path.

    A folder that others can reach is closed to them, with a WorkkitWarning, if it holds only our files. Raises
    EmbeddedError if it holds other files, belongs to another user, or has a link in place of one of our files.
    """
    place = Path(os.path.realpath(folder))
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    there = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(there)
        if found.st_uid != os.geteuid():
            raise EmbeddedError(
                f"{shown_path(folder)} belongs to another user (uid {found.st_uid}; this is {os.geteuid()}). "
                f"A private server serves one user: {ANOTHER}",
                given=folder,
            )
        _check(place)
        if found.st_mode & _OTHERS:
            _close(place, there, mode=stat.S_IMODE(found.st_mode))
    finally:
        os.close(there)
    if not any(place.iterdir()):  # only in an empty folder: otherwise git would ignore the other files
        write_file(place / ".gitignore", "*\n")
    return place


def opened_folder(path: Path, flags: int) -> int:
    """Open one of our files, make it if it is missing, and return its descriptor. Raises EmbeddedError
    if it is a link.
    """
    flags |= os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _link(path) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _other(path, "is no plain file")
    return descriptor


def write_file(path: Path, text: str) -> None:
    """Write one of our files anew. Raises EmbeddedError if it is a link."""
    with os.fdopen(opened_folder(path, os.O_WRONLY | os.O_TRUNC), "w") as file:
        file.write(text)


def is_private(folder: Path) -> bool:
    """Whether this is a folder, not a link to one, and only this user can reach into it."""
    try:
        there = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(there.st_mode) and there.st_uid == os.geteuid() and not there.st_mode & _OTHERS


def shown_path(folder: Path) -> str:
    """Name a folder or a file for messages: relative to the current folder, if it lies there. A last link is not
    followed.
    """
    path, here = os.path.join(os.path.realpath(folder.parent), folder.name), os.path.realpath(".")
    if folder.name in ("", "..") or folder.is_dir():
        path = os.path.realpath(folder)
    return os.path.relpath(path, here) if path.startswith(here + os.sep) else path


def _close(place: Path, descriptor: int, *, mode: int) -> None:
    """Close a folder to others. Then check once more for files that others have put into it."""
    strange = next(_strange(place, is_writable=bool(mode & 0o022)), None)
    is_shared = mode & stat.S_ISVTX  # such as /tmp: other users need it
    if strange or is_shared:
        remedy = ANOTHER if is_shared else f"chmod 700 {shown_path(place)}, or {ANOTHER}"
        raise EmbeddedError(
            f"{shown_path(place)} is open to other users (mode {mode:04o}), and "
            f"{strange or 'all of them may write there'}. A private server needs a folder of its own: {remedy}",
            given=place,
        )
    os.fchmod(descriptor, mode & ~_OTHERS)
    if os.fstat(descriptor).st_mode & _OTHERS:
        raise _other(place, f"is open to other users (mode {mode:04o}), and its file system does not let it be closed")
    _check(place)
    warnings.warn(
        f"{shown_path(place)} was open to other users (mode {mode:04o}); a private server serves one user, so it is "
        f"closed to them now (mode {mode & ~_OTHERS:04o}).",
        WorkkitWarning,
        stacklevel=4,
    )


def _strange(place: Path, *, is_writable: bool) -> Iterator[str]:
    """Give a reason not to close a folder: files in it that are not ours, or that others may have put there."""
    for path, there in _looked_over(place):
        if not any(names.fullmatch(path.name) for names, _ in _KINDS):
            yield f'holds other things, such as "{path.name}"'
        elif is_writable and there.st_nlink > 1 and not stat.S_ISDIR(there.st_mode):
            yield f'"{path.name}" in it has another name elsewhere'


def _check(place: Path) -> None:
    """Refuse a path that should be one of our files and is not: a link, another kind, or another user's file."""
    for path, there in _looked_over(place):
        wanted = next((what for names, what in _KINDS if names.fullmatch(path.name)), None)
        if wanted is None:
            continue
        if stat.S_ISLNK(there.st_mode):
            raise _link(path)
        if there.st_uid != os.geteuid():
            raise _other(path, f"belongs to another user (uid {there.st_uid}; this is {os.geteuid()})")
        if _kind(there) != wanted:
            raise _other(path, f"is no {wanted}")
        if wanted == "folder":
            _check(path)


def _looked_over(place: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """List the entries of a folder by name, without following links. A running server removes some of its own
    meanwhile.
    """
    with os.scandir(place) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            with suppress(FileNotFoundError):
                yield Path(entry.path), entry.stat(follow_symlinks=False)


def _kind(there: os.stat_result) -> str:
    if stat.S_ISREG(there.st_mode):
        return "plain file"
    return "folder" if stat.S_ISDIR(there.st_mode) else "socket" if stat.S_ISSOCK(there.st_mode) else "other"


def _link(path: Path) -> EmbeddedError:
    return _other(path, f"is a link to {os.readlink(path)}, and is not followed" if path.is_symlink() else "was a link")


def _other(path: Path, trouble: str) -> EmbeddedError:
    return EmbeddedError(f"{shown_path(path)} {trouble}. Remove it if it is not needed, or {ANOTHER}", given=path)
