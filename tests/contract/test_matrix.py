"""What layouts keep beside the promises of the other files: so each cell of docs/reference/layouts.md is tried."""

from __future__ import annotations

import pytest

from tests.contract.capability import Can, promised
from tests.contract.stage import Stage
from tests.servers import Server
from workkit import schedule
from workkit.brokers.layout import Keeps, layout_of
from workkit.errors import InvalidSchedule, NotFound, Unsupported
from workkit.verbs.opening import by_time_of, limits_of, queues_of


@promised(Can.PLAN)
def test_plans_of_code_are_kept(stage: Stage) -> None:
    assert stage.producer.plans.made() == {}


@promised(Can.QUEUES)
def test_queues_are_listed(stage: Stage) -> None:
    stage.add()
    assert "work" in {queue.kind for queue in queues_of(stage.s, ["note"])}


@promised(Can.LIMITS)
def test_limits_in_use_are_told(stage: Stage) -> None:
    assert limits_of(stage.s) == []


@promised(Can.CANCEL_DELAYED)
def test_what_waits_for_its_time_is_cancelled(stage: Stage) -> None:
    job = schedule.add(stage.s, stage.note, in_="1 hour", **stage.given(1))
    assert schedule.cancel(stage.s, job.id).id == job.id
    with pytest.raises(NotFound):
        schedule.job(stage.s, job.id)


def test_jobs_of_some_layouts_can_be_forwarded(stage: Stage, server: Server) -> None:
    to = schedule.create(f"{stage.name}-other", redis=server.url)
    if Keeps.FORWARD in layout_of(stage.s.layout).keeps:
        schedule.forwarder(stage.s, to=to)
        return
    with pytest.raises(InvalidSchedule, match="a forward takes the jobs of a native schedule"):
        schedule.forwarder(stage.s, to=to)


def test_every_cell_is_tried() -> None:
    assert {one.name for one in Keeps} - {can.name for can in Can} == {"FORWARD"}


def test_what_rabbitmq_does_not_tell_is_refused_without_a_question() -> None:
    s = schedule.create("orders", layout="hutch", amqp="amqp://127.0.0.1:1/")
    with pytest.raises(Unsupported) as planned:
        by_time_of(s)
    with pytest.raises(Unsupported) as limits:
        limits_of(s)
    assert [str(planned.value), str(limits.value)] == [
        "what is planned cannot be counted by its time in RabbitMQ. Count them: workkit stats orders.",
        "limits are not kept by RabbitMQ. Put a Redis beside it, which counts them: redis=.",
    ]
