"""Recordings of Go's client, web page and pauses, done by our administration. Where ours differs on purpose, the test
says so; section 10 of spec/layouts/gocraft.md lists the differences.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.brokers.gocraft import vectors
from tests.brokers.gocraft.serving.fleet import Namespace, end
from tests.brokers.gocraft.serving.recordings import dumped, enqueue, recorded, without_limits
from workkit.contract.admin import Paused, Resumed
from workkit.errors import NotFound
from workkit.jobs.admission import Pause
from workkit.jobs.job import Job
from workkit.jobs.outcome import Done
from workkit.verbs.dead import discard_dead, retry_dead

Dump = dict[str, Any]


def as_values(dump: Dump) -> Dump:
    """A dump with job texts as values: Go writes a moved text in another order."""

    def value(text: Any) -> Any:
        if not isinstance(text, str) or not text.startswith("{"):
            return text
        quoted = text.replace('"id",', "").replace('"t",', "").replace(',"t"', "").replace('"failed_at",', "")
        return json.dumps(json.loads(quoted.replace(',"failed_at"', "").replace(',"id"', "")), sort_keys=True)

    return {key: [*map(value, one)] if isinstance(one, list) else value(one) for key, one in dump.items()}


class Administrator:
    """Does on our side what Go's client is asked for. `ids`: of what was enqueued here, by the ids of the recording."""

    def __init__(self, ns: Namespace) -> None:
        self.ns, self.look, self.admin = ns, ns.producer.inspector, ns.producer.admin
        self.ids: dict[str, str] = {}

    def do(self, call: Mapping[str, Any], returned: Any) -> None:
        id = self.ids.get(call.get("id", ""), call.get("id", ""))
        match call["op"]:
            case "enqueue":
                self.ids[returned["id"]] = enqueue(self.ns, call)
            case "retry_dead_job":
                assert retry_dead(self.admin, [self.dead(id)], args=None, rate=None, one=True) == 1
            case "delete_dead_job":
                assert discard_dead(self.admin, [self.dead(id)]) == 1
            case "delete_retry_job" | "delete_scheduled_job":
                assert self.admin.cancel(self.look.job(id)).id == id
            case "retry_all_dead_jobs":
                retry_dead(self.admin, list(self.look.jobs(state="dead")), args=None, rate=None, one=False)
            case "delete_all_dead_jobs":
                discard_dead(self.admin, list(self.look.jobs(state="dead")))
            case "scheduled_jobs" | "retry_jobs" | "dead_jobs" as which:
                self.compare(which, call["page"], returned)

    def dead(self, id: str) -> Job:
        found = [job for job in self.look.jobs(state="dead") if job.id == id]
        if not found:
            raise NotFound("nothing there")
        return found[0]

    def compare(self, which: str, page: int, returned: list[Mapping[str, Any]]) -> None:
        """Compare a page of Go's lists with ours: the same jobs, with the same times, errors and failures."""
        states: Any = {"scheduled_jobs": "waiting", "retry_jobs": "retrying", "dead_jobs": "dead"}
        found = list(self.look.jobs(state=states[which]))
        ours = found[::-1] if which == "dead_jobs" else found  # ours begin with the last that died
        here = ours[20 * (max(page, 1) - 1) :][:20]
        assert [job.id for job in here] == [self.ids.get(job["id"], job["id"]) for job in returned]
        for job, theirs in zip(here, returned, strict=True):
            assert (job.fn, job.kwargs, job.error) == (theirs["name"], theirs["args"], theirs.get("err"))
            at = theirs.get("retry_at") or theirs.get("died_at")
            assert at is None or (job.due is not None and job.due.timestamp() == at)
            assert job.attempt == theirs.get("fails", 0) - (which == "dead_jobs")


def raw(ns: Namespace, command: list[Any]) -> None:
    ns.raw.execute_command(*(str(part).replace("gv:", ns.keys.prefix) for part in command))


