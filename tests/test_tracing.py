"""Spans of additions and of runs, as the SDK of OpenTelemetry exports them: one program adds, another one runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import rabbit
from tests.optional import needed
from tests.processes import ROOT, Processes
from tests.servers import Server
from workkit import schedule, tracing
from workkit.brokers.hutch.names import Names

PROGRAM = """
import json, sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from workkit import Discard, job, schedule

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
if __name__ == "__main__":
    trace.set_tracer_provider(provider)
tracer = trace.get_tracer("app")

def work(text="x"):
    with tracer.start_as_current_span("inside"):
        pass

async def work_async():
    with tracer.start_as_current_span("inside"):
        pass

def fail():
    raise OSError("disk full")

def discard():
    raise Discard("no need")

@job(cpu=True)
def work_elsewhere(path):
    with open(path, "w") as file:
        file.write(format(trace.get_current_span().get_span_context().trace_id, "032x"))

def take(body):
    pass

def told(span):
    def ids(context):
        return [format(context.trace_id, "032x"), format(context.span_id, "016x")]
    return {
        "name": span.name, "kind": span.kind.name, "ids": ids(span.context), "attributes": dict(span.attributes),
        "parent": ids(span.parent) if span.parent else None, "links": [ids(link.context) for link in span.links],
        "status": span.status.status_code.name, "events": [event.name for event in span.events],
    }

if __name__ == "__main__":
    where = {"redis": sys.argv[2]} if sys.argv[2].startswith("redis") else {"amqp": sys.argv[2], "layout": "hutch"}
    s = schedule.create(sys.argv[1], **where)
    said = eval(sys.argv[3])
    print(json.dumps({"said": said, "spans": [told(span) for span in exporter.get_finished_spans()]}))
