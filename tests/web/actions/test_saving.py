"""Where one comes after Save and Cancel, and forms that are sent twice or are older than the process."""

from __future__ import annotations

import html
import re
import time
from typing import Any

import pytest

from tests import handlers
from tests.processes import until
from tests.servers import Server
from tests.web.actions.test_editing import FN, filled_in
from tests.web.conftest import Browser, Open, headline, text_of
from workkit import asgi, schedule
from workkit.schedule import Schedule

FORM = {"when": "every weekday at 1pm", "fn": FN, "name": "digest"}


def sent(browser: Browser, s: Schedule, verb: str, fields: dict[str, str], **how: Any) -> Any:
    return browser.post(f"/s/{s.name}/do/{verb}", fields, follow_redirects=True, **how)


def test_after_save_one_comes_to_the_page_of_the_job(browser: Browser, s: Schedule) -> None:
    answer = sent(browser, s, "add", filled_in(browser, f"/s/{s.name}/new") | FORM)
    assert (answer.url.path, headline(answer)) == (f"/s/{s.name}/jobs/digest", "digest")
    assert "Saved digest: next " in text_of(answer)
    assert f'action="/s/{s.name}/do/undo"' in answer.text
    fields = filled_in(browser, f"/s/{s.name}/jobs/digest/edit") | {"when": "every weekday at 2pm", "name": "report/2"}
    answer = sent(browser, s, "edit", fields)
    assert answer.url.path == f"/s/{s.name}/jobs/report~2f2"
    assert "Saved report/2: next " in text_of(answer)


@pytest.mark.parametrize("when", ["every weekday at 1pm", "in 5 hours", "now"])
def test_a_form_that_is_sent_again_adds_no_second_job(browser: Browser, s: Schedule, when: str) -> None:
    fields = filled_in(browser, f"/s/{s.name}/new") | {"when": when, "fn": FN}
    first, again = sent(browser, s, "add", fields), sent(browser, s, "add", fields)
    assert (first.status_code, again.status_code) == (200, 200)
    assert len(list(schedule.jobs(s))) == 1
    assert again.url == first.url


BEFORE = "This form has added its job before. Nothing was added. Open New for another one."


@pytest.mark.parametrize(
    ("layout", "fields"),
    [
        ("native", {"when": "in 5 hours", "fn": FN}),
        ("native", {"when": "now", "fn": FN}),
        ("native", {"when": "in 5 hours", "fn": FN, "name": "once"}),
        ("gocraft", {"when": "in 5 hours", "fn": "note"}),
        ("gocraft", {"when": "now", "fn": "note"}),
    ],
)
def test_a_form_that_is_sent_again_to_another_process_adds_no_second_job(
    opened: Open, server: Server, name: str, layout: Any, fields: dict[str, str]
) -> None:
    s = schedule.create(name, redis=server.url, layout=layout)
    first, other = opened(s), opened(s)
    fields = filled_in(first, f"/s/{s.name}/new") | fields
    assert "Saved " in text_of(sent(first, s, "add", fields))
    (job,) = schedule.jobs(s)
    if fields["when"] != "now":
        added = int(time.time())
        until(lambda: int(time.time()) > added, what="another second, from which five hours end at another time")
    for changes in ({}, {"when": "in 6 hours"}):
        again = sent(other, s, "add", fields | changes)
        assert (again.status_code, headline(again)) == (409, BEFORE)
    assert [one.id for one in schedule.jobs(s)] == [job.id]
    assert "Saved " in text_of(sent(first, s, "add", fields))  # the process that knows its answer gives it again
    schedule.cancel(s, job)
    assert sent(opened(s), s, "add", fields).status_code == 409
    assert not list(schedule.jobs(s))
    fresh = filled_in(other, f"/s/{s.name}/new") | {name: fields[name] for name in ("when", "fn", "name")}
    assert "Saved " in text_of(sent(other, s, "add", fresh))


