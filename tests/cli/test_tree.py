from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests.cli.conftest import Run
from tests.rows import every_row
from workkit.cli import failure
from workkit.cli.command import Command, with_folder
from workkit.cli.tree import ENTRIES, draw, tree
from workkit.errors import NotFound, PhraseError, ServerUnreachable


def command(name: str) -> Command:
    found = tree.get_command(click.Context(tree), name)
    assert isinstance(found, Command)
    return found


def test_help_is_the_tree_of_what_there_is(run: Run) -> None:
    ran = run("--help")
    assert ran.status == 0
    assert ran.out.startswith("Usage: workkit COMMAND [OPTIONS] ...\n\n  Run functions later, on any machine,")
    assert "Run:     listen     run due jobs of one or more schedules until stopped\n" in ran.out
    assert all(f" {name} " in ran.out for name in ENTRIES)
    assert ran.err == ""


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_tree_wraps(width: int) -> None:
    assert all(len(line) <= width for line in draw(width).splitlines())


def test_no_command_prints_help_and_is_a_mistake(run: Run) -> None:
    ran = run()
    assert ran.status == 2
    assert ran.out == ""
    assert ran.err.startswith("Usage: workkit COMMAND")


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("columns", ["60", "80", "200"])
def test_every_help_wraps_and_has_a_sentence_and_an_example(
    run: Run, name: str, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    ran = run(name, "--help")
    lines = ran.out.splitlines()
    assert ran.status == 0
    assert lines[0].startswith(f"Usage: workkit {name} ")
    assert lines[2].startswith("  ")
    assert any(line.lstrip().startswith(("workkit ", "zcat ", "eval ")) for line in lines)
    examples = command(name).examples
    assert all(len(line) <= int(columns) for line in lines if not line.strip().startswith(examples))


@every_row("name", ENTRIES)
def test_every_example_fits_eighty_columns(name: str) -> None:
    assert all(len(example) <= 78 for example in command(name).examples)


@pytest.mark.parametrize(
    "name", sorted(set(ENTRIES) - {"demo", "help", "next", "explain", "completion", "schema", "import"})
)
def test_help_names_server_and_environment(run: Run, name: str) -> None:
    out = run(name, "--help").out
    assert "Server (every command that needs one):" in out
    assert all(word in out for word in ("WORKKIT_REDIS_URL", "REDIS_URL", "--embedded[=FOLDER]"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("lisen",), 'workkit has no command "lisen". Did you mean listen?'),
        (("zzzz",), 'workkit has no command "zzzz". Commands: workkit --help.'),
        (("web", "--port", "3"), "workkit web has no option --port. Try: workkit web --help."),
        (("listen", "t", "--thread", "3"), "workkit listen has no option --thread. Did you mean --threads?"),
        (("--redis", "X", "listen", "t"), "options follow it: workkit listen t --redis X."),
        (("--redis", "redis://:secret@h", "listen"), "workkit listen --redis 'redis://:***@h'."),
        (("--foo",), "--foo needs a command before it"),
        (("listen", "t", "--threads", "x"), '--threads: "x" is not a whole number from 1.'),
        (("listen", "t", "--threads", "0"), '--threads: "0" is not a whole number from 1.'),
        (("listen", "t", "--coroutines", "0"), '--coroutines: "0" is not a whole number from 1.'),
        (("listen", "t", "--processes", "65"), '--processes: "65" is not a whole number from 1 to 64.'),
        (("listen", "t", "--processes", "two"), '--processes: "two" is not a whole number from 1 to 64.'),
        (("listen", "t", "--embedded", "/tmp/x"), "Write --embedded=/tmp/x"),
        (("listen", "t", "--embedded", "--redis", "redis://h"), "--redis and --embedded were both given"),
        (("listen",), "workkit listen needs a SCHEDULE."),
        (("listen", "t:0"), '"t:0": a weight is a whole number from 1'),
        (("listen", "t", "t:2"), 'schedule "t" was named twice.'),
        (("listen", "t", "-v", "-q"), "-v and -q were both given."),
        (("listen", "t", "--only-imports"), "--only-imports allows nothing without --import."),
        (("add", "t"), "workkit add needs WHEN, after SCHEDULE."),
        (("list", "t", "--all", "--limit", "3"), "--all and --limit 3 were both given."),
        (("list", "t", "--tz", "Europe/Pariss"), '--tz "Europe/Pariss" is not a zone. Did you mean "Europe/Paris"?'),
        (("add", "t", "now", "a:b", "-5"), "-5 looks like an option. Put -- before it: workkit add ... -- -5."),
        (("completion",), "name one of bash, zsh and fish."),
    ],
)
def test_a_mistake_is_answered_in_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.delenv("SHELL", raising=False)
    ran = run(*words)
    assert ran.status == 2
    assert ran.out == ""
    assert message in ran.err
    assert ran.err.startswith("error: ")
    assert "secret" not in ran.err


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["--embedded"], ["--embedded=.workkit"]),
        (["--embedded", "app-tasks"], ["--embedded=.workkit", "app-tasks"]),
        (["app-tasks", "--embedded=/tmp/x"], ["app-tasks", "--embedded=/tmp/x"]),
        (["a", "--embedded="], ["a", "--embedded=.workkit"]),
        (["a", "--", "--embedded"], ["a", "--", "--embedded"]),
    ],
)
def test_the_word_after_embedded_is_never_its_folder(given: list[str], read: list[str]) -> None:
    assert list(with_folder(given)) == read


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (PhraseError("x"), 2),
        (NotFound("x"), 3),
        (ServerUnreachable("x"), 69),
        (RuntimeError("x"), 70),
        (click.UsageError("x"), 2),
        (KeyboardInterrupt(), 130),
        (SystemExit(143), 143),
    ],
)
def test_every_error_has_its_status(error: BaseException, status: int) -> None:
    assert failure.report(error) == status


