"""The index of tags and lasting keys, on real servers: after every step they agree with payloads and dead set."""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import sha1
from random import Random
from typing import Any

import msgpack
import pytest

from tests.brokers.additions import FAR_MS, broker, changed, daily, listening, named, once, put
from tests.brokers.test_native_session import FAILURE
from tests.servers import Server
from workkit import schedule
from workkit.brokers.native.broker import NativeBroker
from workkit.brokers.native.look.tagged import DEEPEST, LIVE, OF_TAG, digest_of, entries, find_tagged, name_of
from workkit.contract.admin import At, Undo
from workkit.contract.producer import Added, NewJob
from workkit.contract.where import Has, JobQuery, Term, Where
from workkit.errors import ChangedMeanwhile, NotFound
from workkit.jobs.job import Job
from workkit.jobs.outcome import Again, Dead, Done
from workkit.jobs.terms import Terms

pytestmark = pytest.mark.usefixtures("closed_brokers")
MANY = 300  # jobs of one tag: more than fit into one node


def expected(client: Any, name: str) -> set[tuple[str, str]]:
    """The digest of each tag with the job, or the dead occurrence, that has it."""
    payloads = {id.decode(): payload for id, payload in client.hgetall(f"{name}:jobs").items()}
    for dead_id, packed in client.hgetall(f"{name}:graves").items():
        payloads[dead_id.decode()] = msgpack.unpackb(packed)["payload"]
    tags = {id: json.loads(payload).get("opts", {}).get("tags", []) for id, payload in payloads.items()}
    return {(digest_of(tag), id) for id, some in tags.items() for tag in some}


