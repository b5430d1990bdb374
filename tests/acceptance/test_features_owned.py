"""Names, unique keys, windows, limits and bounds of recurring jobs, with two listener processes on each schedule and,
where additions compete, two producer processes. What a crash does to them: `test_features_crash`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import chain

import pytest

from tests.acceptance import feature_jobs
from tests.acceptance.feature_jobs import RATE_APART, WAIT, Cast, doubled, most_at_once
from tests.processes import until
from tests.servers import Server, program
from workkit import schedule
from workkit.errors import WorkkitWarning

EACH = 30  # additions of each producer
NAMES = (
    "named",
    "upserts",
    "one",
    "one-after-the-other",
    "newest",
    "windows",
    "window",
    "limits",
    "wide",
    "rate",
    "bounds",
)


@pytest.fixture(scope="module")
def cast(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cast]:
    """Two listeners of two threads each: more than two runs at once are in both."""
    server = Server(program("valkey"), folder=tmp_path_factory.mktemp("valkey"), is_durable=False)
    with closing(server), closing(Cast(server, tmp_path_factory.mktemp("cast"))) as cast:
        server.start()
        fleet = cast.listeners(2, NAMES, threads=2)
        yield cast
        assert doubled(cast.story()) == []
        assert cast.lines("said dead", "said crashed", "said cannot_run") == []
        cast.stop(*fleet)


def test_what_is_replaced_runs_on_and_never_again(cast: Cast) -> None:
    s = cast.schedule("named")
    old = schedule.add(s, feature_jobs.hold, every="second", args=["old"], name="report", overlap="skip")
    cast.begun("old")
    with pytest.warns(WorkkitWarning, match=r"dropped its overlap=\."):
        new = schedule.add(s, feature_jobs.note, every="second", args=["new"], name="report")
    assert (new.replaced, schedule.job(s, "report").id) == (old.id, new.id)
    cast.begun("new", "new")
    assert cast.ends("old") == []
    cast.open("old")
    cast.done("old", "new", "new", "new")
    assert len(cast.starts("old")) == 1
    schedule.cancel(s, "report")
    cast.tidy(s)


def test_of_many_upserts_at_the_same_time_one_job_is_left(cast: Cast) -> None:
    s = cast.schedule("upserts")
    one, two = cast.produce(s, "note", EACH, in_="1 hour", name="report")
    (job,) = schedule.jobs(s)
    assert job.id in (one[-1]["id"], two[-1]["id"])
    assert all(line["new"] for line in one + two)
    assert {name.partition(":")[2]: len(found) for name, found in cast.left(s).items()} == {
        "names": 1,
        "jobs": 1,
        "next": 1,
    }
    schedule.cancel(s, "report")
    cast.tidy(s)


def test_under_a_unique_key_one_job_is_added(cast: Cast) -> None:
    s = cast.schedule("one")
    added = list(chain(*cast.produce(s, "hold", EACH, at="now", unique_key="only")))
    assert len({line["id"] for line in added}) == 1
    (first,) = (line["label"] for line in added if line["new"])
    cast.begun(first)
    cast.open(first)
    cast.done(first)
    cast.tidy(s)


def test_each_that_is_new_runs_and_never_two_of_a_key_at_once(cast: Cast) -> None:
    s = cast.schedule("one-after-the-other")
    added = list(chain(*cast.produce(s, "note", EACH, at="now", unique_key="only")))
    new = [line["label"] for line in added if line["new"]]
    cast.done(*new)
    assert sum(len(cast.starts(line["label"])) for line in added) == len(new)
    assert most_at_once(cast.story(*new)) == 1
    cast.tidy(s)


def test_the_newest_replaces_and_is_not_lost(cast: Cast) -> None:
    s = cast.schedule("newest")
    schedule.add_now(s, feature_jobs.hold, args=["newest-0"], unique_key="only")
    cast.begun("newest-0")
    added = list(chain(*cast.produce(s, "note", EACH, at="now", unique_key="only", on_conflict="replace")))
    labels = [line["label"] for line in added]
    with closing(cast.server.client()) as client:
        newest = client.hget(f"{s.name}:unique", "only").decode().partition(" ")[0]
    assert [line["label"] for line in added if cast.starts(line["label"])] == []
    cast.open("newest-0")
    cast.done("newest-0", next(line["label"] for line in added if line["id"] == newest))
    cast.tidy(s)
    assert most_at_once(cast.story("newest-0", *labels)) == 1


def test_of_a_window_the_first_runs_or_the_last(cast: Cast) -> None:
    s = cast.schedule("windows")
    one, two = cast.produce(s, "note", EACH, at="now", unique_key="last", debounce="2s")
    assert len(list(schedule.jobs(s))) == 1
    first = cast.schedule("window")
    added = list(chain(*cast.produce(first, "note", EACH, at="now", unique_key="first", throttle="1 hour")))
    (label,) = (line["label"] for line in added if line["new"])
    assert len({line["id"] for line in added}) == 1
    cast.done(label)
    assert [line["label"] for line in added if cast.starts(line["label"])] == [label]
    last = {one[-1]["label"], two[-1]["label"]}
    until(lambda: any(cast.ends(label) for label in last), what="the last of a window", timeout=WAIT)
    (ran,) = (line["label"] for line in one + two if cast.starts(line["label"]))
    assert ran in last
    cast.tidy(s)
    cast.tidy(first)


def test_limits_hold_over_all_listeners(cast: Cast) -> None:
    s, wide = cast.schedule("limits"), cast.schedule("wide", limit=3)
    cast.open("few", "of")
    schedule.add_many(wide, [{"fn": feature_jobs.note, "at": "now", "args": ["wide", 0.05]}] * 20)
    schedule.add_many(s, [{"fn": feature_jobs.limited, "at": "now", "args": ["few", 0.05]}] * 10)
    rows = [{"fn": feature_jobs.limited_by, "at": "now", "args": ["of", customer, 0.05]} for customer in ("a", "b") * 6]
    schedule.add_many(s, rows)
    cast.done(*["wide"] * 20, *["few"] * 10, *["of-a"] * 6, *["of-b"] * 6)
    most = {label: most_at_once(cast.story(label)) for label in ("wide", "few", "of-a", "of-b")}
    assert most == {"wide": 3, "few": 2, "of-a": 1, "of-b": 1}
    assert len({line["listener"] for line in cast.starts("wide")}) == 2
    cast.tidy(s)
    cast.tidy(wide)


def test_turns_of_a_rate_are_shared(cast: Cast) -> None:
    s, number = cast.schedule("rate"), 8
    began = time.time()
    for _ in range(number):
        schedule.add_now(s, feature_jobs.rated, args=["rated"])
    cast.done(*["rated"] * number)
    early = [n for n, line in enumerate(cast.starts("rated")) if line["at"] < began + n * RATE_APART]
    assert early == []
    cast.tidy(s)


def test_count_and_end(cast: Cast) -> None:
    s = cast.schedule("bounds")
    end = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=4)
    jobs = [
        schedule.add(s, feature_jobs.note, every="second", args=["count", 0.2], count=3),
        schedule.add(s, feature_jobs.note, every="second", args=["end", 0.2], end=end, catch_up="all"),
    ]
    last = (end.timestamp() - 1) * 1000

    def is_over() -> bool:  # a job that is just being claimed is in no list
        ran = cast.starts("end")
        return len(cast.starts("count")) >= 3 and bool(ran) and ran[-1]["due"] >= last and not list(schedule.jobs(s))

    until(is_over, what="the end of both", timeout=WAIT)
    dues = {label: [line["due"] for line in cast.starts(label)] for label in ("count", "end")}
    assert len(dues["count"]) == len(set(dues["count"])) == 3
    assert dues["end"] == sorted(set(dues["end"]))
    assert dues["end"][-1] == last
    assert [one.new for one in jobs] == [True, True]
    cast.tidy(s)
