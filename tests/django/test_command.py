"""`manage.py workkit`: the command line of workkit, with what the settings say."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import pytest

from workkit import schedule
from workkit.schedule import Schedule

INSTALL = "they came with Django 6.0. Install them: pip install django-tasks"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command sets these for this process, and what it starts."""
    for name in ("WORKKIT_SCHEDULES", "WORKKIT_REDIS_URL", "WORKKIT_TZ"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def call(*words: str) -> None:
    from django.core.management import call_command

    call_command("workkit", *words)


def test_the_settings_name_schedule_and_server(s: Schedule, capsys: pytest.CaptureFixture[str]) -> None:
    call("now", s.name, "tests.django.tasks:plain", "1", "--name", "by-hand")
    assert [job.name for job in schedule.jobs(s)] == ["by-hand"]
    capsys.readouterr()
    call("list", "--json")
    assert '"by-hand"' in capsys.readouterr().out


def test_its_listener_knows_the_handlers_of_the_apps(s: Schedule) -> None:
    from tests.django import tasks

    result = tasks.add.enqueue(1, 2)
    call("listen", "--burst", "--only-imports")
    result.refresh()
    assert result.return_value == 3


def test_a_refusal_keeps_its_exit_status(s: Schedule, capsys: pytest.CaptureFixture[str]) -> None:
    from django.core.management.base import CommandError

    schedule.mark(s, "begun")
    with pytest.raises(CommandError) as raised:
        call("show", s.name, "nothing")
    assert raised.value.returncode == 3
    assert "no job" in capsys.readouterr().err


def test_schedules_on_several_servers_need_a_choice(capsys: pytest.CaptureFixture[str]) -> None:
    from django.core.management.base import CommandError
    from django.test import override_settings

    options = {"schedule": "other", "redis": "redis://:PW@two:6379/"}
    tasks = {"default": {"BACKEND": "workkit.django.Backend", "OPTIONS": options}}
    with override_settings(WORKKIT={"schedule": "shop", "redis": "redis://one:6379/"}, TASKS=tasks):
        with pytest.raises(
            CommandError, match=r"several servers, redis://one:6379/ and .*two.* Add --redis URL"
        ) as raised:
            call("list")
        assert "PW" not in str(raised.value)
        call("next", "9am")
    assert "9:00" in capsys.readouterr().out


def help_of(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    from workkit.django.management.commands.workkit import Command

    with pytest.raises(SystemExit) as ended:
        Command().run_from_argv(["manage.py", "workkit", *argv])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_its_help_teaches(s: Schedule, capsys: pytest.CaptureFixture[str]) -> None:
    said = help_of(capsys, "--help", "--settings=project.settings")
    assert "run due jobs of one or more schedules until stopped" in said
    assert "In this project write: manage.py workkit COMMAND." in said
    assert f"Its settings name {s.name} on redis://" in said
    assert "--threads N" in help_of(capsys, "listen", "--help")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["listen", "--settings", "a.b", "-v"], ["listen", "-v"]),
        (["--settings=a.b", "listen", "--pythonpath=src"], ["listen"]),
        (["listen", "shop"], ["listen", "shop"]),
    ],
)
def test_options_of_manage_py_are_not_passed_on(given: list[str], kept: list[str]) -> None:
    from workkit.django.management.commands.workkit import own_words

    assert own_words(given) == kept


@pytest.mark.parametrize(
    ("original", "seen", "command"),
    [
        (["python", "manage.py", "workkit", "listen"], ["manage.py", "workkit", "listen"], ["manage.py", "workkit"]),
        (["python", "-m", "django", "workkit", "list"], ["x.py", "workkit", "list"], ["-m", "django", "workkit"]),
        (["python", "-X", "dev", "program.py"], ["program.py"], ["-m", "django", "workkit"]),
    ],
)
def test_it_knows_how_to_start_again(
    original: list[str], seen: list[str], command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from workkit.django.management.commands.workkit import started_as

    monkeypatch.setattr(sys, "orig_argv", original)
    monkeypatch.setattr(sys, "argv", seen)
    assert started_as() == (sys.executable, *command)


def test_nothing_of_django_is_imported_without_it() -> None:
    import subprocess

    source = "import sys, workkit, workkit.cli, workkit.schedule, workkit.verbs.serving\nprint('django' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_project_without_tasks_needs_no_package_for_them(tmp_path: Any) -> None:
    import subprocess

    (tmp_path / "plain.py").write_text(
        'SECRET_KEY = "x"\nINSTALLED_APPS = ["workkit.django"]\nWORKKIT = {"schedule": "shop"}\nUSE_TZ = True\n'
    )
    source = (
        "import sys; sys.modules['django_tasks'] = None\n"
        "import workkit.django.project\nfrom workkit.django import default_schedule\nprint(default_schedule().tz)\n"
        "try:\n    from workkit.django import Backend\nexcept ImportError as e:\n    print(e)"
    )
    env = {"DJANGO_SETTINGS_MODULE": "plain", "PATH": "/usr/bin", "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, env=env)
    assert done.stderr == ""
    zone, *refused = done.stdout.splitlines()
    assert zone == "America/Chicago"  # as Django has it where the settings say nothing
    has_tasks = importlib.util.find_spec("django.tasks") is not None
    assert refused == ([] if has_tasks else [f"this Django has no tasks: {INSTALL}"])