def test_a_form_that_was_refused_adds_its_job_under_another_name(opened: Open, s: Schedule) -> None:
    schedule.add(s, handlers.note, in_="5 hours", name="once")
    browser = opened(s)
    fields = filled_in(browser, f"/s/{s.name}/new") | {"when": "in 5 hours", "fn": FN, "name": "once"}
    for again in (browser, opened(s)):
        assert headline(sent(again, s, "add", fields)).startswith('"once" is the name of a job already')
    fields |= {"name": "two"}
    assert "Saved two" in text_of(sent(browser, s, "add", fields))
    schedule.cancel(s, "two")
    assert headline(sent(opened(s), s, "add", fields)) == BEFORE
    assert [job.name for job in schedule.jobs(s)] == ["once"]


def test_the_page_of_a_cancelled_job_says_who_cancelled_it_and_offers_undo(opened: Open, s: Schedule) -> None:
    browser = opened(s)
    schedule.add(s, handlers.note, every="day at noon", name="digest")
    here = f"/s/{s.name}/jobs/digest"
    fields = {"token": browser.token(here), "number": "7", "which": "digest", "back": here}
    answer = sent(browser, s, "cancel", fields)
    by = schedule.changes(s, limit=1)[0].by
    assert answer.url.path == here
    assert re.fullmatch(rf"Cancelled by {re.escape(by or '?')} at \d\d:\d\d: digest\.", headline(answer))
    assert f'action="/s/{s.name}/do/undo"' in answer.text
    schedule.add(s, handlers.note, in_="5 hours", name="once")
    schedule.cancel(s, "once", by="ada")
    assert headline(browser.get(f"/s/{s.name}/jobs/once")).startswith("Cancelled by ada at ")
    assert browser.get(f"/s/{s.name}/jobs/other").status_code == 404
    assert "Cancelled" not in headline(browser.get(f"/s/{s.name}/jobs/other"))


def test_a_form_of_an_earlier_process_is_offered_again_with_its_contents(opened: Open, s: Schedule) -> None:
    fields = filled_in(opened(s), f"/s/{s.name}/new") | FORM | {"args": '["<b>",\n"two lines"]'}
    browser = opened(s, signer=asgi.signer("another"))
    answer = sent(browser, s, "add", fields)
    assert answer.status_code == 403
    assert headline(answer) == (
        "The token of this form is missing or old, as after a restart: nothing was done. Send the form again."
    )
    assert not list(schedule.jobs(s))
    form = answer.text.partition('id="again"')[2].partition("</form>")[0]
    assert f'action="/s/{s.name}/do/add"' in form.partition(">")[0]
    offered = {name: html.unescape(value) for name, value in re.findall(r'name="([^"]*)" value="([^"]*)"', form)}
    assert {name: value for name, value in offered.items() if name != "token"} == {
        name: value for name, value in fields.items() if name != "token"
    }
    assert "Saved digest: next " in text_of(sent(browser, s, "add", offered))
    assert 'id="again"' not in sent(browser, s, "add", fields, headers={"sec-fetch-site": "cross-site"}).text


def test_an_edit_without_a_zone_keeps_that_of_a_bare_cron(browser: Browser, s: Schedule) -> None:
    for name, how in (("zoned", {"tz": "Europe/Paris"}), ("plain", {})):
        schedule.add(s, handlers.note, when="30 9 * * 1-5", name=name, **how)  # type: ignore[arg-type]
        before = schedule.job(s, name).trigger
        path = f"/s/{s.name}/jobs/{name}/edit"
        sent(browser, s, "edit", filled_in(browser, path) | {"retries": "7"})
        assert schedule.job(s, name).trigger == before
        sent(browser, s, "edit", filled_in(browser, path) | {"when": "30 9 * * 1-5", "tz": "", "retries": "8"})
        after = schedule.job(s, name)
        assert (after.trigger, after.options.retries) == (before, 8)
