"""Calls that type checkers accept, with the types that they see."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, assert_type

from workkit import Job, aio, call, current_job, schedule
from workkit.contract.producer import Tally
from workkit.verbs.calling import JobFunction, TimedCall

s = schedule.create("app-tasks")


@dataclass
class Report:
    rows: int


@s.job(retries=5, timeout="2m", keep="1 day")
def export(day: date, *, full: bool = False) -> Report:
    return Report(3)


@s.job
async def load(n: int) -> str:
    return str(n)


@s.job("send_email")
def odd(at: str, args: int = 1, priority: int = 2, name: str = "", self: int = 3, s: int = 4, fn: int = 5) -> None: ...


def plain(a: int, b: str = "x") -> list[int]:
    return [a]


assert_type(export(date(2027, 3, 1)), Report)
assert_type(export.send(date(2027, 3, 1), full=True).result("30s"), Report)
assert_type(export.delay(day=date(2027, 3, 1)), Job[Report])
assert_type(export.at("7pm tomorrow", priority=3, unique_key="x").send(date(2027, 3, 1)), Job[Report])
assert_type(export.at(datetime(2050, 1, 1, tzinfo=UTC)).delay(date(2027, 3, 1)).refresh(), Job[Report])
export.in_("5 minutes", unique_key="mar").send(date(2027, 3, 1))
export.in_(timedelta(minutes=5)).send(date(2027, 3, 1))
export.every("weekday at 9am", name="exports").send(date(2027, 3, 1))
export.cron("0 9 * * *", overlap="skip").send(date(2027, 3, 1))
export.when("every weekday at 9am").send(date(2027, 3, 1))
later: TimedCall[..., Report] = export.now(priority=1)
assert_type(export.many([(date(2027, 3, 1),), {"day": date(2027, 3, 1), "full": True}]), Tally)
assert_type(export.map([date(2027, 3, 1)]), Tally)
export.at("7pm tomorrow").map(date(2027, 3, n) for n in range(1, 5))
assert_type(load.send(3).result(), str)
assert_type(current_job().due, datetime)
export.at(current_job().due, late="run").send(date(2027, 3, 1))
odd.send("7pm", args=2, priority=5, name="x", self=1, s=2, fn=3)
bound = s.bind(plain)
assert_type(bound(1), list[int])
assert_type(bound.send(1, b="y").result(), list[int])
assert_type(s.bind(export).send(date(2027, 3, 1)).result(), Report)
schedule.add(s, fn=export, at="7pm tomorrow", args=["2027-03-01"])
schedule.add_now(s, call=call(export, date(2027, 3, 1)))

with schedule.batch(s, "import", then=plain, on_death="cancel", done_by="6am") as made:
    assert_type(made.add(export, args=[date(2027, 3, 1)], after=["nightly"]).id, str)
assert_type(made.state().dead, int)
assert_type(made.waiting, int)
schedule.add_now(s, export, args=["2027-03-01"], after=[made, load.send(3), "nightly"], on_death="run")
assert_type(schedule.map(s, export, [date(2027, 3, 1)], then=call(plain, 1), progress=print, retries=3).name, str)
schedule.chain(s, [call(export, date(2027, 3, 1)), call(plain, 1)])
schedule.retry(s, made, follow=True)


@s.every("weekday at 9am")
@s.job
def digest() -> None: ...


digest.send()


async def main() -> None:
    job = await export.asend(date(2027, 3, 1), full=False)
    assert_type(job, Job[Report])
    assert_type(await job.aresult("30s"), Report)
    assert_type(await job.acancel(), Job[Report])
    assert_type(await load(3), str)
    async with aio.batch(s, "import", then=plain) as batch:
        assert_type((await batch.add(export, args=[date(2027, 3, 1)], retries=3)).id, str)
    assert_type((await batch.state()).done, int)
    assert_type((await aio.map(s, load, [1, 2])).name, str)
    assert_type((await load.asend(3)).result(), str)
    assert_type(await export.amany([(date(2027, 3, 1),)]), Tally)
    assert_type(await export.amap([date(2027, 3, 1)]), Tally)


def takes(one: Job, fn: JobFunction[..., Any]) -> Any:
    return one.result()


takes(export.send(date(2027, 3, 1)), export)
s.configure(redis="redis://h", tz="Europe/Paris", limit=3)
