"""`workkit changes`, and `--by` of the commands that change something."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Run
from tests.servers import Server
from workkit import schedule


@pytest.fixture
def s(server: Server, name: str, monkeypatch: pytest.MonkeyPatch) -> schedule.Schedule:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    s = schedule.create(name, redis=server.url)
    schedule.add(s, "tests.handlers:fail", every="hour", name="nightly")
    return s


def test_changes_are_listed_the_last_one_first(run: Run, s: schedule.Schedule) -> None:
    assert run("pause", s.name, "--reason", "migration", "--until", "2035-03-01 12:00", "--by", "alice").status == 0
    assert run("skip", s.name, "nightly", "--by", "bob").status == 0
    lines = run("changes", s.name).out.splitlines()
    assert lines[0].split() == ["WHEN", "WHO", "VIA", "WHAT", "TARGET", "ID", "CHANGE", "REASON"]
    assert " bob " in lines[1]
    assert " skip " in lines[1]
    assert " nightly " in lines[1]
    for word in (" alice ", " cli ", " pause ", " schedule ", "until Thu 01 Mar 12:00:00", "migration"):
        assert word in lines[2]
    assert len(run("changes", s.name, "nightly").out.splitlines()) == 2
    assert len(run("changes", s.name, "--limit", "1").out.splitlines()) == 2


def test_every_command_that_changes_something_says_who(run: Run, s: schedule.Schedule, tmp_path: object) -> None:
    for words in (
        ("pause", s.name, "nightly"),
        ("resume", s.name, "nightly"),
        ("run", s.name, "nightly"),
    ):
        assert run(*words, "--by", "alice").status == 0
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    for words in (("retry", s.name, "nightly"), ("cancel", s.name, "nightly")):
        assert run(*words, "--by", "alice").status == 0
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    schedule.add_now(s, "tests.handlers:fail")
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    assert run("discard", s.name, "--all", "--yes", "--by", "alice").status == 0
    with open("plan.toml", "w", encoding="utf-8") as plan:
        plan.write('[digest]\nfn = "tests.handlers:note"\nevery = "hour"\n')
    assert run("sync", s.name, "plan.toml", "--by", "alice").status == 0
    assert run("doctor", s.name, "--purge-history", "--yes", "--by", "alice").status in (0, 1)
    found = json.loads(run("changes", s.name, "--json").out)
    assert {(change["by"], change["via"]) for change in found} == {("alice", "cli")}
    verbs = ["pause", "resume", "run", "retry", "cancel", "discard", "sync", "forget history"]
    assert [change["verb"] for change in reversed(found)] == verbs


def test_a_mark_is_listed_with_what_it_says(run: Run, s: schedule.Schedule) -> None:
    ran = run("mark", s.name, "release 41", "--by", "deploy")
    assert (ran.status, ran.out, ran.err) == (0, f"marked {s.name}: release 41\n", "")
    (line,) = run("changes", s.name).out.splitlines()[1:]
    assert line.split()[-9:] == ["deploy", "cli", "mark", "schedule", "-", "text", "release", "41", "-"]
    (found,) = json.loads(run("changes", s.name, "--json").out)
    assert (found["verb"], found["via"], found["after"]) == ("mark", "cli", {"text": "release 41"})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["release", "41"], "TEXT is one argument. Put it in quotes: workkit mark NAME 'release 41'"),
        ([""], "TEXT '' is empty. Say what happened: \"release 41\"."),
        (["x" * 201], f'TEXT "{"x" * 20}..." has 201 characters. Accepted: 1 to 200.'),
        (["a\tb"], r"TEXT 'a\tb' has a control character (column 2). Write it in one line, without."),
    ],
)
def test_a_text_that_is_no_mark_is_refused(run: Run, s: schedule.Schedule, words: list[str], said: str) -> None:
    ran = run("mark", s.name, *words)
    assert (ran.status, ran.out) == (2, "")
    assert said.replace("NAME", s.name) in " ".join(ran.err.split())
    assert run("changes", s.name, "--json").out.strip() == "[]"


def test_a_repair_says_who_and_which_faults(run: Run, s: schedule.Schedule, server: Server) -> None:
    server.client().zadd(f"{s.name}:next", {b'{"id":"%b"}' % (b"0" * 40): 1000})
    assert run("doctor", s.name, "--fix", "--yes", "--by", "alice").status in (0, 1)
    (record,) = json.loads(run("changes", s.name, "--json").out)
    assert (record["by"], record["verb"], record["target"]) == ("alice", "repair", "schedule")
    assert record["after"]["faults"]


def test_changes_as_json_have_every_field(run: Run, s: schedule.Schedule) -> None:
    run("pause", s.name, "--until", "2035-03-01 12:00", "--by", "alice")
    (record,) = json.loads(run("changes", s.name, "--json").out)
    assert record.pop("at").endswith("Z")
    assert record == {
        "by": "alice", "via": "cli", "verb": "pause", "target": "schedule", "id": None, "fn": None, "before": {},
        "after": {"until": "2035-03-01T12:00:00.000Z"}, "reason": None, "times": 1,
        "role": None, "address": None,
    }  # fmt: skip


def test_a_name_that_is_too_long_is_refused_by_its_flag(run: Run, s: schedule.Schedule) -> None:
    refused = run("pause", s.name, "--by", "x" * 101)
    assert refused.status != 0
    assert "--by" in refused.err
    assert "100" in refused.err


def test_a_schedule_without_changes_says_so(run: Run, s: schedule.Schedule) -> None:
    assert run("changes", s.name).err == f"nobody has changed {s.name}, as far as is kept.\n"
    assert json.loads(run("changes", s.name, "--json").out) == []


def test_what_somebody_wrote_cannot_steer_the_terminal(run: Run, s: schedule.Schedule) -> None:
    schedule.pause(s, by="\x1b[31meve", reason="a\nb")
    out = run("changes", s.name).out
    assert "\x1b" not in out
    assert len(out.splitlines()) == 2
