from __future__ import annotations

from pathlib import Path

import pytest

from workkit.cli.settings import Settings, read_settings
from workkit.errors import InvalidOptions


def write(folder: Path, text: str) -> Path:
    file = folder / "pyproject.toml"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("key", "instead"),
    [
        ("redis", "Set WORKKIT_REDIS_URL, or give --redis URL."),
        ("redis_url", "Set WORKKIT_REDIS_URL, or give --redis URL."),
        ("server", "Set WORKKIT_REDIS_URL, or give --redis URL."),
        ("amqp", "Set WORKKIT_AMQP_URL, or give --amqp URL."),
        ("layout", "Set WORKKIT_LAYOUT, or give --layout NAME."),
    ],
)
def test_a_server_is_no_setting_and_the_message_says_where_it_belongs(tmp_path: Path, key: str, instead: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[tool.workkit]\n{key} = "x"\n')
    with pytest.raises(InvalidOptions) as raised:
        read_settings(tmp_path)
    assert "is not a setting. This table names no server" in str(raised.value)
    assert instead in str(raised.value)
    assert "Did you mean" not in str(raised.value)


@pytest.mark.parametrize(
    ("key", "near"), [("thread", "threads"), ("imports", "import"), ("retries", None), ("no-log", None)]
)
def test_a_wrong_key_is_answered_with_one_that_a_slip_explains(tmp_path: Path, key: str, near: str | None) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[tool.workkit]\n{key} = "x"\n')
    with pytest.raises(InvalidOptions) as raised:
        read_settings(tmp_path)
    assert raised.value.suggestion == near


def test_no_file_says_nothing(folder: Path) -> None:
    assert read_settings(folder) == Settings()


def test_the_nearest_file_upward_counts(folder: Path) -> None:
    write(folder, '[tool.workkit]\nschedules = ["far"]\n')
    inner = folder / "a" / "b"
    inner.mkdir(parents=True)
    file = write(folder / "a", '[tool.workkit]\nschedules = ["near"]\nthreads = 3\nimport = ["app.jobs"]\n')
    assert read_settings(inner) == Settings(schedules=("near",), threads=3, imports=("app.jobs",), file=file)


def test_planned_jobs_name_their_schedules(folder: Path) -> None:
    text = '[tool.workkit]\nplan-version = 7\n[tool.workkit.schedules.app-tasks.digest]\nfn = "app:f"\nevery = "hour"\n'
    file = write(folder, text)
    assert read_settings(folder) == Settings(schedules=("app-tasks",), plan_version=7, plans=True, file=file)


def test_the_nearest_file_counts_even_without_a_table(folder: Path) -> None:
    write(folder, '[tool.workkit]\nschedules = ["far"]\n')
    inner = folder / "a"
    inner.mkdir()
    file = write(inner, "[project]\nname = 'x'\n")
    assert read_settings(inner) == Settings(file=file)


@pytest.mark.parametrize(
    ("line", "trouble"),
    [
        ('schedule = ["a"]', "schedule in [tool.workkit] of {file} is not a setting. Did you mean schedules?"),
        (
            "zzz = 1",
            "Accepted: schedules, import, threads, coroutines, processes, deadline, health-port, log,",
        ),
        ("threads = 0", "threads = 0 in [tool.workkit] of {file} cannot be used. Write threads = 10."),
        ("coroutines = 0", "coroutines = 0 in [tool.workkit] of {file} cannot be used. Write coroutines = 100."),
        ("threads = true", "threads = True in [tool.workkit]"),
        (
            "processes = 65",
            "processes = 65 in [tool.workkit] of {file} cannot be used. Write processes = 2, from 1 to 64.",
        ),
        ('plan-version = ""', 'Write plan-version = "2026.11.23".'),
        ("schedules = {a = 1}", 'Write schedules = ["app-tasks"].'),
        ('schedules = "a"', 'Write schedules = ["app-tasks"].'),
        ("deadline = 30", 'deadline = 30 in [tool.workkit] of {file} cannot be used. Write deadline = "25s".'),
        ('log = "xml"', 'Write log = "console" or log = "json".'),
        ('redis = "redis://x"', "redis in [tool.workkit] of {file} is not a setting."),
    ],
)
def test_what_cannot_be_used_is_refused(folder: Path, line: str, trouble: str) -> None:
    file = write(folder, f"[tool.workkit]\n{line}\n")
    with pytest.raises(InvalidOptions) as caught:
        read_settings(folder)
    assert trouble.format(file=file) in str(caught.value)


@pytest.mark.parametrize("text", ["[tool.workkit\n", "tool = 3\n", "[tool]\nworkkit = 3\n"])
def test_a_file_that_cannot_be_read_is_named(folder: Path, text: str) -> None:
    file = write(folder, text)
    with pytest.raises(InvalidOptions, match=r"pyproject\.toml") as caught:
        read_settings(folder)
    assert str(file) in str(caught.value)
