"""Timers of systemd: units as they are written, what their services run, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from workkit.errors import NotFound
from workkit.moving.found import Carried, Found, Reading, Refused
from workkit.moving.systemd import found_in
from workkit.moving.systemd_service import PATH, seconds_of
from workkit.text.wording import option_text

NOW = datetime(2026, 11, 23, tzinfo=UTC)
SERVICE = "[Service]\nType=oneshot\nUser=app\nExecStart=/usr/bin/backup -q\n"
TIMER = "[Timer]\nOnCalendar=daily\n"


def read(folder: Path, timer: str = TIMER, service: str = SERVICE, *, tz: str = "UTC") -> list[Found]:
    (folder / "backup.timer").write_text(timer)
    (folder / "backup.service").write_text(service)
    return found_in(str(folder), Reading(tz=tz, now=NOW))


def job(folder: Path, timer: str = TIMER, service: str = SERVICE, *, tz: str = "UTC") -> Carried:
    (found,) = read(folder, timer, service, tz=tz)
    assert isinstance(found, Carried), found
    return found


def refusals(folder: Path, timer: str = TIMER, service: str = SERVICE) -> list[Refused]:
    return [found for found in read(folder, timer, service) if isinstance(found, Refused)]


def test_a_timer_becomes_a_job_of_its_service(tmp_path: Path) -> None:
    times = "OnCalendar=Mon..Fri \\\n  02:30\nOnCalendar=Sat 4:00\nPersistent=yes\n"
    timer = f"[Unit]\nDescription=x\n[Timer]\n# twice\n{times}"
    service = (
        "[Service]\nType=oneshot\nUser=app\nWorkingDirectory=~\nTimeoutStartSec=1h 30min\nNice=5\n"
        'Environment=A=1 "B=x y"\nEnvironment=C=100%%\nExecStart=-/usr/bin/backup "a b" $$HOME 5%%\n'
    )
    assert job(tmp_path, timer, service, tz="Europe/Paris") == Carried(
        name="backup",
        when="every weekday at 2:30 and every Saturday at 4:00",
        function="workkit.shell:run",
        args=[["/usr/bin/backup", "a b", "$HOME", "5%"]],
        kwargs={
            "check": False,
            "user": "app",
            "env": {"PATH": PATH, "A": "1", "B": "x y", "C": "100%"},
            "cwd": "~",
        },
        options={"tz": "Europe/Paris", "overlap": "skip", "catch_up": "once", "timeout": "90m"},
        where="backup.timer line 5: OnCalendar=Mon..Fri    02:30; backup.timer line 7: OnCalendar=Sat 4:00",
        comments=("Not carried over: Nice=5.",),
    )


def test_several_commands_run_one_after_another(tmp_path: Path) -> None:
    service = "[Service]\nUser=app\nExecStartPre=/bin/a 'x y'\nExecStart=-/bin/b\nExecStartPost=/bin/c\n"
    found = job(tmp_path, service=service)
    assert found.args == ["/bin/a 'x y' && { /bin/b || :; } && /bin/c"]
    assert found.kwargs["shell"] is True


def test_a_number_of_many_digits_is_read_whole(tmp_path: Path) -> None:
    assert job(tmp_path, "[Timer]\nOnCalendar=05:0000000000012\n").when == "12 5 * * *"


def test_a_range_of_one_year_is_that_year(tmp_path: Path) -> None:
    assert job(tmp_path, "[Timer]\nOnCalendar=2027..2027-03-01 9:00\n").when == "2027-03-01 at 9:00"


def test_an_empty_setting_forgets_those_before_it_and_drop_ins_come_last(tmp_path: Path) -> None:
    drop_in = tmp_path / "backup.timer.d"
    drop_in.mkdir()
    (drop_in / "10-later.conf").write_text("[Timer]\nOnCalendar=\nOnCalendar=05:00\nRandomizedDelaySec=90\n")
    found = job(tmp_path)
    assert found.when == "0 5 * * *"
    assert found.options["spread"] == "90s"
    assert found.where == "10-later.conf line 3: OnCalendar=05:00"
    assert found.comments == (
        "systemd puts each run off by another part of RandomizedDelaySec, workkit all by the same.",
    )


def test_lines_that_no_text_unites_are_jobs_of_their_own(tmp_path: Path) -> None:
    first, second = read(tmp_path, "[Timer]\nOnCalendar=02:00 Asia/Tokyo\nOnCalendar=hourly UTC\n")
    assert isinstance(first, Carried)
    assert first.options["tz"] == "Asia/Tokyo"
    assert isinstance(second, Refused)
    assert second.reason == "It elapses together with another line, and systemd then starts it once."


def test_what_elapses_once_has_no_options_of_a_recurrence(tmp_path: Path) -> None:
    found = job(tmp_path, "[Timer]\nOnCalendar=2027-03-01 9:00\nPersistent=true\nRandomizedDelaySec=1h\n")
    assert found.when == "2027-03-01 at 9:00"
    assert found.options == {"tz": "UTC"}
    assert found.comments[-1] == "It runs once, after a downtime also late."


def test_a_timer_names_another_unit_and_comments_tell_its_other_settings(tmp_path: Path) -> None:
    (tmp_path / "other.service").write_text("[Service]\nExecStart=/bin/other\n")
    found = job(tmp_path, f"{TIMER}Unit=other.service\nAccuracySec=1h\nWakeSystem=true\nFixedRandomDelay=yes\n")
    assert found.args == [["/bin/other"]]
    assert found.kwargs["cwd"] == "/"
    assert [comment.split()[0] for comment in found.comments] == ["It", "systemd", "WakeSystem="]


@pytest.mark.parametrize(
    ("line", "reason", "instead"),
    [
        ("OnBootSec=15min", "It counts from an event of one machine", ""),
        ("OnUnitActiveSec=90min", "It counts from an event of one machine", 'every = "90m"'),
        ("OnUnitInactiveSec=2d", "It counts from an event of one machine", ""),
        ("OnClockChange=true", "It starts when the clock of a machine is set.", ""),
        ("OnCalendar=*-*~1..1/5", '"1..1/5" has a step that leads past the last day', ""),
        ("OnCalendar=*-*~2", "Days before the last one of February", "Leave February out"),
        ("OnCalendar=10:00:00.5", '"00.5" has a fraction of a second', "Write 00."),
        ("OnCalendar=Sat *-*-1/2", "Neither a cron string nor words", "Write it as several lines"),
        ("OnCalendar=2003-03-05", "It never elapses again.", ""),
        ("OnCalendar=10:00 CET5", "CET5 is not a zone", "Europe/Paris"),
        ("OnCalendar=Fri..Mon", "fri..mon runs backwards", ""),
        ("OnCalendar=Foo", "foo is no day of the week.", ""),
        ("OnCalendar=27", '"27" is not understood.', "systemd-analyze calendar"),
        ("OnCalendar=*:60", '"60" in "60" is out of range: 0 to 59.', ""),
        ("OnCalendar=*:0/0", "has a step out of range: 1 to 59.", ""),
    ],
)
def test_a_line_that_no_plan_says_is_refused_with_its_place(
    tmp_path: Path, line: str, reason: str, instead: str
) -> None:
    (found,) = refusals(tmp_path, f"[Timer]\n{line}\n")
    assert (found.where, found.text) == ("backup.timer line 2", line)
    assert reason in found.reason
    assert instead in found.instead


@pytest.mark.parametrize(
    ("service", "reason"),
    [
        ("Type=forking\nExecStart=/bin/a", "Type=forking"),
        ("User=app", "backup.service has no ExecStart=."),
        ("ExecStart=@/bin/a b", 'The prefix "@" of @/bin/a b has no counterpart'),
        ("ExecStart=!/bin/a", 'The prefix "!"'),
        ("User=app\nExecStart=+/bin/a", "ExecStart=+ runs with all rights"),
        ("ExecStart=/bin/a ${B}", "has a variable"),
        ("ExecStart=/bin/a %i", "%i stands for something"),
        ("ExecStart=/bin/a 'b", "has a quote that does not end"),
        ("ExecStart=/bin/a \\x20", "has a backslash"),
        ("ExecStart=/bin/a ; /bin/b", "is not one command"),
        ("ExecStart=/bin/a\nEnvironmentFile=/etc/a", "EnvironmentFile=/etc/a has no counterpart"),
        ("ExecStart=/bin/a\nStandardOutput=append:/log", "StandardOutput=append:/log has no counterpart"),
        ("ExecStart=/bin/a\nRestart=on-failure", "Restart=on-failure"),
        ("ExecStart=/bin/a\nWorkingDirectory=-/srv", "a folder that may be missing"),
        ("ExecStart=/bin/a\nEnvironment=A", "Environment=A is no NAME=value"),
        ("ExecStart=/bin/a\n[Unit]\nConditionACPower=true", "ConditionACPower=true is checked at each start"),
        ("ExecStart=/bin/a\nTimeoutStartSec=soon\nType=oneshot", '"soon" is no length of time.'),
    ],
)
def test_a_service_that_no_call_says_refuses_its_timer(tmp_path: Path, service: str, reason: str) -> None:
    (found,) = refusals(tmp_path, service=f"[Service]\n{service}\n")
    assert (found.where, found.text) == ("backup.timer line 2", "OnCalendar=daily")
    assert reason in found.reason


def test_templates_and_timers_without_a_service_are_refused(tmp_path: Path) -> None:
    (tmp_path / "b@.timer").write_text(TIMER)
    (tmp_path / "c.timer").write_text(TIMER)
    (tmp_path / "d.timer").write_text(f"{TIMER}Persistent=maybe\n")
    (tmp_path / "d.service").write_text(SERVICE)
    reasons = [
        found.reason for found in found_in(str(tmp_path), Reading(tz="UTC", now=NOW)) if isinstance(found, Refused)
    ]
    assert reasons == [
        "It is a template: its instances are not in this file.",
        "c.service is not in this folder.",
        "Persistent=maybe is neither yes nor no.",
    ]


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"nowhere: no such folder\. Name one with \*\.timer files"):
        found_in(str(tmp_path / "nowhere"), Reading(tz="UTC", now=NOW))


@pytest.mark.parametrize(
    ("span", "seconds", "words"),
    [
        ("90", 90, "90s"),
        ("1h 30min", 5400, "90m"),
        ("2d", 172_800, "2d"),
        ("1.5s", 1.5, "2s"),
        ("1w2h", 612_000, "170h"),
    ],
)
def test_a_length_of_time_as_systemd_writes_it(span: str, seconds: float, words: str) -> None:
    assert seconds_of(span) == seconds
    assert option_text(seconds) == words