def test_a_caret_stands_under_the_place(capsys: pytest.CaptureFixture[str]) -> None:
    error = PhraseError('"7pm tomorow": no.', given="7pm tomorow", position=4)
    assert failure.report(error) == 2
    assert capsys.readouterr().err == 'error: "7pm tomorow": no.\n  7pm tomorow\n      ^\n'


def test_the_caret_stands_right_after_what_is_spelled_out(capsys: pytest.CaptureFixture[str]) -> None:
    failure.report(PhraseError("no", given="日\x1bx", position=2))
    assert capsys.readouterr().err.splitlines()[1:] == ["  日\\x1bx", f"  {' ' * 6}^"]


def test_a_long_text_is_shown_around_the_caret(capsys: pytest.CaptureFixture[str]) -> None:
    failure.report(PhraseError("no", given="a" * 500 + "X" + "b" * 500, position=500))
    text, caret = capsys.readouterr().err.splitlines()[1:]
    assert len(text) <= 80
    assert text[caret.index("^")] == "X"


def test_a_bug_is_one_line_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert failure.report(RuntimeError("one\ntwo")) == 70
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "workkit itself failed: RuntimeError: one two. Run it again with -v" in err


def test_verbose_shows_the_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise RuntimeError("boom")
    except RuntimeError as error:
        failure.report(error, verbose=True)
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_version(run: Run) -> None:
    from importlib.metadata import version

    assert run("--version") == (0, f"workkit {version('workkit')}\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(run: Run, shell: str) -> None:
    ran = run("completion", shell)
    assert ran.status == 0
    assert "_WORKKIT_COMPLETE" in ran.out


def complete(monkeypatch: pytest.MonkeyPatch, run: Run, words: str) -> list[str]:
    monkeypatch.setenv("_WORKKIT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    return [line.partition(",")[2] for line in run().out.splitlines()]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("workkit li", ["list", "listen", "listeners"]),
        ("workkit listen --thr", ["--threads"]),
        ("workkit add --unique-u", ["--unique-until"]),
        ("workkit listen --plan", ["--plan-version"]),
        ("workkit list --man", ["--management"]),
        ("workkit help ser", ["server"]),
        ("workkit listen t --log ", ["console", "json"]),
        ("workkit next x --tz Europe/Pari", ["Europe/Paris"]),
        ("workkit next x --tz europe/pari", ["Europe/Paris"]),
    ],
)
def test_completion_knows_commands_options_and_zones(
    monkeypatch: pytest.MonkeyPatch, run: Run, words: str, found: list[str]
) -> None:
    assert sorted(complete(monkeypatch, run, words)) == sorted(found)


def test_help_imports_nothing_heavy(folder: Path) -> None:
    code = (
        "import sys; from workkit.cli import main; main(['--help']); "
        "print(sorted({'redis', 'msgpack', 'croniter', 'dateutil'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"
