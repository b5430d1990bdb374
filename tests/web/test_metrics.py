"""What a monitor reads of the web face: `/metrics`."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.web.conftest import Browser, Open
from workkit import __version__, asgi, schedule
from workkit.schedule import Schedule
from workkit.web.auth import Mounted
from workkit.web.login import Login, UsersFile, add_token
from workkit.web.middleware import OF_A_SCHEDULE, OURS, page_name

ROOT = Path(__file__).parent.parent.parent


def read(browser: Browser, **how: Any) -> dict[tuple[str, str], float]:
    """The samples of the page: by name, and by labels as text."""
    answer = browser.get("/metrics", **how)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    return {
        (sample.name, ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_requests_are_counted_by_page_and_status(browser: Browser, s: Schedule) -> None:
    for path in ("", "", "listeners", "jobs", "jobs.json", "jobs/nobody", "nowhere"):
        browser.get(f"/s/{s.name}/{path}")
    browser.post(f"/s/{s.name}/do/pause", {"token": "old"})
    found = read(browser)
    counted = {labels: n for (name, labels), n in found.items() if name == "workkit_web_requests_total"}
    assert counted == {
        "page=act,status=403": 1,
        "page=job,status=404": 1,
        "page=jobs,status=200": 2,
        "page=listeners,status=200": 1,
        "page=now,status=200": 2,
        "page=other,status=404": 1,
    }
    assert found["workkit_web_request_duration_seconds_count", "page=now"] == 2
    assert found["workkit_web_request_duration_seconds_bucket", "le=+Inf,page=now"] == 2
    assert 0 < found["workkit_web_request_duration_seconds_sum", "page=now"] < 60
    assert ("workkit_info", f"version={__version__}") in found
    assert read(browser)["workkit_web_requests_total", "page=metrics,status=200"] == 1


def test_streams_and_the_age_of_what_is_shown_are_told(browser: Browser, s: Schedule) -> None:
    before = read(browser)
    assert before["workkit_web_streams", ""] == 0
    assert ("workkit_web_cache_age_seconds", f"schedule={s.name}") not in before  # no page was shown
    browser.get(f"/s/{s.name}/")
    assert 0 <= read(browser)["workkit_web_cache_age_seconds", f"schedule={s.name}"] < 60

    async def opened() -> float:
        woken = asyncio.Event()
        channel = browser.app.state.hub.open(_served(browser), lambda one: one)
        channel.join(woken, None)
        answer = await browser.send("GET", "/metrics", {})
        channel.leave(woken)
        found = re.search(r"^workkit_web_streams (\S+)$", answer.text, re.MULTILINE)
        assert found is not None
        return float(found[1])

    assert browser.run(opened()) == 1


def _served(browser: Browser) -> Any:
    health = next(one for one in browser.app.routes if one.path == "/-/health")
    return next(iter(health.endpoint.__self__.served.values()))


def test_the_table_of_metrics_is_that_of_the_page(browser: Browser, s: Schedule) -> None:
    text = (ROOT / "spec" / "metrics.md").read_text().partition("## The web face")[2]
    rows = re.findall(r"^\| `(workkit_\w+)` \| \w+ \| ([\w, ]*)\|", text, re.MULTILINE)
    browser.get(f"/s/{s.name}/")
    found: dict[str, set[str]] = {}
    for name, labels in read(browser):
        given = {label.partition("=")[0] for label in labels.split(",") if label} - {"le"}
        found.setdefault(re.sub("_(bucket|count|sum|created)$", "", name), set()).update(given)
    assert {name for name in found if not name.endswith("_requests")} == {name for name, _ in rows}
    assert all(found[name] == {one for one in labels.strip().split(", ") if one} for name, labels in rows)
    assert all(
        f"`{name}`" in text for name in ("now", "job", "other", *OURS, *OF_A_SCHEDULE.values()) if name != "changes"
    )


def test_metrics_are_for_those_who_may_look(opened: Open, s: Schedule, tmp_path: Path) -> None:
    users = tmp_path / "users.toml"
    token = add_token(users, "prometheus", roles="viewer")
    browser = opened(s, way=Login(file=UsersFile(users), signer=asgi.signer("secret")))
    assert browser.get("/metrics").status_code == 401
    assert read(browser, headers={"authorization": f"Bearer {token}"})["workkit_web_streams", ""] == 0
    hidden = opened(s, way=Mounted(lambda _: None), hosts=None)
    assert hidden.get("/metrics").status_code == 404


def test_a_schedule_without_a_role_is_not_told(opened: Open, s: Schedule) -> None:
    other = schedule.create(f"{s.name}-other", redis=s.redis)
    roles = {s.name: "viewer", other.name: "viewer"}
    browser = opened(s, other, way=Mounted(lambda request: {s.name: "viewer"} if "x-one" in request.headers else roles))
    for one in roles:
        browser.get(f"/s/{one}/")
    assert other.name in browser.get("/metrics").text
    assert other.name not in browser.get("/metrics", headers={"x-one": "1"}).text


def test_without_prometheus_client_the_page_names_the_extra(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workkit.web.app.is_installed", lambda: False)
    answer = browser.get("/metrics")
    assert answer.status_code == 404
    assert answer.text == "no metrics here. Install the extra: pip install 'workkit[prometheus]'\n"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/", "schedules"), ("", "schedules"), ("/schedules.json", "schedules"), ("/metrics", "metrics"),
        ("/-/health", "health"), ("/-/static/x/workkit.js", "static"), ("/-/login", "login"), ("/-/evil", "other"),
        ("/s/a", "now"), ("/s/a.json", "now"), ("/s/a/", "now"), ("/s/a/live", "live"), ("/s/a/do/x", "act"),
        ("/s/a/next.ics", "calendar"), ("/s/a/-/views", "views"), ("/s/a/runs.json", "runs"), ("/s/a/b/c", "other"),
        ("/x", "other"), ("/s", "other"), ("/s/", "other"), ("//", "other"),
    ],
)  # fmt: skip
def test_what_somebody_makes_up_has_no_label_of_its_own(path: str, name: str) -> None:
    assert page_name(path) == name
