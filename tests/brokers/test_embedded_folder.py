from __future__ import annotations

import os
import shutil
import socket
import stat
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.embedding import USER, client_of, ended, flushed, leave
from tests.processes import Processes, is_alive, until
from tests.servers import program
from workkit.brokers.embedded import attachment
from workkit.brokers.embedded.attachment import attach, folder_of, temporary
from workkit.errors import EmbeddedError, InvalidSchedule, WorkkitWarning


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    program("valkey")
    return tmp_path / "private"


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("embedded:///srv/app/.workkit", "/srv/app/.workkit"),
        ("embedded://.workkit", ".workkit"),
        ("embedded://data/jobs", "data/jobs"),
        ("embedded://./jobs/", "jobs"),
        ("embedded://../jobs", "../jobs"),
        ("embedded://.", "."),
        ("embedded:///my%20jobs/50%25/100%", "/my jobs/50%/100%"),
        ("embedded:///my jobs/ü", "/my jobs/ü"),
        ("embedded:///a:1/b@c", "/a:1/b@c"),
    ],
)
def test_folder_of_reads_the_folder(url: str, path: str) -> None:
    assert folder_of(url) == Path(path)


def test_folder_of_expands_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/tracy")
    assert folder_of("embedded://~/jobs") == Path("/home/tracy/jobs")


