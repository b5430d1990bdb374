"""Ten tasks in RQ. Worker: `rq worker --with-scheduler`. The recurring task needs `rq cron with_rq.py`."""

# setup
import os
import time
from datetime import timedelta

import shop
from redis import Redis
from rq import Queue, RateLimit, Retry, cron, get_current_job

connection = Redis.from_url(os.environ["REDIS_URL"])
queue = Queue(connection=connection)


def export(day: str) -> int:
    return shop.write(day)


# now


def now() -> None:
    queue.enqueue(export, "monday")


# later


def later() -> None:
    queue.enqueue_in(timedelta(seconds=2), export, "tuesday")


# recurring


def recurring() -> None:
    cron.register(export, "default", args=("wednesday",), cron="0 9 * * 1-5")


# retry


def load() -> None:
    shop.load()


def retry() -> None:
    queue.enqueue(load, retry=Retry(max=3, interval=[1, 2, 4]))


# unique


def rebuild(number: int) -> None:
    shop.rebuild(number)


def unique() -> None:
    queue.enqueue(rebuild, 42, job_id="rebuild-42", unique=True)  # raises DuplicateJobError the second time


# limit


def convert(picture: int) -> None:
    shop.convert(picture)


def limit() -> None:
    queue.enqueue(convert, 1, rate_limit=RateLimit("convert", concurrency=2))


# result


def result() -> object:
    return queue.enqueue(export, "friday").latest_result(timeout=10).return_value


# cancel


def cancel() -> None:
    job = queue.enqueue_in(timedelta(seconds=2), export, "saturday")
    job.cancel()


# progress


def count(most: int) -> None:
    job = get_current_job()
    for done in range(most):
        job.meta["progress"] = [done, most]
        job.save_meta()
        time.sleep(0.1)


def progress() -> object:
    job = queue.enqueue(count, 9)
    while not job.get_meta():
        time.sleep(0.1)
    return job.meta["progress"]


# test


def test_export() -> None:
    queue = Queue(is_async=False, connection=connection)
    queue.enqueue(export, "sunday")
    assert shop.exported.pop() == "sunday"
