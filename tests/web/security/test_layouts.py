"""Every page in the layouts that can do less: it answers, and says in its place what the layout does not have."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract.capability import Can
from tests.contract.layouts import Gocraft, OnRabbitmq
from tests.contract.stage import FAILURE, Stage
from tests.contract.staged import staged
from tests.servers import Server
from tests.web.conftest import Open, main_of
from tests.web.security.places import Place, everything
from workkit.jobs.outcome import Dead
from workkit.web.pages.registry import PAGES

PLAIN = [page.path for page in PAGES if "{" not in page.path and page.name != "say"]


@pytest.fixture(params=[Gocraft(), OnRabbitmq("hutch")], ids=str)
def stage(request: pytest.FixtureRequest, server: Server, name: str) -> Iterator[Stage]:
    with staged(request.param, request, server, name) as opened:
        yield opened


def test_every_page_answers_and_says_what_is_missing(opened: Open, stage: Stage) -> None:
    stage.add(3)
    peer = stage.peer()
    for claim in peer.claim():
        peer.end(claim, Dead(failure=FAILURE))
    stage.add(2)
    browser = opened(stage.s)
    found = {path: browser.get(f"/s/{stage.name}/{path}") for path in PLAIN}
    assert {path: answer.status_code for path, answer in found.items()} == dict.fromkeys(PLAIN, 200)
    assert {path: bool(main_of(answer).strip()) for path, answer in found.items()} == dict.fromkeys(PLAIN, True)
    missing = ("batches", "changes", "recurring", "runs", *(() if Can.LOOK in stage.layout.can else ("limits", "jobs")))
    said = {path: browser.json(f"/s/{stage.name}/{path}.json").get("unknown") for path in missing}
    assert not [path for path, sentences in said.items() if not sentences], said
    wrong = [
        (where, answer.text[-600:])
        for where, answer in everything(Place(browser, stage.name), more=1)  # they are of one view
        if answer.status_code >= 500 and answer.status_code != 501  # 501: said, in JSON Lines
    ]
    assert not wrong
