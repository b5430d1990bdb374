"""`workkit import`: the plan on stdout, what is refused on stderr, the exit status; and `sync` takes the plan."""

from __future__ import annotations

import io
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.conftest import Run
from tests.servers import Server
from workkit import schedule

CRONTAB = """\
SHELL=/bin/bash
*/15 * * * * /usr/bin/poll --all
0 9 * * 1-5 cd /srv && ./report > /dev/null
0 0 1-7 * */7 poll "first sunday"
0 12 * * * mail -s x ops%hello%there
@monthly clean
"""
TIMERS = {
    "a.timer": "[Timer]\nOnCalendar=Mon..Fri 02:30\nOnCalendar=Sat 04:00\n",
    "a.service": "[Service]\nExecStart=/bin/a\n",
    "b.timer": "[Timer]\nOnCalendar=2027-03-01 09:00\nOnCalendar=*-*~1 23:59:59\nPersistent=true\n",
    "b.service": "[Service]\nUser=app\nExecStart=/bin/b\n",
}


def test_a_plan_goes_to_stdout_and_nothing_to_stderr(run: Run, folder: Path) -> None:
    (folder / "web").write_text(CRONTAB)
    ran = run("import", "crontab", "web", "--tz", "Europe/Paris")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(
        "# A plan of the crontab web: 5 jobs, 0 refused.\n# Next: workkit sync app-tasks plan.toml"
    )
    assert list(tomllib.loads(ran.out)) == ["poll", "report", "poll-2", "mail", "clean"]


def test_what_is_refused_is_told_with_its_line_and_status_1(run: Run, folder: Path) -> None:
    (folder / "web").write_text("0 9 * * * a\n@reboot b\n")
    ran = run("import", "crontab", "web", "--tz", "UTC")
    assert ran.status == 1
    assert list(tomllib.loads(ran.out)) == ["a"]
    assert "\n# REFUSED, line 2: @reboot b\n" in ran.out
    assert ran.err.startswith("refused: line 2: @reboot b\n  @reboot is no time: ")


def test_stdin_and_system_crontabs_are_read(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"0 9 * * * root a\n")))
    ran = run("import", "crontab", "-", "--system", "--tz", "UTC")
    assert ran.status == 0
    assert tomllib.loads(ran.out)["a"]["kwargs"]["user"] == "root"


def test_the_zone_is_that_of_the_machine(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "web").write_text("0 9 * * * a\n")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert tomllib.loads(run("import", "crontab", "web").out)["a"]["tz"] == "Asia/Tokyo"
    monkeypatch.setenv("TZ", "JST-9")
    ran = run("import", "crontab", "web")
    assert (ran.status, ran.out) == (2, "")
    assert 'the zone of this machine has no name: JST-9. Write --tz "Europe/Paris".' in ran.err


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("crontab", "nowhere"), 3, "nowhere: no such file or directory. Name a file, or - for stdin."),
        (("systemd", "nowhere"), 3, "nowhere: no such folder. Name one with *.timer files"),
        (("crontab", "latin"), 2, "latin: byte 1 is not UTF-8. Save it as UTF-8."),
        (("systemd", ".", "--system"), 2, "--system is for crontabs; systemd has no column for a user. Leave it out."),
        (("crontab", "latin", "--tz", "Paris"), 2, "Europe/Paris"),
        (("cron", "latin"), 2, "cron"),
        (("crontab",), 2, "workkit import needs WHAT"),
    ],
)
def test_what_cannot_be_read_is_an_error(
    run: Run, folder: Path, words: tuple[str, ...], status: int, message: str
) -> None:
    (folder / "latin").write_bytes(b"\xe9")
    ran = run("import", *words)
    assert (ran.status, ran.out) == (status, "")
    assert message in ran.err


@pytest.mark.parametrize("server", ["redis"], indirect=True)
def test_a_second_import_and_sync_changes_nothing(run: Run, folder: Path, server: Server, name: str) -> None:
    (folder / "web").write_text(CRONTAB)
    (folder / "timers").mkdir()
    for file, text in TIMERS.items():
        (folder / "timers" / file).write_text(text)
    for source, count in ((("crontab", "web"), 5), (("systemd", "timers"), 3)):
        plans = [run("import", *source, "--tz", "Europe/Paris").out for _ in range(2)]
        assert plans[0] == plans[1]
        (folder / "plan.toml").write_text(plans[0])
        for said in (f"{count} added", f"{count} unchanged"):
            ran = run("sync", f"{name}-{source[0]}", "plan.toml", "--redis", server.url)
            assert ran.status == 0, ran.err
            assert f"{name}-{source[0]}: {said}" in ran.out
    jobs = {job.name: job for job in schedule.jobs(schedule.create(f"{name}-crontab", redis=server.url))}
    assert jobs["mail"].kwargs == {
        "stdin": "hello\nthere\n", "env": {"PATH": "/usr/bin:/bin", "SHELL": "/bin/bash"}, "cwd": "~",
    }  # fmt: skip
