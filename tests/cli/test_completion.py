"""What a shell completes: commands, options and their values, schedules, names and ids of jobs, functions."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.servers import Server, free_port
from workkit import schedule
from workkit.cli.commands.help import SHELLS


@pytest.fixture(autouse=True)
def on(server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    (folder / "app.py").write_text("def hi(): ...\ndef fail(): raise OSError('disk full')\n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    return server


def completed(run: Run, monkeypatch: pytest.MonkeyPatch, *words: str, shell: str = "bash") -> list[str]:
    """Give what a shell offers for the last of these words."""
    with monkeypatch.context() as patched:
        patched.setenv("_WORKKIT_COMPLETE", f"{shell}_complete")
        patched.setenv("COMP_WORDS", " ".join(("workkit", *words)))
        patched.setenv("COMP_CWORD", str(len(words)) if shell != "fish" else words[-1])
        ran = run()
    assert ran.err == ""
    if shell == "bash":
        return [line.partition(",")[2] for line in ran.out.splitlines() if line]
    return list(filter(None, ran.out.splitlines()))


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("add", "s", "noon", "app:hi", "--overlap", ""), ["allow", "skip", "queue", "cancel"]),
        (("add", "s", "noon", "app:hi", "--overlap", "s"), ["skip"]),
        (("add", "s", "noon", "app:hi", "--catch-up", ""), ["once", "all", "skip"]),
        (("now", "s", "app:hi", "--backoff", "e"), ["exponential"]),
        (("now", "s", "app:hi", "--on-conflict", ""), ["keep", "replace"]),
        (("now", "s", "app:hi", "--unique-until", ""), ["done", "started"]),
        (("now", "s", "app:hi", "--priority", ""), ["0", "1", "2", "3"]),
        (("list", "s", "--state", "r"), ["running", "retrying"]),
        (("web", "s", "--read"), ["--read-only"]),
        (("web", "s", "--tz", "Europe/Pari"), ["Europe/Paris"]),
        (("demo", "--w"), ["--web"]),
        (("listen", "s", "--log", ""), ["console", "json"]),
        (("wire", "v"), ["verify"]),
        (("batch", ""), ["list", "show", "cancel", "resume"]),
        (("batch", "show", "s", "b", "--ending", "d"), ["done", "dead", "discarded"]),
        (("next", "noon", "--dialect", "s"), ["standard"]),
        (("list", "--tz", "Europe/Pari"), ["Europe/Paris"]),
        (("list", "--wa"), ["--watch"]),
        (("re"), ["result", "resume", "reschedule", "retry"]),
    ],
)
def test_values_and_commands_are_offered(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...] | str, offered: list[str]
) -> None:
    given = (words,) if isinstance(words, str) else words
    assert completed(run, monkeypatch, *given) == offered


def test_schedules_of_settings_environment_and_server_are_offered(
    run: Run, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "pyproject.toml").write_text(f'[tool.workkit]\nschedules = ["{name}-settings"]\n')
    monkeypatch.setenv("WORKKIT_SCHEDULES", f"{name}-env, {name}-env2")
    schedule.add(schedule.create(f"{name}-server"), "app:hi", at="2050-01-01")
    expected = [f"{name}-settings", f"{name}-env", f"{name}-env2", f"{name}-server"]
    for command in ("list", "add", "cancel", "doctor", "listen", "stats"):
        assert completed(run, monkeypatch, command, name) == expected


def test_a_schedule_with_dead_jobs_only_is_offered(run: Run, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    s = schedule.create(f"{name}-dead")
    schedule.add_now(s, "tests.handlers:fail")
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    assert completed(run, monkeypatch, "dead", name) == [s.name]


def test_names_ids_and_functions_of_jobs_are_offered(run: Run, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    s = schedule.create(name)
    one = schedule.add(s, "app:hi", every="day at 9am", name="digest")
    other = schedule.add(s, "app:hi", at="2050-01-01")
    assert sorted(completed(run, monkeypatch, "cancel", name, "")) == sorted(["digest", one.id[:8], other.id[:8]])
    assert completed(run, monkeypatch, "skip", name, "di") == ["digest"]
    assert completed(run, monkeypatch, "show", name, one.id[:4]) == [one.id[:8]]
    assert completed(run, monkeypatch, "pause", name, "--fn", "") == ["app:hi"]
    schedule.add(schedule.create(name), "app:hi", at="2051-01-01", tags=["user:7", "paid"])
    for command in ("cancel", "list", "retry"):
        assert completed(run, monkeypatch, command, name, "--tag", "us") == ["user:7"]


def test_retry_and_discard_offer_dead_jobs_only(run: Run, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    s = schedule.create(name)
    schedule.add(s, "app:hi", at="2050-01-01", name="digest")
    dead = schedule.add_now(s, "tests.handlers:fail")
    schedule.drain(s, imports=["tests.handlers"], raise_errors=False)
    for command in ("retry", "discard"):
        assert completed(run, monkeypatch, command, name, "") == [dead.id[:8]]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_a_script_and_answers(
    run: Run, name: str, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    assert "_WORKKIT_COMPLETE" in run("completion", shell).out
    schedule.add(schedule.create(name), "app:hi", every="day at 9am", name="digest")
    offered = completed(run, monkeypatch, "cancel", name, "dig", shell=shell)
    assert any("digest" in line for line in offered)


def test_a_server_that_does_not_answer_costs_a_moment(run: Run, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKKIT_REDIS_URL", f"redis://10.255.255.1:{free_port()}/0")
    began = time.monotonic()
    assert completed(run, monkeypatch, "cancel", name, "") == []
    assert time.monotonic() - began < 3