def with_our_ways(dump: Dump, *, is_retried: bool, has_freed: bool) -> Dump:
    """What a dump of `client` is, done our way: a job of an unknown name goes into its queue, and becomes known; a
    cancelled job frees its key, by key too.
    """
    here = as_values(dump)
    if is_retried and "gone_job" not in here["known_jobs"]:
        here["known_jobs"] = sorted([*here["known_jobs"], "gone_job"])
        here["jobs:gone_job"] = ['{"args": null, "name": "gone_job"}']
        if rest := [text for text in here.pop("dead", []) if "gone_job" not in text]:
            here["dead"] = rest
    if has_freed:
        here = {key: value for key, value in here.items() if not key.startswith("unique:")}
    return here


def test_the_client_is_done_by_our_administration(ns: Namespace) -> None:
    (recording,) = vectors.recordings("client")
    us, dumps, is_retried, has_freed = Administrator(ns), 0, False, False
    for step in recording["steps"]:
        if "redis" in step:
            raw(ns, step["redis"])
        elif "call" in step:
            is_retried = is_retried or step["step"] == "retry one dead of an unknown name"
            has_freed = has_freed or step["step"] == "delete the by-key scheduled job"
            if "error" in step and not step["step"].endswith("of an unknown name"):
                with pytest.raises(NotFound):
                    us.do(step["call"], step["returned"])
            else:
                us.do(step["call"], step["returned"])
        if "dump" in step:
            expected = with_our_ways(recorded(step["dump"]), is_retried=is_retried, has_freed=has_freed)
            assert as_values(dumped(ns)) == expected, step["step"]
            dumps += 1
    assert dumps == 9
    assert (is_retried, has_freed) == (True, True)


def test_the_web_page_is_done_by_our_administration(ns: Namespace) -> None:
    (recording,) = vectors.recordings("webui")
    us, pool, dumps = Administrator(ns), None, 0
    for step in recording["steps"]:
        if "redis" in step:
            raw(ns, step["redis"])
        elif "call" in step and step["call"]["op"] == "enqueue":
            us.do(step["call"], step["returned"])
        elif "call" in step and step["call"]["op"] == "start":
            pool = ns.pool("export", "send_email", limits={"export": 1})
            assert len(pool.claim(1).claims) == 1
        elif "http" in step and step["http"]["status"] in (200, 500):
            path, _, query = step["http"]["path"].strip("/").partition("?")
            verb, *of = path.split("/")
            page = query.removeprefix("page=") or "1"
            call = {
                "op": verb,
                "id": of[-1] if of else "",
                "page": int(page) if page.isdigit() else 1,
            }
            if step["http"]["status"] == 200:
                body = json.loads(step["http"]["body"])
                us.do(call, body.get("jobs") if isinstance(body, dict) else body)
            elif step["http"]["method"] == "POST":
                with pytest.raises(NotFound):
                    us.do(call, None)
        if "dump" in step:
            assert as_values(without_limits(dumped(ns))) == as_values(without_limits(recorded(step["dump"])))
            dumps += 1
    assert pool is not None
    assert dumps == 3
    counts = us.look.counts()  # with an unreadable text in one queue, Go's page of queues is an error
    assert (counts.paused, counts.running, counts.dead, counts.listeners) == (1, 1, 0, 1)
    assert {job.fn for job in us.look.jobs()} == {"export"}


def test_a_name_is_paused_and_resumed_with_the_bytes_of_go(ns: Namespace) -> None:
    (recording,) = vectors.recordings("paused")
    us, pool = Administrator(ns), None
    for step in recording["steps"]:
        if step["step"] == "pause":
            us.admin.steer(Paused("fn:export", Pause()))
        elif step["step"] == "enqueue":
            us.do(step["call"], step["returned"])
        elif step["step"] == "start the pool":
            pool = ns.pool("export")
            assert not pool.claim(5).claims
        elif step["step"] == "unpause":
            assert us.admin.steer(Resumed("fn:export"))
            assert not us.admin.steer(Resumed("fn:export"))
            assert pool is not None
            end(pool, pool.claim(5).claims, Done())
        elif step["step"] == "stop":
            assert pool is not None
            pool.leave()
        if "dump" in step:
            ours, theirs = dumped(ns), without_limits(recorded(step["dump"]))
            if step["step"] == "stopped":
                assert theirs.pop("jobs:export:lock_info") == ["0"], "a clean stop of ours takes its own field away"
            assert ours == theirs, step["step"]