"""
RUN = 'schedule.drain(s, raise_errors=False, imports=["app"], folder=None).ran'


@pytest.fixture
def act(server: Server, name: str, tmp_path: Path) -> Any:
    """Make a function that evaluates an expression in a process of its own, and returns its value and its spans. `s` is
    a schedule of that name on the server, or the exchange.
    """
    needed("opentelemetry.sdk.trace")
    (tmp_path / "app.py").write_text(PROGRAM)
    processes = Processes(tmp_path)

    def run(expression: str, url: str = server.url) -> tuple[Any, list[dict[str, Any]]]:
        process = processes.run(
            sys.executable,
            "app.py",
            name,
            url,
            expression,
            cwd=tmp_path,
            env={"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"},
        )
        assert process.wait() == 0, process.transcript()
        found = json.loads(process.out[-1])
        return found["said"], found["spans"]

    yield run
    processes.close()


def test_a_run_in_another_process_is_linked_to_its_addition(act: Any, name: str) -> None:
    id, (added,) = act('schedule.add_now(s, "app:work").id')
    _, (inside, ran) = act(RUN)
    assert (added["name"], added["kind"], added["links"]) == (f"add {name}", "PRODUCER", [])
    assert added["attributes"] == {
        "messaging.system": "workkit",
        "messaging.operation.name": "add",
        "messaging.operation.type": "send",
        "messaging.destination.name": name,
        "messaging.message.id": id,
        "workkit.job.function": "app.work",
    }
    assert (ran["name"], ran["kind"], ran["links"]) == (f"run {name}", "CONSUMER", [added["ids"]])
    late = ran["attributes"].pop("workkit.job.lateness_ms")
    assert late >= 0
    assert ran["attributes"] == {
        **added["attributes"],
        "messaging.operation.name": "run",
        "messaging.operation.type": "process",
        "workkit.job.attempt": 1,
    }
    assert ran["ids"][0] != added["ids"][0], "linked, in a trace of its own"
    assert inside["parent"] == ran["ids"], "a span of the handler is inside"


def test_both_spans_have_the_metadata_of_the_job(act: Any) -> None:
    _, (added,) = act('schedule.add_now(s, "app:work", meta={"request": "9f2c"}).id')
    _, (_, ran) = act(RUN)
    assert [span["attributes"]["workkit.job.meta.request"] for span in (added, ran)] == ["9f2c", "9f2c"]


def test_a_coroutine_runs_inside_its_span(act: Any) -> None:
    act('schedule.add_now(s, "app:work_async").id')
    _, (inside, ran) = act(RUN)
    assert inside["parent"] == ran["ids"]


def test_a_worker_process_continues_the_span(act: Any, tmp_path: Path) -> None:
    act(f'schedule.add_now(s, "app:work_elsewhere", args=[{str(tmp_path / "trace")!r}]).id')
    _, (ran,) = act(RUN)
    assert (tmp_path / "trace").read_text() == ran["ids"][0]


def test_an_error_is_one_of_the_span_and_a_discard_is_none(act: Any) -> None:
    act('[schedule.add_now(s, f"app:{fn}").id for fn in ("fail", "discard")]')
    _, spans = act(RUN)
    by_function = {span["attributes"]["workkit.job.function"]: span for span in spans}
    failed, discarded = by_function["app.fail"], by_function["app.discard"]
    assert (failed["status"], failed["events"]) == ("ERROR", ["exception"])
    assert failed["attributes"]["error.type"] == "OSError"
    assert (discarded["status"], discarded["events"]) == ("UNSET", [])


def test_an_equal_job_has_the_same_id_under_any_span_and_keeps_its_first_context(
    act: Any, server: Server, name: str
) -> None:
    add = '(lambda job: [job.id, job.new])(schedule.add(s, "app:work", at="2100-01-01"))'
    without = schedule.add(schedule.create(f"{name}-other", redis=server.url), "app:work", at="2100-01-01")
    first, (span,) = act(add)
    second, (other,) = act(add)
    assert (first, second) == ([without.id, True], [without.id, False])
    assert span["ids"] != other["ids"]
    client = server.client()
    assert client.hget(f"{name}:jobs", without.id) == client.hget(f"{name}-other:jobs", without.id)
    kept = client.get(f"{name}:trace:{without.id}").decode()
    assert tracing.TRACEPARENT.fullmatch(kept)
    assert kept.split("-")[1:3] == span["ids"]


def test_each_of_two_equal_immediate_jobs_is_linked_to_its_own_addition(act: Any, server: Server, name: str) -> None:
    ids, added = act('[schedule.add_now(s, "app:work").id for _ in range(20)]')
    assert len(set(ids)) == 20
    contexts = [server.client().get(f"{name}:trace:{id}").decode().split("-")[1:3] for id in ids]
    assert contexts == [span["ids"] for span in added]


def test_many_additions_are_one_span_that_each_run_is_linked_to(act: Any, name: str) -> None:
    _, (added,) = act('schedule.add_many(s, ({"fn": "app:work", "at": "now", "unique": False} for _ in range(3))).new')
    assert (added["name"], added["attributes"]["messaging.batch.message_count"]) == (f"add {name}", 3)
    _, spans = act(RUN)
    assert [span["links"] for span in runs(spans)] == 3 * [[added["ids"]]]


def runs(spans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [span for span in spans if span["name"].startswith("run ")]


def test_jobs_with_a_name_or_a_unique_key_carry_the_context_too(act: Any, server: Server, name: str) -> None:
    options = ('name="n"', 'unique_key="k"', "priority=2", 'debounce="1 hour"')
    for option in options:
        id, (span,) = act(f'schedule.add_now(s, "app:work", {option}).id')
        assert server.client().get(f"{name}:trace:{id}").decode().split("-")[1:3] == span["ids"], option


def test_a_context_leaves_by_itself(act: Any, server: Server, name: str) -> None:
    (soon, late), _ = act('[schedule.add(s, "app:work", in_=when).id for when in ("1 hour", "400 days")]')
    hours = [server.client().pttl(f"{name}:trace:{id}") / 3_600_000 for id in (soon, late)]
    assert hours == pytest.approx([25, 31 * 24], abs=0.1)


def test_a_program_that_has_not_set_it_up_writes_nothing(server: Server, name: str, tmp_path: Path) -> None:
    needed("opentelemetry.trace")
    program = (
        "import sys, opentelemetry.trace; from workkit import schedule, tracing\n"
        "s = schedule.create(*sys.argv[1:2], redis=sys.argv[2])\n"
        "schedule.add_now(s, 'app:work'); schedule.drain(s, imports=['app'], folder=None)\n"
        "print(tracing.opentelemetry() is not None)"
    )
    (tmp_path / "app.py").write_text("def work(): pass\n")
    done = subprocess.run(
        [sys.executable, "-c", program, name, server.url], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == "False\n"
    assert not [key for key in server.client().keys(f"{name}:*") if b":trace:" in key]


def test_a_context_that_cannot_be_read_is_no_link(act: Any, server: Server, name: str) -> None:
    id, _ = act('schedule.add_now(s, "app:work").id')
    server.client().set(f"{name}:trace:{id}", b"\xff not a context")
    _, spans = act(RUN)
    assert [span["links"] for span in runs(spans)] == [[]]


def test_runs_on_rabbitmq_are_linked_to_additions_there_and_to_those_of_a_forwarded_schedule(
    act: Any, amqp: str, server: Server, name: str
) -> None:
    to = schedule.create(name, amqp=amqp, layout="hutch")
    names = Names(exchange=name, dialect="hutch")
    try:
        consumers = {"work.traced": "tests.handlers:note"}
        schedule.drain(to, consumers=consumers, folder=None, jobs=["work.traced"])  # so that its queue is there
        here = f"schedule.create({name!r}, redis={server.url!r})"
        add = 'schedule.add_now({}, "{}", args=[{{"n": 1}}]).id'
        (id, _), added = act(f"[{add.format('s', 'work.traced')}, {add.format(here, '@work.traced')}]", amqp)
        assert schedule.forward(schedule.create(name, redis=server.url), to=to, burst=True).ran == 1
        _, spans = act('schedule.drain(s, consumers={"work.traced": "app:take"}, folder=None).ran', amqp)
    finally:
        rabbit.forget(amqp, names, names.queue("work.traced"))
    assert [span["kind"] for span in spans] == ["CONSUMER", "CONSUMER"]
    linked = {span["attributes"]["messaging.message.id"]: span["links"] for span in spans}
    assert linked.pop(id) == [added[0]["ids"]]
    assert list(linked.values()) == [[added[1]["ids"]]], "the addition in the source, though nothing traces the forward"


def test_a_forward_to_a_native_schedule_passes_the_context_on(act: Any, server: Server, name: str) -> None:
    _, (added,) = act('schedule.add_now(s, "app:work").id')
    to = schedule.create(f"{name}-to", redis=server.url)
    assert schedule.drain(schedule.create(name, redis=server.url), to=to).ran == 1
    (job,) = schedule.jobs(to)
    kept = server.client().get(f"{name}-to:trace:{job.id}").decode()
    assert kept.split("-")[1:3] == added["ids"]
