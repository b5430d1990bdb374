"""Commands in this process, against real servers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, Run, begin
from tests.processes import Processes
from tests.servers import Server
from workkit import schedule
from workkit.errors import NotFound

APP = """
def hi(): print("hi")
def greet(name): print(name)
def fail(): raise OSError("disk full")
def many(*values): ...
"""


@pytest.fixture(autouse=True)
def app(folder: Path) -> Path:
    (folder / "app.py").write_text(APP)
    return folder


@pytest.fixture
def on(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    return server


def identity(ran: Ran) -> str:
    found = re.search(r"\b[0-9a-f]{8}\b", ran.out)
    assert found, ran
    return found[0]


def test_now_says_what_was_added(run: Run, on: Server, name: str) -> None:
    ran = run("now", name, "app:greet", "tracy@domain.com")
    assert ran.status == 0
    where = f" in a new schedule {name}"
    assert re.fullmatch(rf'added [0-9a-f]{{8}}{where}  app\.greet\("tracy@domain\.com"\)  at once\n', ran.out)
    again = run("now", name, "app:greet", "tracy@domain.com")
    assert re.fullmatch(r'added [0-9a-f]{8}  app\.greet\("tracy@domain\.com"\)  at once\n', again.out)
    assert ran.err == ""


def test_now_is_a_queue(run: Run, on: Server, name: str) -> None:
    assert identity(run("now", name, "app:hi")) != identity(run("now", name, "app:hi"))
    assert len(json.loads(run("list", name, "--json").out)) == 2


def test_redis_names_the_server(run: Run, server: Server, name: str) -> None:
    assert run("now", name, "app:hi", "--redis", server.url).status == 0
    assert len(json.loads(run("list", name, "--json", "--redis", server.url).out)) == 1


def test_a_function_that_is_not_there_is_refused_and_not_added(run: Run, on: Server, name: str) -> None:
    ran = run("now", name, "app:hy")
    assert ran.status == 2
    assert "nearest: hi" in ran.err
    assert ran.out == ""
    assert on.client().keys(f"{name}:*") == []


def test_a_module_elsewhere_is_added_with_a_note(run: Run, on: Server, name: str) -> None:
    ran = run("now", name, "elsewhere:run")
    assert ran.status == 0
    assert ran.out.startswith("added ")
    assert ran.err == "note: no module elsewhere under ./ (this folder). Added for listeners that have it.\n"


def test_a_clojure_name_is_added_untouched(run: Run, on: Server, name: str) -> None:
    ran = run("add", name, "in 5 minutes", "#'your-app.user/activate", "tracy@domain.com")
    assert ran.status == 0
    assert 'your-app.user/activate("tracy@domain.com")' in ran.out
    assert ran.err == ""
    assert json.loads(run("list", name, "--json").out)[0]["fn"] == "#'your-app.user/activate"


def test_add_says_the_instant_in_zone_and_utc(run: Run, on: Server, name: str) -> None:
    begin(on, name)
    ran = run("add", name, "2050-07-01 19:00", "app:hi", "--tz", "Europe/Paris")
    assert re.fullmatch(
        r"added [0-9a-f]{8}  app\.hi\(\)  once, Friday 1 July 2050 at 19:00 Europe/Paris = 17:00 UTC, in [\d,]+ d .*\n",
        ran.out,
    )


def test_add_the_same_again_changes_nothing(run: Run, on: Server, name: str) -> None:
    first = run("add", name, "every weekday at 9am", "app:hi")
    again = run("add", name, "every weekday at 9am", "app:hi")
    assert first.out.startswith("added ")
    assert re.match(r"already there [0-9a-f]{8}  app\.hi\(\)  every weekday at 9:00", again.out)
    assert again.status == 0
    assert identity(first) == identity(again)


def test_add_of_a_length_is_a_run_of_its_own_each_time(run: Run, on: Server, name: str) -> None:
    added = [run("add", name, "in 5 hours", "app:hi") for _ in range(3)]
    assert all(ran.out.startswith("added ") for ran in added)
    assert len({identity(ran) for ran in added}) == 3
    first, again = (run("add", name, "in 5 hours", "app:hi", "--unique-key", "k") for _ in range(2))
    assert again.out.startswith("already there ")
    assert identity(first) == identity(again)
    assert len(json.loads(run("list", name, "--json").out)) == 4
    assert 'A length of time, such as "in 5 minutes", is a run of its own each time' in " ".join(
        run("add", "--help").out.split()
    )


@pytest.mark.parametrize("when", ["0 9 * * 1-5", "* * * 1-5 9 0 0", "every weekday at 9am"])
def test_add_takes_words_and_cron_strings(run: Run, on: Server, name: str, when: str) -> None:
    ran = run("add", name, when, "app:hi")
    assert ran.status == 0
    record = json.loads(run("list", name, "--json").out)[0]
    assert record["cron"] == "* * * 1-5 9 0 0"
    assert record["due"].endswith("T09:00:00.000Z")
    assert "next " in ran.out


def test_add_reads_arguments_as_json_or_text(run: Run, on: Server, name: str) -> None:
    run("add", name, "2050-01-01", "app:many", "5", '"5"', "five", '{"a": [1]}', "null", "NaN", "a@b.c")
    assert json.loads(run("list", name, "--json").out)[0]["args"] == [5, "5", "five", {"a": [1]}, None, "NaN", "a@b.c"]


def test_add_as_json(run: Run, on: Server, name: str) -> None:
    record = json.loads(run("add", name, "2050-01-01", "app:hi", "--json").out)
    assert record["new"] is True
    assert {key: record[key] for key in ("schedule", "fn", "args", "due", "cron", "tz", "state")} == {
        "schedule": name,
        "fn": "#'app/hi",
        "args": [],
        "due": "2050-01-01T00:00:00.000Z",
        "cron": "2050 1 1 * 0 0 0",
        "tz": "UTC",
        "state": "waiting",
    }


def test_dry_run_needs_no_server_and_adds_nothing(run: Run, name: str) -> None:
    ran = run("add", name, "2050-01-01", "app:hi", "--dry-run", "--redis", "redis://127.0.0.1:1/")
    assert ran.status == 0
    assert ran.out.startswith("would add  app.hi()  once, Saturday 1 January 2050 at 0:00 UTC, in ")


def test_a_zone_beside_seven_fields_is_refused(run: Run, on: Server, name: str) -> None:
    ran = run("add", name, "* * * 1-5 9 0 0", "app:hi", "--tz", "Europe/Paris")
    assert ran.status == 2
    assert "seven fields are always UTC" in ran.err


def test_list_is_json_one_object_a_line(run: Run, on: Server, name: str) -> None:
    run("add", name, "2050-01-01", "app:hi")
    run("add", name, "2051-01-01", "app:hi")
    out = run("list", name, "--json").out
    assert out.startswith("[{")
    assert out.endswith("}]\n")
    assert len(out.splitlines()) == 2
    first = json.loads(out)[0]
    keys = ["id", "schedule", "name", "fn", "args", "state", "due", "cron", "tz", "words", "attempt", "error"]
    assert list(first) == [*keys, "progress", "terms", "interval", "counted", "kwargs", "queue", "why", "meta", "tags"]
    assert first["words"] == "once, Saturday 1 January 2050 at 0:00 UTC"


def test_list_is_a_table(run: Run, on: Server, name: str) -> None:
    run("add", name, "2050-01-01", "app:hi", "--tz", "UTC")
    run("add", name, "every weekday at 9am", "app:greet", "x" * 90)
    lines = run("list", name).out.splitlines()
    assert lines[0] == f"{name}: 2 waiting. Listeners: 0. Times in UTC."
    assert lines[1].split() == ["NEXT", "ID", "FUNCTION", "WHEN", "NAME", "STATE"]
    assert "every weekday at 9:00  -     waiting" in lines[2]
    assert "x" * 90 in lines[2]
    assert lines[3].startswith("2050-01-01  00:00:00")
    assert "\x1b" not in "".join(lines)


def test_a_long_argument_is_cut_in_a_table_and_whole_in_show(run: Run, on: Server, name: str) -> None:
    s = schedule.create(name, redis=on.url)
    long = schedule.add(s, "app:greet", at="2050-01-01", args=["y" * 900_000])
    for year in range(2051, 2055):
        schedule.add(s, "app:greet", at=f"{year}-01-01")
    assert len(run("list", name).out) < 5_000
    assert 'app.greet("yyyyyy' in run("list", name).out
    assert "y" * 900_000 in run("show", name, long.id).out
    assert json.loads(run("list", name, "--json").out)[0]["args"] == ["y" * 900_000]
    schedule.cancel(s, long)
    schedule.add_now(s, "tests.handlers:welcome", args=[7, "y" * 900_000])
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    assert len(run("dead", name).out) < 5_000
    assert len(run("retry", name, "--all", "--dry-run").out) < 5_000


def test_a_job_that_is_not_there_may_have_finished(run: Run, on: Server, name: str) -> None:
    s = schedule.create(name, redis=on.url, history="counts")
    done = schedule.add_now(s, "tests.handlers:note")
    assert schedule.drain(s, imports=["tests.handlers"], folder=None).ran == 1
    said = f'no job "{done.id}" in {name}. It may have finished, and history does not have it, or it never was.'
    with pytest.raises(NotFound) as caught:
        schedule.job(s, done)
    assert str(caught.value) == f"{said} All: workkit list {name}."
    assert (caught.value.given, caught.value.where) == (done.id, name)
    assert run("show", name, done.id).err.startswith(f"error: {said}")


def test_list_knows_limit_and_filter(run: Run, on: Server, name: str) -> None:
    for year in range(2050, 2055):
        run("add", name, f"{year}-01-01", "app:greet", f"number {year}")
    ran = run("list", name, "--limit", "2")
    assert len(ran.out.splitlines()) == 4
    assert "2 shown, there are more." in ran.err
    assert len(json.loads(run("list", name, "--json", "--limit", "3").out)) == 3
    assert [r["args"] for r in json.loads(run("list", name, "--json", "--where", "2053").out)] == [["number 2053"]]
    assert run("list", name, "--where", "nobody").err.startswith('no jobs with "nobody" in ')


def test_an_empty_schedule_is_nothing_but_not_wrong(run: Run, on: Server, name: str) -> None:
    begin(on, name)
    ran = run("list", name, "--json")
    assert (ran.status, ran.out) == (0, "[]\n")
    assert ran.err.startswith(f"nothing in {name}. ")
    ran = run("list", name)
    assert (ran.status, ran.out) == (0, "")
    assert ran.err.startswith(f"nothing in {name}. ")
    assert run("listeners", name, "--json").out == "[]\n"
    assert run("listeners", name).err.startswith(f"nobody listens to {name}.")
    assert run("dead", name).err.startswith(f"no dead jobs in {name}.")


def test_settings_name_the_schedule(run: Run, on: Server, name: str, app: Path) -> None:
    (app / "pyproject.toml").write_text(f'[tool.workkit]\nschedules = ["{name}"]\ntz = "Europe/Paris"\n')
    added = run("add", name, "2050-07-01 19:00", "app:hi")
    assert "Europe/Paris = 17:00 UTC" in added.out
    assert "Times in Europe/Paris." in run("list").out
    assert identity(added) in run("show", identity(added)).out
    assert "app.hi()" in run("list").out


def test_show_says_all_of_one_job(run: Run, on: Server, name: str) -> None:
    which = identity(run("add", name, "every weekday at 9am", "app:hi"))
    shown = dict(line.split(maxsplit=1) for line in run("show", name, which).out.splitlines() if "  " in line)
    assert shown["id"].startswith(which)
    assert shown["function"] == "app.hi()"
    assert shown["cron"] == "* * * 1-5 9 0 0"
    assert shown["state"] == "waiting"
    assert json.loads(run("show", name, which, "--json").out)["id"].startswith(which)


def test_what_is_not_there_has_status_3(run: Run, on: Server, name: str, app: Path) -> None:
    begin(on, name)
    for words in (("show", name, "5c0d41"), ("cancel", name, "5c0d41"), ("add-many", name, "nope.jsonl")):
        ran = run(*words)
        assert ran.status == 3, words
        assert ran.err.startswith("error: ")
        assert ran.out == ""


def test_cancel_takes_the_beginning_of_an_id(run: Run, on: Server, name: str) -> None:
    which = identity(run("add", name, "2050-01-01", "app:hi"))
    ran = run("cancel", name, which)
    assert (ran.status, ran.out) == (0, f"cancelled {which}  app.hi()\n")
    assert run("list", name, "--json").out == "[]\n"


def test_cancel_takes_nothing_out_where_one_word_names_no_job(run: Run, on: Server, name: str) -> None:
    which = identity(run("add", name, "2050-01-01", "app:hi"))
    ran = run("cancel", name, which, "nope")
    assert (ran.status, ran.out) == (3, "")
    assert '"nope"' in ran.err
    assert ran.err.endswith("\nNothing was changed.\n")
    assert which in run("list", name, "--json").out


def test_stats_count(run: Run, on: Server, name: str) -> None:
    run("add", name, "2050-01-01", "app:hi")
    run("now", name, "app:hi")
    record = json.loads(run("stats", name, "--json").out)[0]
    assert {key: record[key] for key in ("schedule", "waiting", "due", "dead")} == {
        "schedule": name,
        "waiting": 1,
        "due": 1,
        "dead": 0,
    }
    assert run("stats", name).out.splitlines()[0].startswith("SCHEDULE")


def test_add_many_adds_rows_once(run: Run, on: Server, name: str, app: Path) -> None:
    rows = [{"fn": "app:greet", "at": "2050-01-01", "args": [n]} for n in range(100)]
    (app / "jobs.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    assert run("add-many", name, "jobs.jsonl")[:2] == (0, f"added 100 jobs to a new schedule {name}\n")
    assert run("add-many", name, "jobs.jsonl")[:2] == (0, f"added 0 jobs to {name}, 100 already there\n")


def test_add_many_names_the_row(run: Run, on: Server, name: str, app: Path) -> None:
    (app / "jobs.jsonl").write_text('{"fn": "app:hi", "at": "2050-01-01"}\n{"fn": "app:hi", "in_": "5 mintues"}\n')
    ran = run("add-many", name, "jobs.jsonl")
    assert ran.status == 2
    assert "row 2 of jobs.jsonl" in ran.err
    assert re.search(r'Did you mean "(in )?5 minutes"\?', ran.err)
    assert ran.err.splitlines()[1].endswith("Nothing is added. Correct it, and run this again.")


@pytest.mark.parametrize(
    ("line", "trouble"),
    [
        ("{oops}", "row 2 of jobs.jsonl: not JSON"),
        ("[1]", "row 2 of jobs.jsonl: not an object"),
    ],
)
def test_add_many_refuses_what_is_not_a_row(
    run: Run, on: Server, name: str, app: Path, line: str, trouble: str
) -> None:
    (app / "jobs.jsonl").write_text('{"fn": "app:hi", "at": "2050-01-01"}\n' + line + "\n")
    ran = run("add-many", name, "jobs.jsonl")
    assert ran.status == 2
    assert trouble in ran.err


def test_every_way_to_add_tells_its_warnings_in_our_words(run: Run, on: Server, name: str, app: Path) -> None:
    large = str(2**53 + 1)
    warned = "warning: args[0] is an integer beyond 2^53, "
    assert run("now", name, "#'your-app.user/activate", large).err.startswith(warned)
    assert run("add", name, "2050-01-01", "#'your-app.user/activate", large).err.startswith(warned)
    row = {"fn": "#'your-app.user/activate", "at": "now", "args": [2**53 + 1]}
    both = {"fn": "app:hi", "cron": "* * 13 5 9 0 0"}
    (app / "jobs.jsonl").write_text("\n".join(map(json.dumps, [row, row, both])) + "\n")
    _, first, second = run("add-many", name, "jobs.jsonl").err.splitlines()
    assert first.startswith(warned)
    assert first.endswith(" (2 times)")
    assert second.startswith('warning: cron="* * 13 5 9 0 0" sets both day fields')


def test_no_server_is_one_line_with_three_ways_out(run: Run, name: str) -> None:
    url = "redis://127.0.0.1:1/0"
    ran = run("list", name, "--redis", url)
    assert ran.status == 69
    assert ran.err.count("\n") == 1
    assert all(part in ran.err for part in (url, "Start a Redis", "--redis URL", "--embedded"))


def test_a_live_id_is_completed(
    run: Run, on: Server, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    which = identity(run("add", name, "2050-01-01", "app:hi"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("_WORKKIT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", f"workkit cancel {name} {which[:3]}")
    monkeypatch.setenv("COMP_CWORD", "3")
    assert run().out == f"plain,{which}\n"


@pytest.mark.parametrize(
    "words",
    [
        ("list", "t", "redis://u:PW@h"),
        ("show", "t", "x", "redis://u:PW@h"),
        ("list", "t", "--redis", "redis:/u:PW@h"),
        ("--redis", "redis:u:PW@h", "list", "t"),
        ("--redis=redis:/u:PW@h", "list", "t"),
        ("list", "t", "--redis", "redis://u:P/W@h"),
        ("list", "t", "--redis", "redis://u:PW@127.0.0.1:1"),
        ("doctor", "t", "--redis", "redis:///u:PW@h"),
        ("listen", "t", "--redis", "u:PW@h:6379"),
        ("listen", "redis://u:PW@h"),
    ],
)
def test_no_message_says_a_password_back(run: Run, words: tuple[str, ...]) -> None:
    ran = run(*words)
    assert ran.status in (2, 69)
    assert "error: " in ran.err
    assert not re.search(r"PW|P/W", ran.out + ran.err), ran


def test_a_warning_of_ours_is_a_line_of_its_own_and_others_are_shown_as_python_does(processes: Processes) -> None:
    source = (
        "import sys, warnings\nfrom workkit.cli import tree\nfrom workkit.errors import WorkkitWarning\n"
        "def run(words, host):\n    warnings.warn('ours', WorkkitWarning)\n    warnings.warn('not ours')\n"
        "    return 0\n"
        "tree._run = run\nsys.exit(tree.run([]))"
    )
    ran = processes.python(source)
    assert ran.wait() == 0
    assert ran.err == ["warning: ours", "<string>:6: UserWarning: not ours"]
