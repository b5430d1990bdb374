"""The tests of the reminders: no server of your own, no sleeping. The fixture `wk` comes with workkit."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from reminders import api

from workkit import testing

web = TestClient(api)  # not `with TestClient(api)`: that starts a listener, and here `wk` runs the jobs
SEVEN, SEVENTY_SEVEN, ADA = {"user": "7"}, {"user": "77"}, {"user": "8", "zone": "America/New_York"}


@pytest.fixture(autouse=True)
def friday(wk: testing.Workkit) -> None:
    wk.travel("2026-03-27 07:00", tz="Europe/Paris")  # on Sunday clocks change there


def add(user: dict[str, str], text: str, when: str) -> str:
    answer = web.post("/reminders", json={"text": text, "when": when}, headers=user)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def snoozed(user: dict[str, str], reminder: str, *, minutes: int) -> Any:
    return web.post(f"/reminders/{reminder}/snooze", json={"minutes": minutes}, headers=user)


def texts(user: dict[str, str]) -> list[str]:
    return [one["text"] for one in web.get("/reminders", headers=user).json()]


def told(ran: list[testing.Ran]) -> list[Any]:
    return [(f"{run.at:%a %H:%M}", *run.job.args) for run in ran]


def test_each_user_is_reminded_at_the_hour_of_their_own_zone(wk: testing.Workkit) -> None:
    add(SEVEN, "water the plants", "every weekday at 8")
    add(ADA, "call home", "tomorrow at noon")
    assert told(wk.run_until("2026-03-30 12:00")) == [  # in UTC
        ("Fri 07:00", 7, "water the plants"),
        ("Sat 16:00", 8, "call home"),
        ("Mon 06:00", 7, "water the plants"),
    ]


def test_times_are_listed_as_they_were_understood_in_the_zone_of_the_user() -> None:
    for when in ("now", "tomorrow at noon", "every weekday at 8"):
        add(ADA, "call home", when)
    listed = web.get("/reminders", headers=ADA).json()
    assert [one["when"] for one in listed] == ["once", "every weekday at 8:00 America/New_York", "once"]
    assert [one["next"][:16] for one in listed] == ["2026-03-27T02:00", "2026-03-27T08:00", "2026-03-28T12:00"]


def test_nobody_sees_or_changes_the_reminders_of_others() -> None:
    add(SEVEN, "of 7", "every weekday at 8")
    theirs = add(SEVENTY_SEVEN, "of 77, who asks what user:7 means", "every weekday at 8")
    assert texts(SEVEN) == ["of 7"]
    assert web.delete(f"/reminders/{theirs}", headers=SEVEN).json() == {"detail": "You have no such reminder."}
    assert snoozed(SEVEN, theirs, minutes=5).status_code == 404
    assert texts(SEVENTY_SEVEN) == ["of 77, who asks what user:7 means"]


def test_a_reminder_is_listed_once_until_it_is_deleted(wk: testing.Workkit, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[list[str]] = []
    monkeypatch.setattr("reminders.print", lambda *_, **__: listed.append(texts(SEVEN)), raising=False)
    reminder = add(SEVEN, "water the plants", "every weekday at 8")
    wk.run_until("today at 9am")
    assert listed == [["water the plants"]]  # while it was shown
    assert web.delete(f"/reminders/{reminder}", headers=SEVEN).status_code == 204
    assert texts(SEVEN) == []
    assert wk.run_until("in 1 week") == []


def test_a_reminder_is_snoozed_before_and_after_it_was_shown(wk: testing.Workkit) -> None:
    lunch = add(SEVEN, "lunch", "today at noon")
    snoozed(SEVEN, lunch, minutes=360)  # put off
    assert told(wk.run_until("today at 13:05")) == [("Fri 12:00", 7, "lunch")]
    snoozed(SEVEN, lunch, minutes=10)
    assert told(wk.run_until("today at 14:00")) == [("Fri 12:15", 7, "lunch")]


def test_snoozing_a_recurring_reminder_keeps_its_times(wk: testing.Workkit) -> None:
    plants = add(SEVEN, "water the plants", "every weekday at 8")
    wk.run_until("today at 8:00")
    snoozed(SEVEN, plants, minutes=30)
    assert [at for at, *_ in told(wk.run_until("2026-03-30 09:00"))] == ["Fri 07:30", "Mon 06:00"]


@pytest.mark.parametrize(
    ("when", "says"),
    [
        ("tomorow at 8pm", '"tomorow at 8pm" is not understood. Did you mean "tomorrow at 8pm"?'),
        ("tonight", '"tonight" does not say which hour.'),
        ("0 25 * * *", '"0 25 * * *": 25 (field 2, hour) is out of range.'),
    ],
)
def test_what_is_no_time_is_refused_in_words_for_the_user(when: str, says: str) -> None:
    answer = web.post("/reminders", json={"text": "x", "when": when}, headers=SEVEN)
    assert (answer.status_code, answer.json()) == (422, {"detail": says})
