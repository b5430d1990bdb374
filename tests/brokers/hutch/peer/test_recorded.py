"""The Ruby peer against the recordings of hutch, hutch-schedule and event: the same objects on the broker, and the same
messages, volatile parts aside. So what holds beside the peer holds beside the real libraries.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from typing import Any

import pytest

from tests.brokers.hutch import vectors
from tests.brokers.hutch.peer.recorded import Tap, listing, ordered, steady, times
from tests.brokers.hutch.peer.ruby_peer import SOURCE, RubyPeer
from tests.processes import ROOT, until
from tests.rabbit import Rabbit, connected
from workkit.brokers.hutch.address import read_address
from workkit.brokers.hutch.broker import HutchBroker
from workkit.brokers.hutch.names import Dialect, Names
from workkit.contract.listener import Claim, ListenerInfo, Serving
from workkit.jobs.outcome import Done

DEMO = {"class": "Outer::Inner::DemoHTTPThing2Consumer", "keys": ["demo.key", "demo.other", "wild.#"]}
NAMESPACE = "My App!.x_1-Y:z"
LAZY = {"x-message-ttl": 60000, "x-max-priority": 10, "x-dead-letter-exchange": "dlx", "x-queue-mode": "lazy"}
QUORUM = {"x-queue-type": "quorum"}

# Per deployment its programs: mode, settings, consumers.
PROGRAMS: dict[str, list[tuple[str, dict[str, Any], list[dict[str, Any]]]]] = {
    "event": [
        (
            "event",
            {"namespace": "work"},
            [{"key": key, "prefetch": 7} for key in ("test.ok", "Test.Upper", "multi.#")] + [{"key": "test.fail"}],
        )
    ],
    "hutch_1_1_0": [("hutch", {"version": "1.1.0"}, [DEMO])],
    "hutch_1_4_0": [("hutch", {"version": "1.4.0"}, [DEMO])],
    "hutch_names_and_options": [
        (
            "hutch",
            {"namespace": NAMESPACE, "version": "1.1.0"},
            [
                {"class": "NsOneConsumer", "keys": ["n.a"]},
                {"class": "NsTwoConsumer", "keys": ["n.b"], "arguments": QUORUM},
            ],
        ),
        ("hutch", {}, [{"class": "LazyOne", "keys": ["n.c"], "arguments": LAZY}]),
        ("hutch", {"prefetch": 9}, [{"class": "HTTPServer::XMLParserV2", "keys": ["n.d"]}]),
    ],
    "hutch_schedule": [("hutch", {"schedule": True}, [])],
    "hutch_schedule_with_event": [
        ("hutch", {"schedule": True}, [{"class": "JobOneConsumer", "keys": ["job.one"]}]),
        ("event", {"namespace": "app"}, [{"key": "go.one"}]),
    ],
    "hutch_schedule_active_job": [
        ("hutch", {"schedule": True}, [{"queue_name": "mail_low", "keys": ["active_job.mail_low"]}])
    ],
    "hutch_1_4_0_with_schedule_broken": [("hutch", {"schedule": True, "version": "1.4.0"}, [])],
}
# What workkit consumes beside them. The key deep.# is one of a consumer, not of a message.
KEYS: dict[Dialect, list[str]] = {
    "event": ["test.ok", "test.fail", "demo.key", "wild.a.b", "job.one", "active_job.mail_low"],
    "hutch": ["test.ok", "test.fail", "demo.key", "wild.a.b", "job.one", "active_job.mail_low", "Test.Upper"],
}
TAGS = {"hutch-<uuid4>": "hutch-[0-9a-f-]{36}", "ctag-<argv0>-<n>": r"ctag-peer-\d+"}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rabbit]:
    """A RabbitMQ of these tests, with an empty virtual host for each deployment and one for the messages."""
    folder = tmp_path_factory.mktemp("recorded")
    salt = b"salt"
    password = b64encode(salt + hashlib.sha256(salt + b"guest").digest()).decode()
    vhosts = ["/", "messages", "ours", *PROGRAMS]
    user = {"name": "guest", "password_hash": password, "hashing_algorithm": "rabbit_password_hashing_sha256"}
    anything = {"user": "guest", "configure": ".*", "write": ".*", "read": ".*"}
    definitions = {
        "users": [{**user, "tags": "administrator"}],
        "vhosts": [{"name": name} for name in vhosts],
        "permissions": [{**anything, "vhost": name} for name in vhosts],
    }
    (folder / "definitions.json").write_text(json.dumps(definitions))
    with closing(Rabbit(folder / "node", conf=f"load_definitions = {folder / 'definitions.json'}\n")) as own:
        own.start()
        yield own


@pytest.fixture(scope="module")
def recorder() -> Iterator[RubyPeer]:
    with closing(RubyPeer()) as made:
        yield made


@pytest.fixture(scope="module")
def declared(broker: Rabbit, recorder: RubyPeer) -> dict[str, Any]:
    """What the broker holds after each deployment has started, and its consumers."""
    for deployment, programs in PROGRAMS.items():
        for number, (mode, settings, consumers) in enumerate(programs):
            name = f"{deployment}-{number}"
            program = recorder.open(name, mode, f"{broker.url}{deployment}", **settings)
            if consumers:
                program.consume(*consumers)
    found: dict[str, Any] = json.loads(broker.control("export_definitions", "-", "--format", "json"))
    return found


def test_workkit_declares_what_was_recorded_and_the_peer_starts_beside_it(broker: Rabbit, recorder: RubyPeer) -> None:
    url = f"{broker.url}ours"
    with ExitStack() as ends:
        listening(url, "event", ends, prefix="work", keys=["test.ok", "test.fail"])
        ours = listing(json.loads(broker.control("export_definitions", "-", "--format", "json")), "ours")
        recorded = ordered(vectors.deployments()["event"]["listing"])
        for kind, objects in recorded.items():
            shared = [one for one in objects if one in ours[kind]]
            own = [one for one in ours[kind] if one not in objects]
            assert all("hutch.workkit" in one for one in own), own
            assert len(shared) == {"exchanges": 1, "queues": 3, "bindings": 3}[kind]
        recorder.open("beside", "event", url, namespace="work").consume({"key": "test.ok"})
        recorder.open("beside-schedule", "hutch", url, schedule=True)


@pytest.mark.parametrize("deployment", PROGRAMS)
def test_the_peer_declares_what_was_recorded(deployment: str, declared: dict[str, Any]) -> None:
    assert listing(declared, deployment) == ordered(vectors.deployments()[deployment]["listing"])


@pytest.mark.parametrize(
    "deployment", [name for name, one in vectors.deployments().items() if one["listing"].get("consumers")]
)
def test_the_peer_consumes_as_was_recorded(deployment: str, declared: Any, broker: Rabbit) -> None:
    recorded = {one["queue"]: one for one in vectors.deployments()[deployment]["listing"]["consumers"]}
    columns = ("queue_name", "consumer_tag", "ack_required", "prefetch_count", "arguments")
    said = broker.control("list_consumers", "-p", deployment, *columns, "--formatter", "json")
    found = {one["queue_name"]: one for one in json.loads(said)}
    for queue, one in recorded.items():
        assert (one["prefetch_count"], one["ack_required"]) == (
            found[queue]["prefetch_count"], found[queue]["ack_required"],
        )  # fmt: skip
        assert re.fullmatch(TAGS[one["consumer_tag"]], found[queue]["consumer_tag"])


@dataclass(frozen=True, slots=True)
class Passed:
    """The messages that passed, and those that workkit claimed, by its layout and their id."""

    messages: list[dict[str, Any]]
    claimed: dict[str, dict[str, Claim]]


@pytest.fixture(scope="module")
def passed(broker: Rabbit, recorder: RubyPeer) -> Passed:
    """What passes while the peer does what the recorded programs did, with workkit beside it; each delay takes 5 s."""
    url = f"{broker.url}messages"
    recorded = vectors.records()
    with closing(Tap(url, "hutch", "hutch.schedule")) as tap, ExitStack() as ends:
        listeners = {layout: listening(url, layout, ends) for layout in KEYS}
        event = recorder.open("event", "event", url, namespace="work")
        event.consume(*({"key": key} for key in ("test.ok", "multi.#")), {"key": "test.fail", "wait": 5})
        schedule = recorder.open("hutch-schedule", "hutch", url, schedule=True)
        schedule.consume(
            {"class": "JobOneConsumer", "keys": ["job.one"], "attempts": 2},
            {"class": "DeepConsumer", "keys": ["ev.deep", "deep.#"], "attempts": 1, "fail": 1},
        )
        plain = recorder.open("hutch", "hutch", url)
        programs = {"hutch 1.1.0": plain, "hutch 1.4.0": plain, "event": event}
        for one in recorded:
            play(one, programs.get(one["published_by"], schedule))
        wanted = {steady(one) for one in recorded}
        claimed: dict[str, dict[str, Claim]] = {layout: {} for layout in KEYS}

        def have_all_come() -> bool:
            for layout, listener in listeners.items():
                found = listener.claim(50).claims
                claimed[layout] |= {claim.id: claim for claim in found}
                listener.claim(0, ends=[(claim, Done()) for claim in found])
            return wanted <= {steady(one) for one in list(tap.seen)}

        with suppress(AssertionError):  # a test for each record says which has not come
            until(have_all_come, timeout=20)
            until(lambda: have_all_come() and all(ids(tap.seen, layout) <= set(claimed[layout]) for layout in KEYS))
        return Passed(list(tap.seen), claimed)


def listening(url: str, layout: Dialect, ends: ExitStack, *, prefix: str = "", keys: Sequence[str] = ()) -> HutchBroker:
    """A listener of workkit beside the peer."""
    names = Names(exchange="hutch", dialect=layout, prefix=prefix or f"ours-{layout}")
    made = HutchBroker(read_address(url), names=names)
    ends.callback(made.close)
    serves = {key: Serving() for key in keys or KEYS[layout]}
    made.register(ListenerInfo(listener="", host="", pid=1, version="0", schedules={}, threads=1, serves=serves))
    return made


def real_key(one: Mapping[str, Any]) -> str:
    return str(one["headers"]["CC"]["v"][0]["v"] if one["headers"] and "CC" in one["headers"] else one["routing_key"])


def ids(messages: Sequence[Mapping[str, Any]], layout: Dialect) -> set[str]:
    """The ids of what reached the work queues of workkit."""
    came = [one for one in list(messages) if one["exchange"] == "hutch"]
    return {one["properties"]["message_id"] for one in came if real_key(one) in KEYS[layout]}


def play(one: Mapping[str, Any], program: Any) -> None:
    """Do what led to a recorded message, if that was done by a program itself."""
    case, value = one["case"], json.loads(one["body"])
    given = {name: value for name, value in one["properties"].items() if name not in ("timestamp", "content_type")}
    if case.startswith("first retry with a wait"):
        program.publish("test.fail", value)
    elif case == "first retry, as delivered" or ("as published" in case and "retry" in case):
        return  # the library does it
    elif case == "message without handler sent to the dead queue":
        program.publish("multi.a.b", value)
    elif case == "retry of a consumer with two routing keys, as delivered":
        program.publish("ev.deep", value)
    elif "as published" in case:
        asked = float(re.search(r"(-?[\d.]+) seconds", case)[1])  # type: ignore[index]
        headers = {name: said["v"] for name, said in one["headers"].items() if name != "CC"}
        key = one["headers"]["CC"]["v"][0]["v"]
        seconds = int(asked) if asked.is_integer() else asked
        program.delay(seconds, key, value, **({"headers": headers} if headers else {}))
    elif case == "message with all properties set by the caller":
        headers = {name: said["v"] for name, said in one["headers"].items()}
        program.publish(one["routing_key"], value, **given, headers=headers)
    elif "as delivered" not in case:
        program.publish(one["routing_key"], value)
    elif "Ruby consumer" in case:
        program.delay(5, "job.one", value)


@pytest.mark.parametrize("record", vectors.records(), ids=lambda record: f"{record['published_by']}: {record['case']}")
def test_the_peer_sends_what_was_recorded(record: dict[str, Any], passed: Passed) -> None:
    wanted = steady(record)
    found = [one for one in passed.messages if steady(one) == wanted]
    near = [steady(one) for one in passed.messages if one["body"] == record["body"]]
    assert found, "\n".join([f"wanted {wanted}", *(f"seen   {one}" for one in near)])
    for one in found:
        assert all(abs(one["tapped_at"] - moment) < 30 for moment in times(one))


@pytest.mark.parametrize("layout", ["hutch", "event"])
def test_workkit_reads_all_that_was_recorded(layout: Dialect, passed: Passed) -> None:
    recorded = {steady(record) for record in vectors.records()}
    seen = set()
    for one in passed.messages:
        key = real_key(one)
        if one["exchange"] != "hutch" or key not in KEYS[layout] or steady(one) not in recorded:
            continue
        claim, value = passed.claimed[layout][one["properties"]["message_id"]], json.loads(one["body"])
        is_read = layout == "event" or isinstance(value, dict)
        assert (claim.fn, claim.attempt) == (key, 0)
        assert (claim.args, claim.trouble) == (((value,), None) if is_read else ((), "corrupt"))
        assert claim.due_ms == times(one)[-1] * 1000, "it is due when its delay ended"
        seen.add(key)
    assert seen == set(KEYS[layout])


def test_the_peer_rounds_and_names_as_was_recorded(recorder: RubyPeer) -> None:
    recorded = vectors.load("topology")
    for library, table in recorded["level_for_seconds"].items():
        mode = "event" if library == "event" else "hutch"
        found = {text: recorder.ask({"do": "level", "seconds": float(text), "mode": mode}) for text in table}
        assert found == table
    classes = recorded["queue_name_from_class"]
    assert {name: recorder.ask({"do": "queue", "class": name}) for name in classes} == classes
    waits = recorded["hutch_schedule_retry_wait"]["table"]
    for failures, (seconds, level) in waits.items():
        assert recorder.ask({"do": "wait", "failures": int(failures), "mode": "hutch"}) == seconds
        assert recorder.ask({"do": "level", "seconds": seconds, "mode": "hutch"}) == level


@pytest.mark.parametrize("reader", ["hutch", "hutch_schedule", "event"])
def test_the_peer_reads_and_refuses_the_bodies_that_the_library_does(
    reader: str, broker: Rabbit, recorder: RubyPeer
) -> None:
    """`hutch` says what it drops only; where it says nothing it handles the message, as hutch-schedule does."""
    url, key = f"{broker.url}messages", f"body.{reader.replace('_', '-')}"
    mode = "event" if reader == "event" else "hutch"
    program = recorder.open(key, mode, url, namespace="app", schedule=reader == "hutch_schedule")
    program.consume({"key": key} if mode == "event" else {"queue_name": key, "keys": [key]})
    cases = vectors.load("messages")["bodies_and_readers"]
    texts = [case.get(reader, case["hutch_schedule"]) for case in cases]
    handled = [case["body"] for case, said in zip(cases, texts, strict=True) if said.startswith("hand")]
    kept = sum("unacked" in said or "comes again" in said for said in texts)
    with connected(url) as channel:
        for case in cases:
            channel.basic_publish("hutch", key, case["body"].encode())  # no properties at all
    found = program.ran(len(handled))
    bodies = [one["body"] if mode == "event" else json.dumps(one["value"], ensure_ascii=False) for one in found]
    assert sorted(body.replace(": ", ":") for body in bodies) == sorted(handled)
    queue = f"app.{key}" if mode == "event" else f"app:{key}"

    def left() -> tuple[int, int]:
        columns = ("name", "messages_ready", "messages_unacknowledged")
        said = broker.control("list_queues", "-p", "messages", *columns, "--formatter", "json")
        (one,) = [one for one in json.loads(said) if one["name"] == queue]
        return one["messages_ready"], one["messages_unacknowledged"]

    until(lambda: left() == (0, kept), what=f"{kept} messages that stay unacknowledged")
    if kept:
        program.close()
        assert left() == (kept, 0), "they did not come again"


def test_no_file_is_long() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in SOURCE.glob("*.rb")}
    assert lengths
    assert max(lengths.values()) < 400, lengths


def test_the_source_compiles_without_a_warning() -> None:
    for path in SOURCE.glob("*.rb"):
        done = subprocess.run(["ruby", "-wc", str(path)], capture_output=True, text=True, check=True)
        assert done.stderr == ""


def test_ci_installs_the_client_of_the_peer() -> None:
    installed = (ROOT / ".ci" / "run").read_text().partition("missing() {")[2].partition("\n}")[0]
    assert "|| echo ruby-bunny" in installed
