"""No secret leaves the server: not in a page, not in JSON, for nobody."""

from __future__ import annotations

from typing import Any

from tests import handlers
from tests.processes import until
from tests.web.conftest import Browser, Open
from workkit import schedule
from workkit.schedule import Schedule
from workkit.web.auth import Local

HOW: dict[str, Any] = {"imports": ["tests.handlers", "tests.web.test_masked_pages"], "folder": None}


def tell(**_: Any) -> None:
    from workkit import current_job

    current_job().checkin("password=hunter2")
    handlers.wait_for_gate()


def test_secrets_of_arguments_check_ins_and_reasons_are_hidden(opened: Open, s: Schedule) -> None:
    handlers.calls.clear()
    handlers.gate.clear()
    schedule.add_now(s, tell, kwargs={"password": "hunter2", "n": "open sesame"})
    schedule.add(s, handlers.note, args=({"api_key": "hunter2"},), in_="1 hour", name="nightly")
    try:
        with schedule.listener(s, **HOW):
            until(lambda: handlers.calls == ["begun"], what="the run")
            schedule.pause(s, reason="token=hunter2")
            plain, custom = opened(s), opened(s, mask=lambda name, value: True if name == "n" else None)
            viewer = opened(s, way=Local(role="viewer"), mask_all=True)
            until(lambda: "password=" in plain.get(f"/s/{s.name}/").text, what="the check-in")
            for path in (f"/s/{s.name}/", f"/s/{s.name}/listeners", f"/s/{s.name}.json", f"/s/{s.name}/listeners.json"):
                assert "hunter2" not in plain.get(path).text
                assert "open sesame" not in viewer.get(path).text
            assert "open sesame" in plain.get(f"/s/{s.name}/").text
            assert "open sesame" not in custom.get(f"/s/{s.name}/").text
            handlers.gate.set()
    finally:
        handlers.gate.set()


def test_what_a_change_replaced_is_hidden_on_the_page_of_its_job_too(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, every="hour", name="nightly")
    schedule.pause(s, "nightly", reason="token=hunter2")
    schedule.pause(s, "nightly", reason="another")
    for path in ("jobs/nightly", "jobs/nightly.json", "changes", "changes.json", "changes.jsonl"):
        told = browser.get(f"/s/{s.name}/{path}").text
        assert "another" in told
        assert "hunter2" not in told
