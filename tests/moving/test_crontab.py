"""Lines of crontabs: settings, users, commands with their percent signs, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from workkit.moving.crontab import PATH, read_crontab, split_percent
from workkit.moving.found import Carried, Found, Reading, Refused, command_name, words_of

NOW = datetime(2026, 11, 23, tzinfo=UTC)


def read(text: str, *, tz: str = "UTC", system: bool = False) -> list[Found]:
    return list(read_crontab(text, Reading(tz=tz, system=system, now=NOW)))


def job(text: str, *, tz: str = "UTC", system: bool = False) -> Carried:
    (found,) = read(text, tz=tz, system=system)
    assert isinstance(found, Carried), found
    return found


def refusal(text: str, *, system: bool = False) -> Refused:
    (found,) = read(text, system=system)
    assert isinstance(found, Refused), found
    return found


def test_a_line_becomes_a_call_of_the_shell_module() -> None:
    assert job("# nightly\n\n 0 2 * * *\t/usr/bin/backup --all 'a b' \n", tz="Europe/Paris") == Carried(
        name="backup",
        when="0 2 * * *",
        function="workkit.shell:run",
        args=[["/usr/bin/backup", "--all", "a b"]],
        kwargs={"env": {"PATH": PATH}, "cwd": "~"},
        options={"tz": "Europe/Paris", "catch_up": "skip"},
        where="line 3: 0 2 * * *\t/usr/bin/backup --all 'a b' ",
        comments=(),
    )


def test_settings_hold_for_the_lines_below_them() -> None:
    lines = [
        "0 1 * * * a",
        "SHELL=/bin/bash",
        'A = "x y" ',
        "'B'= z # no comment",
        "PATH=/opt",
        "HOME=/srv",
        "0 1 * * * b",
    ]
    before, after = read("\n".join(lines))
    assert isinstance(before, Carried)
    assert isinstance(after, Carried)
    assert before.kwargs == {"env": {"PATH": PATH}, "cwd": "~"}
    env = {"PATH": "/opt", "SHELL": "/bin/bash", "A": "x y", "B": "z # no comment", "HOME": "/srv"}
    assert after.kwargs == {"env": env, "cwd": "/srv"}


def test_settings_of_cron_itself_become_options_or_comments() -> None:
    found = job("MAILTO=ops@x.org\nRANDOM_DELAY=45\nCRON_TZ=Asia/Tokyo\nTZ=UTC\n0 9 * * * a", tz="Europe/Paris")
    assert found.options == {"tz": "Asia/Tokyo", "catch_up": "skip", "spread": "45m"}
    assert found.kwargs["env"] == {"PATH": PATH, "TZ": "UTC"}
    assert [comment.split()[0] for comment in found.comments] == ["Debian's", "cron", "cron"]
    assert not job('MAILTO=""\nRANDOM_DELAY=0\n0 9 * * * a').comments


def test_a_system_crontab_names_the_user() -> None:
    found = job("17 *\t* * *\troot    cd / && run-parts --report /etc/cron.hourly", system=True)
    assert found.kwargs["user"] == "root"
    assert found.args == ["cd / && run-parts --report /etc/cron.hourly"]
    assert found.kwargs["shell"] is True
    assert job("@daily backup /usr/bin/dump", system=True).kwargs["user"] == "backup"
    assert "user" in refusal("@daily /usr/bin/dump", system=True).reason


@pytest.mark.parametrize(
    ("rest", "command", "stdin"),
    [
        ("mail -s x a%hello%there", "mail -s x a", "hello\nthere\n"),
        (r"date +\%F", "date +%F", ""),
        (r"date +\%F%a \% b\c", "date +%F", "a % b\\c\n"),
        ("a%", "a", ""),
        ("a%b%", "a", "b\n"),
        (r"a\\%b", r"a\\", "b\n"),
        (r"a \n b", r"a \n b", ""),
        ("a%b\\", "a", "b\\\n"),
    ],
)
def test_percent_signs_part_a_command_from_its_input(rest: str, command: str, stdin: str) -> None:
    assert split_percent(rest) == (command, stdin)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("/bin/a -x --y=1 b.txt", ["/bin/a", "-x", "--y=1", "b.txt"]),
        ("a 'it is $5; really' \"two words\"", ["a", "it is $5; really", "two words"]),
        ("a  \t b''c", ["a", "bc"]),
    ],
)
def test_plain_words_need_no_shell(command: str, words: list[str]) -> None:
    assert words_of(command) == words


SYNTAX = [
    "a | b",
    "a > f",
    "a < f",
    "a; b",
    "a && b",
    "a &",
    "a $HOME",
    'a "$HOME"',
    "a `b`",
    "a *",
    "a [x]",
    "a ?",
    "a ~",
]
SYNTAX += [
    "a ~/x",
    "A=1 a",
    "cd /x",
    ". /x",
    "[ -f x ]",
    "a \\ b",
    "a 'b",
    "(a)",
    "a {b,c}",
    "a # b",
    "if x",
    "! a",
    "exec a",
    "",
]


@pytest.mark.parametrize("command", SYNTAX)
def test_what_a_shell_must_read_stays_one_text(command: str) -> None:
    assert words_of(command) is None


def test_another_shell_than_those_of_the_family_reads_everything_itself() -> None:
    assert words_of("a b", shell="/usr/bin/python3") is None
    assert words_of("a b", shell="/usr/bin/zsh") == ["a", "b"]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/usr/local/bin/backup.sh -q", "backup"),
        ("cd /srv/app && ./report.py > /dev/null 2>&1", "report"),
        ("/usr/bin/python3 -u /srv/clean.py", "clean"),
        ("php /srv/artisan schedule:run", "artisan"),
        ("[ -x /usr/bin/certbot ] && certbot renew", "certbot"),
        ("nice -n 10 flock /tmp/lock sync-mail", "lock"),
        ("A=1 B=2 deploy", "deploy"),
        ("sleep 5; poll", "poll"),
        ("'unended", "unended"),
        ("", "command"),
    ],
)
def test_a_job_is_named_by_its_program(command: str, name: str) -> None:
    assert command_name(command) == name


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("@reboot a", "@reboot is no time"),
        ("@every_minute a", "@every_minute is not a time of cron. Accepted: @yearly"),
        ("0 0 31 2 * a", "That day never comes."),
        ("0 0 */2 * 1 a", "Where a day field begins with a star, cron wants both"),
        ("0~30 * * * * a", '"0~30" (field 1, minute) is a random time'),
        ("5/10 * * * * a", '"5/10" (field 1, minute) has a step after one value: some crons read 5, others 5-59/10'),
        ("0 22-2 * * * a", '"22-2" (field 2, hour) runs backwards'),
        ("0 0 * * monday a", "monday is none of 0-7, or sun mon tue wed thu fri sat"),
        ("0 0 * 13 * a", '"13" (field 4, month): 13 is none of 1-12, or jan'),
        ("*/0 * * * * a", '"*/0" (field 1, minute) has a step of zero'),
        ("0 0 * * *", "The line has no command."),
        ("0 0 * *", "The line has neither five time fields and a command, nor NAME=value."),
        ("CRON_TZ=Paris\n0 0 * * * a", 'CRON_TZ="Paris" is not a zone.'),
        ("RANDOM_DELAY=x\n0 0 * * * a", 'RANDOM_DELAY="x" is no number of minutes.'),
    ],
)
def test_what_no_plan_says_is_refused_with_its_reason(line: str, reason: str) -> None:
    found = refusal(line)
    assert reason in found.reason
    assert found.text == line.splitlines()[-1]
    assert found.where == f"line {len(line.splitlines())}"


def test_days_that_a_star_makes_an_and_are_said_where_a_plan_can() -> None:
    assert job("0 0 1-7 * 1 a").when == "0 0 1-7 * 1"  # either is enough, for cron and here
    assert job("0 0 13 * */5 a").when == "every Friday and Sunday the 13th at 0:00"
    assert job("0 0 1-7 * */7 a").when == "0 0 * * 0#1"


@pytest.mark.parametrize(
    ("fields", "comments"),
    [
        ("30 2 * * *", 0),
        ("0 3 * * *", 0),
        ("*/15 * * * *", 0),
        ("0,30 2 * * *", 1),
        ("0 2,3 * * *", 1),
        ("0 */2 * * *", 2),
        ("0 0-23 * * *", 2),
        ("*/10 9-17 * * *", 0),
    ],
)
def test_a_comment_names_what_a_change_of_the_clock_does_otherwise(fields: str, comments: int) -> None:
    found = job(f"{fields} a", tz="Europe/Paris").comments
    assert len(found) == comments
    assert all("where clocks of Europe/Paris change: cron " in comment for comment in found)
    assert not job(f"{fields} a", tz="UTC").comments
