"""Words of a time that were typed without quotes: the error shows the command as it must be typed."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.servers import Server


@pytest.fixture(autouse=True)
def app(folder: Path) -> None:
    (folder / "app.py").write_text("def hi(): ...\ndef greet(name): ...\n")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("app.hi every day at 9am", '"every day at 9am" app:hi'),
        ("app:hi every day at 9am", '"every day at 9am" app:hi'),
        ("every day at 9am app:hi", '"every day at 9am" app:hi'),
        ("7pm tomorrow app:greet bob", '"7pm tomorrow" app:greet bob'),
        ("app:greet in 5 minutes bob", '"in 5 minutes" app:greet bob'),
        ("app:hi daily at noon", '"daily at noon" app:hi'),
        ("every day app:hi", '"every day" app:hi'),
        ("every weekday at 9am", '"every weekday at 9am" FUNCTION'),
        ("0 9 '*' '*' 1-5 app:hi", '"0 9 * * 1-5" app:hi'),
        ('tomorrow at 9 a.m. "#\'your-app.cache/clear"', "\"tomorrow at 9 a.m.\" '#'\"'\"'your-app.cache/clear'"),
    ],
)
def test_add_shows_the_command_with_quotes(run: Run, typed: str, meant: str) -> None:
    ran = run("add", "shop", *shlex.split(typed))
    assert (ran.status, ran.out) == (2, "")
    hint = "error: WHEN is one argument, before FUNCTION. Put its words in quotes: "
    assert ran.err == f"{hint}workkit add shop {meant}\n"


def test_a_time_in_quotes_behind_the_function_is_told_its_place(run: Run) -> None:
    ran = run("add", "shop", "app:hi", "every day at 9am")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == 'error: WHEN comes before FUNCTION. Write: workkit add shop "every day at 9am" app:hi\n'


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("add 'every day at 9am' app:hi", "workkit add needs FUNCTION, after SCHEDULE and WHEN."),
        ("now app:hi", "workkit now needs FUNCTION, after SCHEDULE."),
        ("cancel digest", "workkit cancel needs WHICH, after SCHEDULE."),
        ("skip digest", "workkit skip needs WHICH, after SCHEDULE."),
        ("snooze digest '1 hour'", "workkit snooze needs WHICH, after SCHEDULE."),
        ("reschedule shop digest", "workkit reschedule needs WHEN, after SCHEDULE and WHICH."),
    ],
)
def test_what_is_missing_is_named_with_what_stands_before_it(run: Run, typed: str, said: str) -> None:
    ran = run(*shlex.split(typed))
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == f"error: {said} Try: workkit {typed.split()[0]} --help.\n"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("next 0 9 {files} {files} 1-5", 'workkit next "0 9 * * 1-5"'),
        ("explain {files} {files} {files} 1-5 9 0 0", 'workkit explain "* * * 1-5 9 0 0"'),
        ("add shop {files} {files} {files} 1-5 9 0 0 app:hi", 'workkit add shop "* * * 1-5 9 0 0" app:hi'),
    ],
)
def test_names_of_files_that_the_shell_put_in_are_stars_again(run: Run, folder: Path, typed: str, meant: str) -> None:
    (folder / "notes.txt").write_text("")
    ran = run(*shlex.split(typed.format(files="app.py notes.txt")))
    assert ran.status == 2
    assert ran.err.endswith(f"Put its words in quotes: {meant}\n")


def test_what_is_shown_works(run: Run, name: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    ran = run("add", name, "app.greet", "every", "day", "at", "9am", "bob")
    _, *words = shlex.split(ran.err.partition("quotes: ")[2])
    assert run(*words).out.startswith("added ")


@pytest.mark.parametrize("typed", ['"7pm tomorow" app:hi', '"every day" app:hy x.y', '"7pm tomorrow" app:hy'])
def test_a_mistake_in_what_is_quoted_keeps_its_own_error(run: Run, typed: str) -> None:
    ran = run("add", "shop", *shlex.split(typed), "--dry-run")
    assert ran.status == 2
    assert "in quotes" not in ran.err


@pytest.mark.parametrize("command", ["next", "explain"])
def test_next_and_explain_take_one_argument(run: Run, command: str) -> None:
    ran = run(command, "every", "day", "at", "9am")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == (f'error: WHEN is one argument. Put its words in quotes: workkit {command} "every day at 9am"\n')


def test_pause_until_takes_one_argument(run: Run) -> None:
    ran = run("pause", "shop", "--until", "in", "2", "hours")
    assert ran.err == 'error: --until takes one argument. Put the words in quotes: --until "in 2 hours"\n'


def test_now_with_a_time_shows_how_it_is_added(run: Run) -> None:
    ran = run("now", "shop", "app:hi", "in", "5", "minutes")
    assert ran.err == (
        "error: hi() in app.py takes 0 arguments; 3 given. "
        'To run it at a time: workkit add shop "in 5 minutes" app:hi\n'
    )
    assert run("now", "shop", "app:greet", "bob", "sue").err == (
        "error: greet(name) in app.py takes 1 argument; 2 given.\n"
    )


@pytest.mark.parametrize("typed", ["'7pm tomorrow' send_email", "'every weekday at 9am' send_email a@domain.com app:x"])
def test_a_plain_name_behind_a_time_in_quotes_is_a_function(
    run: Run, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    monkeypatch.setenv("WORKKIT_REDIS_URL", "redis://127.0.0.1:1/")
    ran = run("add", "shop", *shlex.split(typed))
    assert (ran.status, ran.out) == (69, ""), "the server is asked"
