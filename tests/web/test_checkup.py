"""When a checkup begins, and who waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Condition, Event

import pytest

from tests.processes import until
from workkit.contract.doctor import Finding
from workkit.web import works as checkup_room
from workkit.web.works import FRESH_S, Checkup

FAULT = Finding(kind="k", what="a", why="b", advice=("c",))


class Doctor:
    """Finds one fault once it may."""

    def __init__(self) -> None:
        self.may, self.begun = Event(), 0

    def checkup(self, *, patience_ms: int) -> Iterator[Finding]:
        self.begun += 1
        assert self.may.wait(30)
        yield FAULT

    def repair(self, finding: Finding) -> bool:
        return False


def test_a_glance_waits_for_nothing_and_begins_a_checkup_only_for_who_stays() -> None:
    doctor = Doctor()
    checkup = Checkup(doctor=lambda: doctor, patience="1 day", stays_s=3600)
    assert checkup.glance() is None
    assert checkup.glance() is None
    assert checkup.known() is None  # nothing was begun
    checkup.stays_s = 0
    assert checkup.glance() is None
    began = checkup.glance()
    assert began is not None
    assert (began.findings, began.age_s) == ((), None)  # it goes on
    doctor.may.set()
    until(lambda: checkup.glance() and checkup.glance().age_s is not None, what="its end")  # type: ignore[union-attr]
    found = checkup.glance()
    assert found is not None
    assert found.findings == (FAULT,)
    assert doctor.begun == 1


def test_an_old_checkup_is_done_again_for_who_stays() -> None:
    doctor = Doctor()
    doctor.may.set()
    checkup = Checkup(doctor=lambda: doctor, patience="1 day", stays_s=0)
    assert checkup.look().findings == (FAULT,)
    assert checkup.glance() is not None
    assert checkup._course is not None
    assert checkup._course.ended is not None
    checkup._course.ended -= FRESH_S + 1
    checkup.glance()  # somebody begins to look
    checkup.glance()
    until(lambda: doctor.begun >= 2, what="the second checkup")


def test_only_who_looks_as_a_checkup_begins_waits_for_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup_room, "GLANCE_S", 0.01)
    doctor = Doctor()
    checkup = Checkup(doctor=lambda: doctor, patience="1 day")
    assert checkup.look().age_s is None  # it waited in vain
    monkeypatch.setattr(Condition, "wait_for", never)
    assert checkup.look().age_s is None
    doctor.may.set()
    until(lambda: checkup.look().age_s is not None, what="its end")


def never(self: object, condition: object, timeout: float | None = None) -> bool:
    raise AssertionError("it waits")
