from __future__ import annotations

import pytest

from workkit.jobs.job import Job, call_text, spoken


@pytest.mark.parametrize(
    ("fn", "called", "typed"),
    [
        ("#'app.users/activate", "app.users.activate(5)", "app.users:activate"),
        ("#'app.mail/Mailer.send", "app.mail.Mailer.send(5)", "app.mail:Mailer.send"),
        ("#'your-app.cache/clear!", "your-app.cache/clear!(5)", "#'your-app.cache/clear!"),
        ("(fn [x] x)", "(fn [x] x)(5)", "(fn [x] x)"),
    ],
)
def test_call_writes_names_as_they_are_read(fn: str, called: str, typed: str) -> None:
    assert call_text(Job(id="0" * 40, schedule="t", fn=fn, args=(5,))) == called
    assert spoken(fn) == typed


def test_call_shows_values_as_json_and_keywords() -> None:
    job = Job(id="0" * 40, schedule="t", fn="#'a/b", args=("é", None, {"k": [1]}), kwargs={"to": True})
    assert call_text(job) == 'a.b("é", null, {"k": [1]}, to=true)'
    assert call_text(job, args=False) == "a.b(...)"
    assert call_text(Job(id="0" * 40, schedule="t", fn="#'a/b"), args=False) == "a.b()"
