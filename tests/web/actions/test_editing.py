"""Saving from the browser: what becomes of a form, and that Undo brings back exactly what was."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from tests import handlers
from tests.servers import Server
from tests.web.actions.test_jobs import act, contents, undone
from tests.web.conftest import Browser, Open, text_of
from workkit import schedule
from workkit.brokers.native.codec import functions_text
from workkit.jobs.arguments import KnownFunction, Parameter
from workkit.schedule import Schedule
from workkit.verbs.opening import producer_of
from workkit.web.auth import Local, Role

FN = "tests.handlers:note"


def filled_in(browser: Browser, path: str) -> dict[str, str]:
    """What a browser would send of the form of a page, as it arrived."""
    text = browser.get(path).text.partition('id="edit"')[2].partition("</form>")[0]
    found: dict[str, str] = {}
    for tag in re.findall(r"<input\b[^>]*>", text):
        said = dict(re.findall(r'(\w+)="([^"]*)"', tag))
        if "name" in said:
            found[said["name"]] = html.unescape(said.get("value", ""))
    for name, body in re.findall(r'<select[^>]*name="(\w+)"[^>]*>(.*?)</select>', text, re.DOTALL):
        chosen = re.search(r'<option value="([^"]*)" selected', body) or re.search(r'<option value="([^"]*)"', body)
        assert chosen is not None
        found[name] = html.unescape(chosen[1])
    return found


def digest(s: Schedule, **more: Any) -> Any:
    return schedule.add(s, handlers.note, every="weekday at 9am", tz="Europe/Paris", name="digest", **more)


def saved(browser: Browser, s: Schedule, verb: str = "edit", *, path: str = "jobs/digest/edit", **changes: str) -> Any:
    fields = filled_in(browser, f"/s/{s.name}/{path}") | {"back": f"/s/{s.name}/"} | changes
    return browser.post(f"/s/{s.name}/do/{verb}", fields, follow_redirects=True)


FULL = {
    "args": ["finance", 20], "kwargs": {"x": {"y": [1, None, "é"]}}, "overlap": "skip", "catch_up": "all",
    "catch_up_within": "2h", "spread": "5 minutes", "priority": 2, "retries": 3, "backoff": "linear", "base": "1m",
    "cap": "2h", "jitter": False, "timeout": "20m", "keep": "1 day", "keep_most": 1000, "start": "2026-01-01",
}  # fmt: skip


@pytest.mark.parametrize("more", [{}, FULL, {"end": "2099-01-01"}, {"count": 5}])
@pytest.mark.parametrize("change", [{"when": "every day at 10am"}, {"timeout": "9m"}, {"fn": "app.reports:other"}])
def test_an_edit_is_undone_exactly(
    browser: Browser, s: Schedule, server: Server, more: dict[str, Any], change: dict[str, str]
) -> None:
    stood = digest(s, **more)
    schedule.skip(s, "digest")
    before = contents(server, s)
    answer = saved(browser, s, **change)
    assert "Saved digest: next " in text_of(answer), text_of(answer)
    after = schedule.job(s, "digest")
    assert after.id != stood.id
    assert (after.args, after.kwargs) == (stood.args, stood.kwargs)
    assert contents(server, s) != before
    assert "Put digest back" in text_of(undone(browser, s, answer))
    assert contents(server, s) == before


def test_what_is_not_changed_is_kept_with_its_time(browser: Browser, s: Schedule) -> None:
    digest(s, **FULL)
    schedule.skip(s, "digest")
    stood = schedule.job(s, "digest")
    assert "digest is so already" in text_of(saved(browser, s))
    saved(browser, s, retries="7")
    now = schedule.job(s, "digest")
    assert (now.due, now.trigger, now.terms) == (stood.due, stood.trigger, stood.terms)
    assert (now.options.retries, stood.options.retries) == (7, 3)


def test_a_new_job_is_undone_exactly(browser: Browser, s: Schedule, server: Server) -> None:
    schedule.add(s, handlers.note, every="hour", name="other")
    before = contents(server, s)
    changes = {"when": "every weekday at 1pm", "fn": FN, "name": "digest", "args": '["finance", 20]'}
    answer = saved(browser, s, "add", path="new", **changes)
    assert "Saved digest: next " in text_of(answer)
    job = schedule.job(s, "digest")
    assert (job.args, job.fn) == (("finance", 20), "#'tests.handlers/note")
    assert "Cancelled digest." in text_of(undone(browser, s, answer))
    after = contents(server, s)
    after.pop(f"{s.name}:cancelled")  # a run of it that has begun is told so
    assert after == before


def test_a_new_job_after_a_length_of_time_is_one_of_its_own_at_each_save(browser: Browser, s: Schedule) -> None:
    for _ in range(3):
        assert "Saved " in text_of(saved(browser, s, "add", path="new", when="in 5 hours", fn=FN))
    assert len(list(schedule.jobs(s))) == 3
    assert "is so already" in text_of(_saved_twice(browser, s))


def _saved_twice(browser: Browser, s: Schedule) -> Any:
    """Save the form of a job with a time from now as it stands: nothing of it is changed."""
    schedule.add(s, handlers.note, in_="5 hours", name="once")
    return saved(browser, s, path="jobs/once/edit")


def test_a_new_job_takes_no_name_that_is_taken(browser: Browser, s: Schedule, server: Server) -> None:
    digest(s)
    before = contents(server, s)
    answer = saved(browser, s, "add", path="new", when="every hour", fn=FN, name="digest")
    assert answer.status_code == 409
    assert "is the name of a job already: every weekday at 9:00 Europe/Paris" in text_of(answer)
    assert contents(server, s) == before


def test_an_edit_of_what_somebody_else_has_changed_is_refused_with_both(browser: Browser, s: Schedule) -> None:
    digest(s)
    fields = filled_in(browser, f"/s/{s.name}/jobs/digest/edit")
    schedule.add(s, handlers.note, every="day at 6am", tz="UTC", name="digest")
    answer = browser.post(f"/s/{s.name}/do/edit", fields | {"timeout": "1m"}, headers={"accept": "application/json"})
    assert answer.status_code == 409
    assert answer.json()["refused"][0]["error"].startswith("It changed meanwhile: digest is now every day at 6:00 UTC")
    assert schedule.job(s, "digest").options.timeout_ms is None


def test_an_undo_leaves_what_somebody_else_has_changed_since(browser: Browser, s: Schedule, server: Server) -> None:
    digest(s)
    answer = saved(browser, s, timeout="1m")
    schedule.add(s, handlers.note, every="day at 6am", tz="Europe/Paris", name="digest", timeout="8m")
    before = contents(server, s)
    refused = undone(browser, s, answer)
    assert refused.status_code == 409
    assert "was left as it is" in text_of(refused)
    assert contents(server, s) == before


def test_a_job_without_a_name_gets_one_and_does_not_stand_twice(browser: Browser, s: Schedule, server: Server) -> None:
    job = schedule.add(s, handlers.note, every="day at 9am")
    before = contents(server, s)
    path = f"jobs/{job.id}/edit"
    assert "name is empty: without a name two jobs would stand" in text_of(saved(browser, s, path=path, timeout="1m"))
    assert contents(server, s) == before
    answer = saved(browser, s, path=path, name="daily")
    assert [one.name for one in schedule.jobs(s)] == ["daily"]
    undone(browser, s, answer)
    assert [(one.id, one.name) for one in schedule.jobs(s)] == [(job.id, None)]


def test_hidden_arguments_are_neither_shown_nor_lost(browser: Browser, s: Schedule) -> None:
    hidden = {"token": "hunter2", "deep": [{"password": "swordfish", "n": 1}], "url": "https://x/?api_key=sesame1"}
    digest(s, args=["a"], kwargs=hidden)
    page = browser.get(f"/s/{s.name}/jobs/digest/edit").text
    record = browser.get(f"/s/{s.name}/jobs/digest/edit.json").text
    for secret in ("hunter2", "swordfish", "sesame1"):
        assert secret not in page + record
    answer = saved(browser, s, timeout="1m")
    assert schedule.job(s, "digest").kwargs == hidden
    assert "hunter2" not in answer.text
    fields = filled_in(browser, f"/s/{s.name}/jobs/digest/edit")
    saved(browser, s, kwargs=fields["kwargs"].replace("••••••", "new", 1))
    now = schedule.job(s, "digest").kwargs
    assert now is not None
    assert (now["token"], now["deep"]) == ("new", hidden["deep"])


def test_hidden_arguments_do_not_go_to_another_function(browser: Browser, s: Schedule) -> None:
    digest(s, kwargs={"token": "hunter2"})
    answer = saved(browser, s, fn="tests.handlers:fail")
    assert "stands for a value that is hidden" in text_of(answer)
    assert schedule.job(s, "digest").fn == "#'tests.handlers/note"


def test_boxes_by_parameter_say_the_same_call(browser: Browser, s: Schedule) -> None:
    schedule.add(s, "app.reports:digest", every="day at 9am", name="digest", args=["7"], kwargs={"top": 20})
    stood = schedule.job(s, "digest")
    known = KnownFunction(
        fn=stood.fn,
        parameters=(
            Parameter(name="team", annotation="str"),
            Parameter(name="top", annotation="int", default="10"),
            Parameter(name="token", annotation="str", default="'sesame1'"),
        ),
        doc="Send it.",
    )
    broker: Any = producer_of(s)
    digest_of, text = functions_text([known])
    with broker._server.translated() as client:
        client.zadd(f"{s.name}:listeners", {"me:1:ab": 9e15})
        client.hset(f"{s.name}:functions", mapping={"of:me:1:ab": digest_of, f"is:{digest_of}": text})
    page = browser.get(f"/s/{s.name}/jobs/digest/edit")
    assert "1 listener can run it" in page.text
    assert "sesame1" not in page.text
    fields = filled_in(browser, f"/s/{s.name}/jobs/digest/edit")
    assert (fields["p0"], fields["p1"]) == ("7", "20")
    saved(browser, s)
    assert schedule.job(s, "digest").id == stood.id
    saved(browser, s, p1="30")
    assert (schedule.job(s, "digest").args, schedule.job(s, "digest").kwargs) == (("7",), {"top": 30})
    answer = act(browser, s, "arguments", which="digest", args='["7", 8, 9, 10]', kwargs="{}")
    assert "takes 1 to 3 arguments; args has 4" in text_of(answer)
    assert schedule.job(s, "digest").args == ("7",)
    with broker._server.translated() as client:
        client.zrem(f"{s.name}:listeners", "me:1:ab")


def test_a_spread_and_arguments_are_changed_alone(browser: Browser, s: Schedule, server: Server) -> None:
    digest(s, args=["a"], kwargs={"token": "hunter2"}, retries=3)
    before = contents(server, s)
    answer = act(browser, s, "spread", which="digest", spread="5 minutes")
    job = schedule.job(s, "digest")
    assert (job.terms.spread_ms, job.kwargs, job.options.retries) == (300_000, {"token": "hunter2"}, 3)
    undone(browser, s, answer)
    assert contents(server, s) == before
    answer = act(browser, s, "arguments", which="digest", args='["b"]')
    assert schedule.job(s, "digest").args == ("b",)
    undone(browser, s, answer)
    assert contents(server, s) == before


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_an_editor_may_save(opened: Open, s: Schedule, server: Server, role: Role) -> None:
    digest(s)
    before = contents(server, s)
    browser = opened(s, way=Local(role=role))
    assert ">Save<" not in browser.get(f"/s/{s.name}/jobs/digest/edit").text
    for verb, path in (("edit", "jobs/digest/edit"), ("add", "new"), ("spread", "jobs/digest/edit")):
        assert saved(browser, s, verb, path=path, when="every hour", fn=FN, spread="5m").status_code == 403
    assert contents(server, s) == before


@pytest.mark.parametrize(
    "changes",
    [
        {"when": "every wekday at 9am"},
        {"when": "0 0 31 2 *"},
        {"when": "x" * 50_000},
        {"when": "every day\x00at 9"},
        {"tz": "Nowhere/There"},
        {"args": "[" * 5000},
        {"args": "{}"},
        {"kwargs": "[NaN]"},
        {"shown": "{}"},
        {"retries": "many"},
        {"overlap": "dance"},
        {"fn": "(println 1)\x07"},
        {"name": "a*b"},
    ],
)
def test_what_is_not_understood_saves_nothing(
    browser: Browser, s: Schedule, server: Server, changes: dict[str, str]
) -> None:
    digest(s)
    before = contents(server, s)
    assert saved(browser, s, **changes).status_code in (200, 400)
    assert contents(server, s) == before
    fields = filled_in(browser, f"/s/{s.name}/jobs/digest/edit") | changes
    looked = browser.post(f"/s/{s.name}/jobs/digest/edit", fields)
    assert looked.status_code == 200
    assert "disabled>Save" in looked.text


def full_digest(s: Schedule, **more: Any) -> Any:
    return schedule.add(s, handlers.note, every="weekday at 9am", tz="Europe/Paris", name="digest", **more)


@pytest.mark.parametrize("more", [{}, FULL, {"count": 5, "unique_key": "k"}], ids=["plain", "options", "key"])
@pytest.mark.parametrize("paused", [False, True])
def test_another_time_is_undone_exactly(
    browser: Browser, s: Schedule, server: Server, more: dict[str, Any], paused: bool
) -> None:
    full_digest(s, **more)
    schedule.skip(s, "digest")
    if paused:
        schedule.pause(s, "digest", reason="a move")
    stood, before = schedule.job(s, "digest"), contents(server, s)
    answer = act(browser, s, "reschedule", which="digest", when="weekday at 8am", seen=stood.id)
    assert "Rescheduled digest: every weekday at 8:00 Europe/Paris" in text_of(answer), text_of(answer)
    after = schedule.job(s, "digest")
    assert (after.options, after.terms, after.args, after.state) == (
        stood.options,
        stood.terms,
        stood.args,
        stood.state,
    )
    assert "Put digest back: every weekday at 9:00 Europe/Paris" in text_of(undone(browser, s, answer))
    assert contents(server, s) == before
    assert [(change.verb, change.via) for change in schedule.changes(s)][:2] == [("reschedule", "web")] * 2


def test_a_job_without_a_name_gets_its_id_back(browser: Browser, s: Schedule, server: Server) -> None:
    job = schedule.add(s, handlers.note, in_="1 hour")
    before = contents(server, s)
    answer = act(browser, s, "reschedule", which=job.id, when="2099-01-05 9am", tz="America/New_York")
    (after,) = schedule.jobs(s)
    assert after.due is not None
    assert (after.due.hour, after.due.year) == (14, 2099)
    undone(browser, s, answer)
    assert contents(server, s) == before


def test_what_somebody_else_has_changed_stays(browser: Browser, s: Schedule, server: Server) -> None:
    seen = full_digest(s)
    answer = act(browser, s, "reschedule", which="digest", when="every day at 8am")
    schedule.reschedule(s, "digest", every="day at 7am")
    before = contents(server, s)
    assert "digest changed meanwhile: it is now every day at 7:00" in text_of(undone(browser, s, answer))
    late = act(browser, s, "reschedule", which="digest", when="every day at 8am", seen=seen.id)
    assert "digest changed meanwhile" in text_of(late)
    assert "is not understood" in text_of(act(browser, s, "reschedule", which="digest", when="every weekdy at 8am"))
    assert contents(server, s) == before


def test_a_job_of_a_plan_says_so(browser: Browser, s: Schedule) -> None:
    schedule.sync(s, {"digest": {"fn": handlers.note, "every": "day at 9am"}})
    said = text_of(act(browser, s, "reschedule", which="digest", when="day at 8am"))
    assert "A plan owns it; the next sync sets it back." in said


def test_the_form_stands_beside_edit_for_those_who_may(opened: Open, s: Schedule) -> None:
    full_digest(s)
    once = schedule.add(s, handlers.note, in_="1 hour")
    for which in ("digest", once.id):
        for role, count in (("editor", 1), ("operator", 0)):
            page = opened(s, way=Local(role=role)).get(f"/s/{s.name}/jobs/{which}").text  # type: ignore[arg-type]
            assert len(re.findall(r'action="[^"]*/do/reschedule"', page)) == count
