"""Ten tasks in Celery. Worker: `celery -A with_celery worker`. The limit needs a second worker, with `-Q narrow -c 2`.
The recurring task needs `celery -A with_celery beat`.
"""

# setup
import os
import time

import shop
from celery import Celery
from celery.app.task import Task
from celery.schedules import crontab
from redis import Redis

URL = os.environ["REDIS_URL"]
app = Celery("shop", broker=URL, backend=URL)
connection = Redis.from_url(URL)


@app.task
def export(day: str) -> int:
    return shop.write(day)


# now


def now() -> None:
    export.delay("monday")


# later


def later() -> None:
    export.apply_async(["tuesday"], countdown=2)


# recurring


def recurring() -> None:
    app.conf.timezone = "Europe/Paris"
    app.conf.beat_schedule = {
        "export": {"task": export.name, "schedule": crontab("0", "9", "mon-fri"), "args": ["wednesday"]},
    }


# retry


@app.task(autoretry_for=[OSError], max_retries=3, retry_backoff=1)
def load() -> None:
    shop.load()


def retry() -> None:
    load.delay()


# unique: none; by hand


@app.task
def rebuild(number: int) -> None:
    try:
        shop.rebuild(number)
    finally:
        connection.delete(f"rebuild:{number}")


def unique() -> None:
    if connection.set("rebuild:42", 1, nx=True, ex=3600):
        rebuild.delay(42)


# limit: none; by hand


@app.task
def convert(picture: int) -> None:
    shop.convert(picture)


def limit() -> None:
    convert.apply_async([1], queue="narrow")  # its only worker: celery -A with_celery worker -Q narrow -c 2


# result


def result() -> int:
    return export.delay("friday").get(timeout=10)


# cancel


def cancel() -> None:
    job = export.apply_async(["saturday"], countdown=2)
    job.revoke()


# progress


@app.task(bind=True)
def count(self: Task, most: int) -> None:
    for done in range(most):
        self.update_state(state="PROGRESS", meta=[done, most])
        time.sleep(0.1)


def progress() -> object:
    job = count.delay(9)
    while job.state != "PROGRESS":
        time.sleep(0.1)
    return job.info


# test


def test_export() -> None:
    app.conf.task_always_eager = True
    export.delay("sunday")
    assert shop.exported.pop() == "sunday"
