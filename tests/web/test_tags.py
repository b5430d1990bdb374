"""Tags in the browser: links that filter, forms that keep them, masks of secret ones."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest

from tests import handlers
from tests.web.actions.test_editing import FN, filled_in
from tests.web.conftest import Browser, Open, text_of
from workkit import Job, schedule
from workkit.contract.mask import mask
from workkit.errors import InvalidArguments
from workkit.jobs.terms import Terms
from workkit.schedule import Schedule
from workkit.text.masked_text import MASK
from workkit.web.job_form import form_of_job, keywords, tags_text

FAR = "2030-01-01T00:00:00Z"
SECRET = "token=abc123456"


def found(browser: Browser, s: Schedule, page: str, q: str) -> list[Any]:
    answer = browser.get(f"/s/{s.name}/{page}.json?by=job&q={quote(q)}")
    assert answer.status_code == 200, answer.text
    return [job["id"] for job in answer.json()["jobs"]]


def test_the_tags_of_a_job_lead_to_the_jobs_with_them(browser: Browser, s: Schedule) -> None:
    tags = ["user:7", "two words", 'a"b', SECRET]
    once = schedule.add(s, handlers.note, at=FAR, tags=tags)
    daily = schedule.add(s, handlers.note, every="day at 9am", name="daily", tags=["user:7"])
    schedule.add(s, handlers.note, at=FAR, args=["theirs"], tags=["user:77"])
    for job in (once, daily):
        text = browser.get(f"/s/{s.name}/jobs/{job.name or job.id}").text
        (link,) = [html.unescape(one) for one in re.findall(r'href="([^"]*jobs\?q=[^"]*)"[^>]*>user:7<', text)]
        listed = browser.get(link).text
        assert once.short_id in listed
        assert "theirs" not in listed
    answer = browser.get(f"/s/{s.name}/jobs/{once.id}")
    assert f'Tags user:7 , two words , a"b , token={MASK}' in text_of(answer).replace(" ,", ",").replace(",", " ,")
    assert answer.text.count("jobs?q=tag") == 2, "a quote and a mask have no filter"
    assert "abc123456" not in answer.text
    assert set(found(browser, s, "jobs", "tag:user:7")) == {once.id, daily.id}
    assert found(browser, s, "jobs", 'tag:"two words"') == [once.id]
    assert found(browser, s, "jobs", f"tag:{SECRET}") == [], "a filter does not tell what is masked"


def test_dead_jobs_are_filtered_by_a_tag(browser: Browser, s: Schedule) -> None:
    ids = [schedule.add_now(s, handlers.fail, args=[tag], tags=[tag]).id for tag in ("user:7", "user:77")]
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    assert found(browser, s, "dead", "tag:user:7") == ids[:1]


def test_forms_show_tags_and_keep_them(browser: Browser, s: Schedule) -> None:
    fields = filled_in(browser, f"/s/{s.name}/new")
    fields |= {"when": "every weekday at 1pm", "fn": FN, "name": "digest", "tags": f" user:7 , two words, {SECRET}"}
    browser.post(f"/s/{s.name}/do/add", fields)
    tags = ("user:7", "two words", SECRET)
    assert schedule.job(s, "digest").tags == tags
    fields = filled_in(browser, f"/s/{s.name}/jobs/digest/edit")
    assert fields["tags"] == f"user:7, two words, token={MASK}"
    browser.post(f"/s/{s.name}/do/edit", fields | {"when": "every weekday at 2pm"})
    edited = schedule.job(s, "digest")
    assert edited.due is not None
    assert (edited.tags, edited.due.hour) == (tags, 14)
    fields = filled_in(browser, f"/s/{s.name}/jobs/digest/edit") | {"tags": f"token={MASK}, new"}
    browser.post(f"/s/{s.name}/do/edit", fields)
    assert schedule.job(s, "digest").tags == (SECRET, "new")
    like = filled_in(browser, f"/s/{s.name}/new?like=digest")
    assert like["tags"] == f"token={MASK}, new"


@pytest.mark.parametrize(
    ("tags", "text"),
    [
        (("user:7",), "user:7"),
        (("a", "b c"), "a, b c"),
        (("a,b", "c"), '["a,b", "c"]'),
        (("[x]",), '["[x]"]'),
        ((), ""),
    ],
    ids=str,
)
def test_the_field_of_tags_reads_back(tags: tuple[str, ...], text: str) -> None:
    assert tags_text(tags) == text
    given = keywords({"fn": FN, "when": "now", "tags": text})
    assert tuple(given.get("tags", ())) == tags


def test_a_mask_stands_for_one_tag_only() -> None:
    job = Job(id="1", schedule="s", fn="#'app/x", terms=Terms(tags=(SECRET, "token=other1234")))
    form = form_of_job(job, mask=mask())
    assert form["tags"] == f"token={MASK}, token={MASK}"
    for stands in (job, None, replace(job, terms=Terms(tags=("a",)))):
        with pytest.raises(InvalidArguments, match="stands for a value that is hidden"):
            keywords(form, stands=stands)


def test_a_viewer_of_masked_arguments_sees_no_tag_that_repeats_one(opened: Open, s: Schedule) -> None:
    job = schedule.add(s, handlers.note, at=FAR, kwargs={"token": "abc123456"}, tags=["of-abc123456"])
    answer = opened(s).get(f"/s/{s.name}/jobs/{job.id}")
    assert "abc123456" not in answer.text
    assert f"of-{MASK}" in answer.text
