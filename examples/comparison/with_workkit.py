"""Ten tasks in workkit. Listener: `workkit listen shop --import with_workkit`."""

# setup
import time

import shop

from workkit import current_job, schedule, testing

s = schedule.create("shop")


@s.job
def export(day: str) -> int:
    return shop.write(day)


# now


def now() -> None:
    export.send("monday")


# later


def later() -> None:
    export.in_("2 seconds").send("tuesday")


# recurring


def recurring() -> None:
    export.every("weekday at 9am", tz="Europe/Paris").send("wednesday")


# retry


@s.job(retries=3, base="1s")
def load() -> None:
    shop.load()


def retry() -> None:
    load.send()


# unique


@s.job
def rebuild(number: int) -> None:
    shop.rebuild(number)


def unique() -> None:
    rebuild.now(unique_key="rebuild:42").send(42)


# limit


@s.job(limit=2)
def convert(picture: int) -> None:
    shop.convert(picture)


def limit() -> None:
    convert.send(1)


# result


def result() -> int:
    return export.send("friday").result("10s")


# cancel


def cancel() -> None:
    job = export.in_("2 seconds").send("saturday")
    job.cancel()


# progress


@s.job
def count(most: int) -> None:
    for done in range(most):
        current_job().progress(done, most)
        time.sleep(0.1)


def progress() -> object:
    job = count.send(9)
    while not job.progress:
        time.sleep(0.1)
        job = job.refresh()
    return job.progress


# test


def test_export(wk: testing.Workkit) -> None:
    export.send("sunday")
    wk.run_due()
    assert shop.exported.pop() == "sunday"