def indexed(client: Any, name: str) -> set[tuple[str, str]]:
    """What the index says, each entry once, in the node of its path; and no node without a use."""
    nodes = {field.decode(): value for field, value in client.hgetall(f"{name}:tags").items()}
    found = [(node, entry) for node, value in nodes.items() for entry in entries(value)]
    assert sum(1 + len(entry) for _, entry in found) == sum(map(len, nodes.values()))
    for node, entry in found:
        assert entry[: DEEPEST // 2].hex().startswith(node)
        assert len(node) >= OF_TAG or entry[: DEEPEST // 2].hex()[:OF_TAG] not in nodes
        assert all(nodes[node[:depth]] == b"" for depth in range(OF_TAG if len(node) >= OF_TAG else 0, len(node)))
    for node, value in nodes.items():
        assert value or (
            len(node) < DEEPEST and any(other.startswith(node) and len(other) > len(node) for other in nodes)
        )
    pairs = [(entry[: DEEPEST // 2].hex()[:OF_TAG], name_of(entry).decode()) for _, entry in found]
    assert len(pairs) == len(set(pairs))
    return set(pairs)


def is_true(client: Any, name: str) -> bool:
    """Whether the index says what the payloads and the dead set say."""
    return indexed(client, name) == expected(client, name)


def tagged(b: NativeBroker, tag: str, **how: Any) -> list[Job]:
    where = Where(terms=(Term(field="tag", test=Has(texts=(tag,), whole=True)),))
    found = [job for job in b.inspector.jobs(tagged=where.tagged, **how) if tag in job.tags]
    page = b.inspector.page(JobQuery(where=where, state=how.get("state"), limit=1000, budget_ms=60_000))
    assert sorted(job.id for job in page.jobs) == sorted(job.id for job in found)
    return found


def with_tags(*tags: str, **terms: Any) -> Terms:
    return Terms(tags=tags, **terms)


def claimed(b: NativeBroker, outcome: Any) -> None:
    (claim,) = b.admit([(claim, None) for claim in b.claim(1).claims]).claims
    b.claim(0, ends=[(claim, outcome)])


def test_a_job_without_tags_writes_no_index(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    put(b, once(1, terms=named("n")))
    assert server.client().exists(f"{name}:tags") == 0


def test_a_job_is_found_by_each_of_its_tags_until_it_ends(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    first = put(b, once(1, terms=with_tags("user:7", "invoice"), due_ms=1))
    second = put(b, once(2, terms=with_tags("user:8", "invoice")))
    put(b, once(3, terms=Terms()))
    assert [job.id for job in tagged(b, "user:7")] == [first.id]
    assert [job.id for job in tagged(b, "invoice")] == [first.id, second.id]
    assert tagged(b, "nobody") == []
    assert tagged(b, "user:7", state="dead") == []
    assert is_true(server.client(), name)
    claimed(b, Done())
    assert [job.id for job in tagged(b, "invoice")] == [second.id]
    b.admin.cancel(b.inspector.job(second.id))
    assert server.client().exists(f"{name}:tags") == 0


def test_a_tag_with_many_jobs_divides_its_node_and_leaves_nothing_behind(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    jobs = [once(n, terms=with_tags("all", f"of:{n % 100}")) for n in range(MANY)]
    added = b.adding(jobs)()
    client = server.client()
    assert is_true(client, name)
    assert client.hlen(f"{name}:tags") > 20
    assert {job.id for job in tagged(b, "all")} == {one.id for one in added}
    assert len(tagged(b, "of:7")) == MANY // 100
    assert max(map(len, client.hvals(f"{name}:tags"))) <= 760
    for one in added:
        b.admin.cancel(b.inspector.job(one.id))
    assert client.exists(f"{name}:tags") == 0


def test_many_dead_runs_of_one_job_divide_its_node_too(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    job = put(b, changed(daily(1, terms=with_tags("t")), due_ms=1))
    client = server.client()
    for n in range(100):
        client.zadd(f"{name}:next", {b'{"id":"%s"}' % job.id.encode(): 1000 + n})
        claimed(b, Dead(failure=FAILURE))
    assert is_true(client, name)
    found = tagged(b, "t")
    assert [one.state for one in found].count("dead") == 100
    assert {one.id for one in found} == {job.id}
    assert b.admin.discard(list(b.inspector.jobs(state="dead"))) == 100
    assert is_true(client, name)
    assert [one.state for one in tagged(b, "t")] == ["waiting"]


def test_the_jobs_of_a_tag_are_found_in_every_state(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    s = schedule.create(name, redis=server.url)
    dead = put(b, once("dead", terms=with_tags("t"), due_ms=1))
    claimed(b, Dead(failure=FAILURE))
    retrying = put(b, once("again", terms=with_tags("t"), due_ms=1))
    claimed(b, Again(delay_ms=600_000, attempt=1, failure=FAILURE))
    paused = put(b, once("paused", terms=with_tags("t", name="p")))
    schedule.pause(s, "p")
    running = put(b, once("running", terms=with_tags("t"), due_ms=1))
    b.claim(1)
    waiting = put(b, once("waiting", terms=with_tags("t")))
    put(b, once("another", terms=with_tags("u")))
    states = {
        running.id: "running",
        waiting.id: "waiting",
        paused.id: "paused",
        retrying.id: "retrying",
        dead.id: "dead",
    }
    assert {job.id: job.state for job in tagged(b, "t")} == states
    for id, state in states.items():
        assert [job.id for job in tagged(b, "t", state=state)] == [id]
    assert is_true(server.client(), name)


def test_a_job_under_the_text_of_a_foreign_peer_is_found_too(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    foreign, lost = (put(b, once(n, terms=with_tags("t"))) for n in range(2))
    client = server.client()
    client.delete(f"{name}:next")
    client.zadd(f"{name}:next", {f'{{ "id" : "{foreign.id}" }}': FAR_MS})
    found = {job.id: job.due for job in tagged(b, "t")}
    assert found.keys() == {foreign.id, lost.id}
    assert found[foreign.id] is not None
    assert found[lost.id] is None


def test_a_page_of_a_tag_begins_behind_the_last_job_of_the_page_before(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    added = [put(b, once(n, terms=with_tags("t"), due_ms=FAR_MS + 1000 * n)).id for n in range(5)]
    put(b, once(9, terms=with_tags("u")))
    where = Where(terms=(Term(field="tag", test=Has(texts=("t",), whole=True)),))
    first = b.inspector.page(JobQuery(where=where, limit=3))
    assert [job.id for job in first.jobs] == added[:3]
    rest = b.inspector.page(JobQuery(where=where, limit=3, after=first.after))
    assert ([job.id for job in rest.jobs], rest.after) == (added[3:], None)
    assert first.looked + rest.looked == 5


def test_a_job_that_a_foreign_peer_has_run_is_passed_over_and_forgotten_in_time(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    client = server.client()
    for n in range(200):
        one = put(b, once(n, terms=with_tags("t")))
        if n:  # a peer that does not know tags
            client.hdel(f"{name}:jobs", one.id)
            client.zrem(f"{name}:next", b'{"id":"%s"}' % one.id.encode())
    assert len(tagged(b, "t")) == 1
    assert 1 <= len(indexed(client, name)) <= 30


def test_a_change_of_the_time_keeps_the_tags(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    put(b, once(1, terms=with_tags("t")))
    (before,) = tagged(b, "t")
    (after,) = b.admin.reschedule([before], At(trigger=before.trigger and changed_time(before), due_ms=FAR_MS + 60_000))
    assert [job.id for job in tagged(b, "t")] == [after.id] != [before.id]
    assert is_true(server.client(), name)


def changed_time(job: Job) -> Any:
    return once(1, terms=Terms(), due_ms=FAR_MS + 60_000).trigger


def test_an_undone_cancellation_puts_the_tags_back_even_of_the_only_job(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    put(b, once(1, terms=with_tags("t")))
    undos: list[Undo] = []
    admin = b.admin.by(None, undos=undos)
    admin.cancel(tagged(b, "t")[0])
    assert tagged(b, "t") == []
    admin.steer(undos[0])
    assert len(tagged(b, "t")) == 1
    assert is_true(server.client(), name)


def test_a_retry_with_other_arguments_keeps_the_tags(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    put(b, once(1, terms=with_tags("t"), due_ms=1))
    claimed(b, Dead(failure=FAILURE))
    assert b.admin.retry(tagged(b, "t"), args=[2]) == ["revived"]
    ((job),) = tagged(b, "t")
    assert (job.args, job.state) == ((2,), "due")
    assert is_true(server.client(), name)


def test_an_index_of_another_type_stops_nothing(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    client = server.client()
    client.set(f"{name}:tags", "x")
    put(b, once(1, terms=with_tags("t"), due_ms=1))
    claimed(b, Dead(failure=FAILURE))
    assert b.admin.retry(list(b.inspector.jobs(state="dead"))) == ["revived"]
    claimed(b, Done())
    assert client.hlen(f"{name}:jobs") == 0
    assert client.get(f"{name}:tags") == b"x"


def test_an_old_dead_job_leaves_the_index_with_the_dead_set(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    for n in range(2):
        put(b, once(n, terms=with_tags("t"), due_ms=1))
        claimed(b, Dead(failure=FAILURE))
    client = server.client()
    old = client.zrange(f"{name}:dead", 0, 0)[0]
    client.zadd(f"{name}:dead", {old: 1})
    b.beating()()
    assert [job.args for job in tagged(b, "t")] == [(1,)]
    assert is_true(client, name)


def test_a_plain_job_costs_the_server_the_same_beside_jobs_with_tags(server: Server, name: str) -> None:
    spent = []
    for tags in (None, ("t",)):
        b, _ = listening(server, f"{name}-{tags}")
        put(b, once(0, terms=Terms(tags=tags)))
        client = server.client()
        before = commands(client)
        for n in range(3):
            put(b, once(n, terms=Terms(), due_ms=None))
        claims = b.claim(3).claims
        b.claim(0, ends=[(claim, Done()) for claim in claims])
        spent.append(commands(client) - before)
    assert len(claims) == 3
    assert spent[0] == spent[1]


def test_the_jobs_of_a_tag_are_listed_at_the_same_cost_beside_any_number_of_others(server: Server, name: str) -> None:
    spent = []
    for others in (10, 2000):
        b, _ = broker(server, f"{name}-{others}")
        for n in range(20):
            put(b, once(n, terms=with_tags("user:7", "all")))
        for start in range(0, others, 1000):
            more = range(start, min(others, start + 1000))
            b.adding([once("other", n, terms=with_tags(f"user:{n}x", "all")) for n in more])()
        client = server.client()
        before = commands(client)
        assert len(list(b.inspector.jobs(tagged=("user:7",)))) == 20
        spent.append(commands(client) - before)
    assert spent[0] == spent[1]


def commands(client: Any) -> int:
    """How many commands the server has executed, those of scripts too, but for questions about it."""
    stats = client.info("commandstats")
    return sum(
        one["calls"] for verb, one in stats.items() if verb not in ("cmdstat_info", "cmdstat_ping", "cmdstat_time")
    )


@pytest.mark.parametrize("kind", ["shared", "own", "few"])
def test_a_tag_of_a_job_takes_at_most_80_bytes(server: Server, name: str, kind: str) -> None:
    b, _ = broker(server, name)
    count = 200 if kind == "few" else 4000

    def tags(n: int) -> tuple[str, ...]:
        return ("invoice", f"user:{n // 20}") if kind == "shared" else (f"order:{n}:".ljust(64, "x"),)

    for start in range(0, count, 1000):
        b.adding([once(n, terms=with_tags(*tags(n))) for n in range(start, min(count, start + 1000))])()
    used = server.client().memory_usage(f"{name}:tags", samples=0)
    assert used / (count * len(tags(0))) <= 80


def test_a_parked_job_is_cancelled_without_a_search_of_the_queue(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    s = schedule.create(name, redis=server.url)
    job = put(b, once(1, terms=with_tags("t", name="n")))
    schedule.pause(s, "n")
    client = server.client()
    client.zadd(f"{name}:next", {f"{n}": FAR_MS for n in range(5000)})
    before = searches(client)
    b.admin.cancel(b.inspector.job(job.id))
    assert searches(client) - before <= 3  # of S:waiting
    assert is_true(client, name)


def searches(client: Any) -> int:
    return int(client.info("commandstats").get("cmdstat_zscan", {"calls": 0})["calls"])


# Every step, by chance.

TAGS = ("user:1", "user:2", "a tag", "größe")
STEPS = (
    "add", "add", "add", "name", "unique", "daily", "done", "done", "dead", "again", "discard", "cancel", "undo",
    "retry", "bury", "forget", "move", "lose",
)  # fmt: skip


class Life:
    """A schedule on which one step after another happens."""

    def __init__(self, server: Server, name: str) -> None:
        self.client, self.name = server.client(), name
        self.b, _ = listening(server, name)
        self.undos: list[Undo] = []
        self.admin = self.b.admin.by(None, undos=self.undos)

    def take(self, step: str, n: int) -> None:
        terms = Terms(tags=tuple(tag for k, tag in enumerate(TAGS) if n >> k & 1) or None)
        due_ms = 1 if n & 16 else FAR_MS
        new: NewJob | None = None
        match step:
            case "add":
                new = once(n % 7, terms=terms, due_ms=due_ms)
            case "name":
                new = once(n % 7, terms=changed_terms(terms, name=f"n{n % 3}"), due_ms=due_ms)
            case "unique":
                new = once(n % 7, terms=changed_terms(terms, unique_key=f"k{n % 3}"), due_ms=due_ms, replace=True)
            case "daily":
                new = changed(daily(n % 3, terms=changed_terms(terms, count=1 + n % 2)), due_ms=due_ms)
            case "done":
                self.end(Done())
            case "dead" | "bury":
                self.end(Dead(failure=FAILURE))
            case "again":
                self.end(Again(delay_ms=0, attempt=1, failure=FAILURE))
            case "discard":
                self.end(Done(discarded="enough"))
            case "undo" if self.undos:
                with suppress(ChangedMeanwhile):
                    self.admin.steer(self.undos.pop())
            case "cancel" | "move":
                self.change(step, n)
            case "retry" | "forget":
                dead = list(self.b.inspector.jobs(state="dead"))[: 1 + n % 2]
                if step == "retry":
                    self.admin.retry(dead, args=[n % 7] if n & 32 else None)
                else:
                    self.admin.discard(dead)
            case "lose":
                for finding in self.b.doctor.checkup(patience_ms=0):
                    self.b.doctor.repair(finding)
        if new is not None:
            put(self.b, new)

    def end(self, outcome: Any) -> None:
        for claim in self.b.admit([(claim, None) for claim in self.b.claim(1).claims]).claims:
            self.b.claim(0, ends=[(claim, outcome)])

    def change(self, step: str, n: int) -> None:
        jobs = [job for job in self.b.inspector.jobs() if job.state in ("waiting", "due")]
        if not jobs:
            return
        job = jobs[n % len(jobs)]
        with suppress(NotFound):
            if step == "cancel":
                self.admin.cancel(job)
            elif job.trigger is not None and not job.trigger.recurs:
                moved = once(1, terms=Terms(), due_ms=FAR_MS + 1000 * n)
                self.admin.reschedule([job], At(trigger=moved.trigger, due_ms=moved.due_ms))


def changed_terms(terms: Terms, **more: Any) -> Terms:
    return Terms(tags=terms.tags, **more)


@pytest.mark.parametrize("seed", range(3))
def test_after_every_step_the_index_says_what_the_payloads_and_the_dead_set_say(
    server: Server, name: str, seed: int
) -> None:
    random, client, life = Random(seed), server.client(), Life(server, name)
    taken: list[tuple[str, int]] = []
    for _ in range(250):
        taken.append((random.choice(STEPS), random.randrange(64)))
        life.take(*taken[-1])
        assert indexed(client, name) == expected(client, name), taken[-8:]
    for tag in TAGS:
        assert all(tag in job.tags for job in tagged(life.b, tag))
    life.b.leave()


# Lasting keys.

DAYS_90 = 90 * 86_400_000


def pay(*args: Any, key: str = "pay:1", due_ms: int | None = 1, **terms: Any) -> NewJob:
    return once(*args, terms=Terms(once_key=key, **terms), due_ms=due_ms, once_for_ms=DAYS_90)


def now_ms(client: Any) -> int:
    seconds, micros = client.time()
    return int(seconds) * 1000 + int(micros) // 1000


def again(b: NativeBroker, key: str = "pay:1") -> Added:
    return put(b, pay("second", key=key, due_ms=FAR_MS))


@pytest.mark.parametrize(
    ("outcome", "ended"),
    [
        (Done(), "done"), (Dead(failure=FAILURE), "dead"), (Done(discarded="no"), "discarded"),
        (Done(expired=True), "expired"), (Done(discarded="cancelled, OSError"), "cancelled"),
    ],
)  # fmt: skip
def test_a_second_addition_returns_the_first_job_and_how_it_ended(
    server: Server, name: str, outcome: Any, ended: str
) -> None:
    b, _ = listening(server, name)
    first = put(b, pay("first"))
    second = again(b)
    assert (first.new, second.new, second.id, second.due_ms, second.ended) == (True, False, first.id, 1, None)
    client = server.client()
    before_ms = now_ms(client)
    claimed(b, outcome)
    third = again(b)
    assert (third.new, third.id, third.due_ms, third.ended, third.replaced) == (False, first.id, None, ended, None)
    assert third.ended_ms is not None
    assert before_ms <= third.ended_ms <= now_ms(client)
    assert put(b, pay("other", key="pay:2", due_ms=FAR_MS)).new
    assert client.hlen(f"{name}:jobs") == 1
    assert abs(client.zscore(f"{name}:windows", "once\0pay:1") - before_ms - DAYS_90) < 60_000


def test_a_lasting_key_ends_with_its_window_and_not_before(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    first = put(b, pay("first"))
    claimed(b, Done())
    client = server.client()
    client.zadd(f"{name}:windows", {f"w{n}": 1 for n in range(300)})  # windows of others, all over
    put(b, once("other", terms=Terms(tags=("x",))))
    assert again(b).id == first.id
    client.zadd(f"{name}:windows", {"once\0pay:1": b.now_ms() - 1})
    assert again(b).new


def test_a_dead_job_that_is_retried_lives_again_under_its_key(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    first = put(b, pay("first"))
    claimed(b, Dead(failure=FAILURE))
    (dead,) = b.inspector.jobs(state="dead")
    assert b.admin.retry([dead]) == ["revived"]
    assert (again(b).id, again(b).ended) == (first.id, None)
    claimed(b, Dead(failure=FAILURE))
    (dead,) = b.inspector.jobs(state="dead")
    b.admin.retry([dead], args=["other"])
    moved = again(b)
    assert (moved.new, moved.id == first.id, moved.ended) == (False, False, None)
    claimed(b, Done())
    assert (again(b).id, again(b).ended) == (moved.id, "done")


def test_a_forgotten_dead_job_still_holds_its_key(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    put(b, pay("first"))
    claimed(b, Dead(failure=FAILURE))
    b.admin.discard(list(b.inspector.jobs(state="dead")))
    assert again(b).ended == "dead"


def test_a_cancelled_job_holds_its_key_until_somebody_undoes_it(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    first = put(b, pay("first", due_ms=FAR_MS))
    undos: list[Undo] = []
    admin = b.admin.by(None, undos=undos)
    admin.cancel(b.inspector.job(first.id))
    assert again(b).ended == "cancelled"
    admin.steer(undos[0])
    assert (again(b).id, again(b).ended) == (first.id, None)


def test_a_job_with_another_time_keeps_its_key_under_its_new_id(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    first = put(b, pay("first", due_ms=FAR_MS))
    job = b.inspector.job(first.id)
    (moved,) = b.admin.reschedule([job], At(trigger=changed_time(job), due_ms=FAR_MS + 60_000))
    found = again(b)
    assert (found.new, found.id, found.due_ms, found.ended) == (False, moved.id, FAR_MS + 60_000, None)


def test_a_payload_that_another_program_has_removed_ended_in_a_way_that_is_not_known(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    first = put(b, pay("first", due_ms=FAR_MS))
    server.client().delete(f"{name}:jobs", f"{name}:next")
    second = again(b)
    assert (second.new, second.id, second.ended, second.ended_ms) == (False, first.id, "unknown", None)


def test_a_window_and_a_lasting_key_of_one_text_are_two(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    first = put(b, once(1, terms=Terms(unique_key="pay:1"), throttle_ms=60_000, window_key="pay:1"))
    second = put(b, pay("first", due_ms=FAR_MS))
    assert (first.new, second.new) == (True, True)


def test_a_repeated_request_gets_the_answer_of_the_first(server: Server, name: str) -> None:
    b, losing = broker(server, name)
    first = put(b, pay("first", due_ms=FAR_MS))
    losing.lose_next()
    second = again(b)
    assert (second.new, second.id) == (False, first.id)


def test_a_plain_id_is_the_20_bytes_of_its_entry(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    added = put(b, once(1, terms=with_tags("t")))
    (value,) = server.client().hvals(f"{name}:tags")
    assert value == bytes([LIVE]) + sha1(b"t").digest()[:8] + bytes.fromhex(added.id)
    found = find_tagged(b.inspector.server, b.inspector.keys, ["t"], most=1)
    assert found is not None
    assert sorted(found.ids) == [added.id]
    assert not found.dead
    assert find_tagged(b.inspector.server, b.inspector.keys, ["t"], most=0) is None


# The doctor.


def looked(b: NativeBroker) -> list[Any]:
    return [finding for finding in b.doctor.checkup(patience_ms=86_400_000) if "tag" in finding.kind]


def repaired(b: NativeBroker) -> list[str]:
    found = looked(b)
    for finding in found:
        b.doctor.repair(finding)
    assert looked(b) == []
    return [finding.kind for finding in found]


def test_the_doctor_removes_what_the_index_names_and_nobody_has(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    gone, stays = (put(b, once(n, terms=with_tags("t", "u"))) for n in range(2))
    dead = put(b, once(2, terms=with_tags("t"), due_ms=1))
    claimed(b, Dead(failure=FAILURE))
    client = server.client()
    assert looked(b) == []
    client.hdel(f"{name}:jobs", gone.id)
    client.zrem(f"{name}:next", b'{"id":"%s"}' % gone.id.encode())
    client.delete(f"{name}:graves", f"{name}:dead")
    (finding,) = looked(b)
    assert finding.what.startswith(f"{name}:tags names 3 jobs (")
    assert finding.what.endswith(") that are gone, or have no such tag")
    assert {gone.id, dead.id} == {text[:40] for text in finding.about}
    assert repaired(b) == ["stray-tag"]
    assert [job.id for job in tagged(b, "t")] == [stays.id]
    assert is_true(client, name)


def test_the_doctor_adds_what_the_index_does_not_name(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    for n in range(3):
        put(b, once(n, terms=with_tags("t", "u"), due_ms=1 if n == 0 else FAR_MS))
    claimed(b, Dead(failure=FAILURE))
    client = server.client()
    client.delete(f"{name}:tags")
    assert tagged(b, "t") == []
    dead, jobs = looked(b)
    assert dead.what.startswith(f"{name}:tags does not name 1 job (")
    assert jobs.what.startswith(f"{name}:tags does not name 2 jobs (")
    assert repaired(b) == ["untagged", "untagged"]
    assert len(tagged(b, "t")) == 3
    assert is_true(client, name)


@pytest.mark.parametrize("count", [3, 200])
def test_the_doctor_corrects_in_one_round_what_another_program_wrote_into_the_index(
    server: Server, name: str, count: int
) -> None:
    b, _ = listening(server, name)
    for n in range(count):
        put(b, once(n, terms=with_tags("t", f"u{n % 9}")))
    client, digits = server.client(), digest_of("t")
    client.hset(f"{name}:tags", mapping={"zz": "", "x": b"\x1cshort", digits[:5]: bytes([LIVE]) + b"?" * LIVE})
    client.hset(f"{name}:tags", digits + "f" * 4, "")
    node = min(client.hkeys(f"{name}:tags"), key=lambda node: (node == b"", -len(node)))
    client.hset(f"{name}:tags", node, b"\0\1\2" + (client.hget(f"{name}:tags", node) or b""))
    repaired(b)
    assert is_true(client, name)
    assert len(tagged(b, "t")) == count
