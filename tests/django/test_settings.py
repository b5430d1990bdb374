"""What the settings of a project may say, and how a mistake is named."""

from __future__ import annotations

from typing import Any

import pytest

from tests.django.conftest import BACKEND


def tasks(**more: Any) -> dict[str, Any]:
    return {"default": {"BACKEND": BACKEND, **more}}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"WORKKIT": {}}, 'names no schedule. Write WORKKIT = {"schedule": "shop"}'),
        ({"WORKKIT": "shop"}, "WORKKIT is 'shop', not a dict"),
        ({"WORKKIT": {"shedule": "shop"}}, "'shedule', which is not a setting of workkit. Did you mean \"schedule\"?"),
        ({"WORKKIT": {"schedule": "app tasks"}}, 'WORKKIT: schedule "app tasks" has a blank at column 4'),
        ({"WORKKIT": {"schedule": "shop", "redis": "http://x"}}, "WORKKIT: redis="),
        ({"TASKS": tasks(OPTIONS={"keeep": "1 day"})}, "OPTIONS of TASKS[\"default\"] has 'keeep'"),
        ({"TASKS": tasks(OPTIONS={"keep": "1 dya"})}, "dya"),
        ({"TASKS": tasks(OPTIONS={"keep_most": "much"})}, "keep_most"),
        ({"TASKS": tasks(OPTIONS={"schedules": ["emails"]})}, "TASKS[\"default\"] is ['emails']"),
        ({"TASKS": tasks(OPTIONS={"schedules": {"emails": "shop-emails"}})}, '"emails", which is no queue'),
        ({"TASKS": tasks(OPTIONS={"schedule": "shop", "tz": "Europe/Pariss"})}, 'Did you mean "Europe/Paris"?'),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_setting(settings: dict[str, Any], said: str) -> None:
    from django.core.exceptions import ImproperlyConfigured
    from django.test import override_settings

    from workkit.django import default_schedule
    from workkit.django.apps import backends

    with override_settings(**{"WORKKIT": {"schedule": "shop"}, **settings}):
        with pytest.raises(ImproperlyConfigured) as raised:
            backends() if "TASKS" in settings else default_schedule()
        assert said in str(raised.value)


def test_schedules_are_those_of_both_settings_each_once() -> None:
    from django.test import override_settings

    from workkit.django.apps import schedules

    more = {"other": {"BACKEND": BACKEND, "OPTIONS": {"schedule": "other", "redis": "redis://other:6379/"}}}
    queues = tasks(QUEUES=["emails"], OPTIONS={"schedules": {"emails": "shop-emails"}})
    with override_settings(WORKKIT={"schedule": "shop", "redis": "redis://h/"}, TIME_ZONE="Asia/Tokyo"):
        with override_settings(TASKS={**queues, **more}):
            found = [(s.name, s.redis, s.tz) for s in schedules()]
        with override_settings(TASKS={}):
            assert [s.name for s in schedules()] == ["shop"]
    assert found == [
        ("shop", "redis://h/", "Asia/Tokyo"),
        ("shop-emails", "redis://h/", "Asia/Tokyo"),
        ("other", "redis://other:6379/", "Asia/Tokyo"),
    ]


def test_the_system_check_warns_of_an_app_that_is_not_installed() -> None:
    from django.apps import apps
    from django.test import modify_settings

    from workkit.django.framework import task_backends

    assert apps.is_installed("workkit.django")
    assert list(task_backends["default"].check()) == []
    with modify_settings(INSTALLED_APPS={"remove": "workkit.django"}):
        (warning,) = task_backends["default"].check()
    assert (warning.id, warning.hint) == ("workkit.W001", 'Add "workkit.django" to INSTALLED_APPS.')