@pytest.mark.parametrize(
    ("url", "trouble"),
    [
        ("embedded://", "names no folder"),
        ("embedded:///", "names no folder"),
        ("embedded:/srv", "does not begin with embedded://"),
        ("redis:///srv", "does not begin with embedded://"),
        ("", "does not begin with embedded://"),
        ("embedded://localhost:6379/0", "names a host or port"),
        ("embedded://:secret@host/0", "names a host or port"),
        ("embedded:///srv?db=1", 'has "?" at column 16'),
        ("embedded:///srv#1", 'has "#" at column 16'),
        ("embedded:///a%00b", "has a NUL character"),
    ],
)
def test_folder_of_refuses_what_names_no_folder(url: str, trouble: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        folder_of(url)
    assert trouble in str(caught.value)
    assert str(caught.value).startswith(f"redis={url.replace('secret', '***')!r} ")
    assert "secret" not in str(caught.value)
    assert str(caught.value).endswith(
        "Write embedded:///folder, or embedded://folder for one under the current folder."
    )


def test_attach_leaves_git_alone_in_a_folder_that_holds_other_things(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    (folder / "app.py").touch()
    with attach(folder):
        pass
    assert not (folder / ".gitignore").exists()


def test_attach_serves_any_name_a_folder_can_have(tmp_path: Path) -> None:
    odd = [tmp_path / name for name in ("a b", "50%", "c#d?e=f", 'quo"te', "back\\slash", "ünï", "new\nline")]
    with ExitStack() as stack:
        servers = [stack.enter_context(attach(path)) for path in odd]
        assert len({server.pid for server in servers}) == len(odd)
        for server in servers:
            with client_of(server) as client:
                assert client.config_get("dir")["dir"] == str(server.folder)


def test_attach_takes_two_ways_to_one_folder_for_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(mode=0o700)
    (folder.parent / "link").symlink_to(folder)
    monkeypatch.chdir(folder.parent)
    with attach(folder) as one, attach(Path("private")) as two, attach(folder.parent / "link") as three:
        assert one.url == two.url == three.url
        assert one.pid == two.pid == three.pid


def long_folder(tmp_path: Path, last: str) -> Path:
    return tmp_path.joinpath(*["a" * 60] * 3, last)


def test_attach_puts_the_socket_of_a_long_folder_elsewhere(tmp_path: Path) -> None:
    with attach(long_folder(tmp_path, "one")) as one, attach(long_folder(tmp_path, "two")) as two:
        assert one.pid != two.pid
        sockets = [Path(server.url.removeprefix("unix://")) for server in (one, two)]
        for path in sockets:
            assert len(os.fsencode(path)) < 104
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        with client_of(one) as client:
            assert client.ping()
    assert not any(path.parent.exists() for path in sockets)


def test_processes_with_different_temporary_folders_share_a_long_folder(
    tmp_path: Path, processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = long_folder(tmp_path, "one")
    with attach(place) as server:
        with temporary() as other:
            process = processes.python(USER, str(place), env={"TMPDIR": str(other.folder)})
            assert int(process.wait_for(r"^attached (\d+)")[1]) == server.pid
            leave(process)
        assert is_alive(server.pid)


def test_attach_refuses_a_socket_folder_that_others_can_reach(tmp_path: Path) -> None:
    place = long_folder(tmp_path, "one")
    with attach(place) as server:
        elsewhere = Path(server.url.removeprefix("unix://")).parent
    elsewhere.mkdir()
    elsewhere.chmod(0o777)
    try:
        with pytest.raises(EmbeddedError, match="is not a folder of this user alone"):
            attach(place)
    finally:
        elsewhere.rmdir()


def test_a_copy_of_a_folder_has_a_server_of_its_own(folder: Path, tmp_path: Path) -> None:
    with attach(folder) as server, client_of(server) as client:
        client.set("from", "the original")
        flushed(client)
        shutil.copytree(folder, tmp_path / "copy", ignore=shutil.ignore_patterns("*.sock"))
        with attach(tmp_path / "copy") as copy, client_of(copy) as other:
            assert copy.pid != server.pid
            assert other.get("from") == b"the original"
        assert client.ping()


def removed(folder: Path) -> bool:
    """Remove a folder in which a server may write meanwhile; whether it is gone."""
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def test_attach_to_a_folder_that_was_removed_and_made_anew(folder: Path) -> None:
    with attach(folder) as old:
        until(lambda: removed(folder))
        with attach(folder) as new, client_of(new) as client:
            assert new.pid != old.pid
            ended(old.pid)
            assert client.ping()
        assert not is_alive(new.pid)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_attach_refuses_a_folder_that_is_not_writable(folder: Path, tmp_path: Path) -> None:
    folder.mkdir(mode=0o500)
    with pytest.raises(EmbeddedError, match=r"cannot be used: Permission denied\. Name a folder you may write to"):
        attach(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_attach_refuses_a_folder_of_another_user(folder: Path) -> None:
    folder.mkdir()
    os.chown(folder, 12345, -1)
    with pytest.raises(EmbeddedError, match=r"belongs to another user \(uid 12345; this is 0\)"):
        attach(folder)
    assert list(folder.iterdir()) == []


def test_attach_refuses_what_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    with pytest.raises(EmbeddedError) as caught:
        attach(Path("file/private"))
    assert str(caught.value) == (
        'file/private cannot be used: Not a directory. Name a folder you may write to: redis="embedded:///FOLDER".'
    )


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def opened_to(folder: Path, mode: int) -> Path:
    folder.mkdir()
    folder.chmod(mode)
    return folder


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o777, 0o770, 0o711])
def test_attach_closes_an_empty_folder_that_was_open_to_others_with_a_word(folder: Path, mode: int) -> None:
    opened_to(folder, mode)
    with pytest.warns(WorkkitWarning) as told, attach(folder) as server, client_of(server) as client:
        assert client.ping()
    assert [str(one.message) for one in told] == [
        f"{folder} was open to other users (mode {mode:04o}); a private server serves one user, so it is closed to "
        "them now (mode 0700)."
    ]
    assert mode_of(folder) == 0o700


def test_attach_closes_a_folder_of_its_own_that_was_opened_since(folder: Path) -> None:
    with attach(folder):
        pass
    folder.chmod(0o755)
    with pytest.warns(WorkkitWarning, match="was open to other users") as told, attach(folder), attach(folder):
        assert len(told) == 1
    assert mode_of(folder) == 0o700


@pytest.mark.parametrize("mode", [0o755, 0o777])
def test_attach_refuses_an_open_folder_that_holds_other_things(folder: Path, mode: int) -> None:
    opened_to(folder, mode)
    (folder / "app.py").touch()
    with pytest.raises(EmbeddedError) as caught:
        attach(folder)
    assert str(caught.value) == (
        f'{folder} is open to other users (mode {mode:04o}), and holds other things, such as "app.py". '
        f'A private server needs a folder of its own: chmod 700 {folder}, or name another folder: redis="embedded:///FOLDER".'
    )
    assert mode_of(folder) == mode
    assert [path.name for path in folder.iterdir()] == ["app.py"]


def test_attach_refuses_a_folder_for_everybody(folder: Path) -> None:
    opened_to(folder, 0o1777)
    with pytest.raises(EmbeddedError) as caught:
        attach(folder)
    assert str(caught.value) == (
        f"{folder} is open to other users (mode 1777), and all of them may write there. "
        'A private server needs a folder of its own: name another folder: redis="embedded:///FOLDER".'
    )
    assert mode_of(folder) == 0o1777


OURS = [
    "users.lock", "server.lock", "gate.lock", "server.log", "server.log.old", "server.json", "server.json.new",
    "server-1f.sock", ".gitignore", "dump.rdb", "temp-rewriteaof-bg-7.aof", "temp-7.rdb", "appendonlydir",
    "appendonlydir/appendonly.aof.manifest",
]  # fmt: skip


@pytest.mark.parametrize("mode", [0o700, 0o777])
@pytest.mark.parametrize("ours", OURS)
def test_attach_never_follows_a_link_that_takes_the_place_of_a_file_of_ours(
    folder: Path, tmp_path: Path, ours: str, mode: int
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    opened_to(folder, mode)
    (folder / ours).parent.mkdir(exist_ok=True)
    (folder / ours).symlink_to(victim)
    with pytest.raises(EmbeddedError) as caught:
        attach(folder)
    assert str(caught.value) == (
        f"{folder / ours} is a link to {victim}, and is not followed. "
        'Remove it if it is not needed, or name another folder: redis="embedded:///FOLDER".'
    )
    assert victim.read_text() == "precious"
    assert (folder / ours).is_symlink()
    assert [path.name for path in folder.iterdir()] == [ours.partition("/")[0]]
    assert mode_of(folder) == mode


def test_attach_makes_nothing_where_a_dangling_link_points(folder: Path, tmp_path: Path) -> None:
    folder.mkdir(mode=0o700)
    (folder / "server.json.new").symlink_to(tmp_path / "nothing")
    with pytest.raises(EmbeddedError, match="is a link to"):
        attach(folder)
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("ours", ["server.log", "users.lock", "server.json"])
def test_a_link_that_is_planted_while_the_server_runs_is_not_followed_either(
    folder: Path, tmp_path: Path, ours: str
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    with attach(folder) as server:
        (folder / ours).unlink()
        (folder / ours).symlink_to(victim)
        with client_of(server) as client:
            client.config_set("loglevel", "debug")
        with pytest.raises(EmbeddedError, match=f"{ours} is a link to {victim}, and is not followed"):
            attach(folder)
    ended(server.pid)
    assert victim.read_text() == "precious"
    assert (folder / ours).is_symlink()


def test_attach_refuses_what_is_no_plain_file_where_one_belongs(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    os.mkfifo(folder / "server.log")
    with pytest.raises(EmbeddedError, match=r"server\.log is no plain file\. Remove it if it is not needed"):
        attach(folder)


def test_attach_refuses_a_file_with_another_name_in_a_folder_that_others_may_write_to(
    folder: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    opened_to(folder, 0o777)
    os.link(victim, folder / "server.log")
    with pytest.raises(EmbeddedError, match=r'mode 0777\), and "server\.log" in it has another name elsewhere'):
        attach(folder)
    assert victim.read_text() == "precious"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_attach_refuses_a_file_of_another_user(folder: Path) -> None:
    opened_to(folder, 0o777)
    (folder / "server.json").write_text("{}")
    os.chown(folder / "server.json", 12345, -1)
    with pytest.raises(EmbeddedError, match=r"server\.json belongs to another user \(uid 12345; this is 0\)"):
        attach(folder)


def test_attach_asks_no_socket_in_a_folder_that_others_can_reach(tmp_path: Path) -> None:
    """Another user may make the folder of a socket first, where the server of this one listens elsewhere."""
    place = long_folder(tmp_path, "one")
    with attach(place) as server:
        path = Path(server.url.removeprefix("unix://"))
        path.parent.chmod(0o777)
        with socket.socket(socket.AF_UNIX) as foreign:
            path.rename(path.with_name("hidden"))
            foreign.bind(str(path))
            foreign.listen()
            assert attachment._addresses(place) == set()
            path.unlink()
            path.with_name("hidden").rename(path)
        path.parent.chmod(0o700)


def test_the_command_line_says_in_one_line_that_it_closed_a_folder(
    folder: Path, processes: Processes, tmp_path: Path
) -> None:
    opened_to(folder, 0o755)
    ran = processes.workkit("schedules", f"--embedded={folder}")
    assert ran.wait() == 0
    assert ran.err[0] == (
        "warning: private was open to other users (mode 0755); a private server serves one user, so it is closed to "
        "them now (mode 0700)."
    )
    (folder / "server.json").unlink()
    (folder / "server.json").symlink_to(tmp_path / "victim")
    ran = processes.workkit("list", "t", f"--embedded={folder}")
    assert ran.wait() == 4
    assert ran.err == [
        f"error: private/server.json is a link to {tmp_path}/victim, and is not followed. Remove it if it is not "
        "needed, or name another folder: --embedded=FOLDER."
    ]
