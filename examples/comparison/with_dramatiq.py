"""Ten tasks in Dramatiq. Worker: `dramatiq with_dramatiq`. It has no scheduler. APScheduler, in a program that keeps
running, sends the recurring task.
"""

# setup
import json
import os
import time

import dramatiq
import shop
from apscheduler.schedulers.background import BackgroundScheduler
from dramatiq.brokers.redis import RedisBroker
from dramatiq.brokers.stub import StubBroker
from dramatiq.middleware import CurrentMessage
from dramatiq.rate_limits import ConcurrentRateLimiter
from dramatiq.rate_limits.backends import RedisBackend as Limits
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend
from redis import Redis

URL = os.environ["REDIS_URL"]
broker = StubBroker() if os.getenv("UNIT_TESTS") else RedisBroker(url=URL)
broker.add_middleware(Results(backend=RedisBackend(url=URL)))
broker.add_middleware(CurrentMessage())
dramatiq.set_broker(broker)
connection = Redis.from_url(URL)


@dramatiq.actor(store_results=True)
def export(day: str) -> int:
    return shop.write(day)


# now


def now() -> None:
    export.send("monday")


# later


def later() -> None:
    export.send_with_options(args=("tuesday",), delay=2000)


# recurring: none; by hand


scheduler = BackgroundScheduler(timezone="Europe/Paris")


def recurring() -> None:
    scheduler.add_job(export.send, "cron", day_of_week="mon-fri", hour=9, args=["wednesday"])
    scheduler.start()


# retry


@dramatiq.actor(max_retries=3, min_backoff=1000)
def load() -> None:
    shop.load()


def retry() -> None:
    load.send()


# unique: none; by hand


@dramatiq.actor
def rebuild(number: int) -> None:
    try:
        shop.rebuild(number)
    finally:
        connection.delete(f"lock:{number}")


def unique() -> None:
    if connection.set("lock:42", 1, nx=True, ex=3600):
        rebuild.send(42)


# limit


two = ConcurrentRateLimiter(Limits(url=URL), "convert", limit=2)


@dramatiq.actor(min_backoff=100)
def convert(picture: int) -> None:
    with two.acquire():  # raises RateLimitExceeded; the job is tried again
        shop.convert(picture)


def limit() -> None:
    convert.send(1)


# result


def result() -> object:
    return export.send("friday").get_result(block=True, timeout=10_000)


# cancel: none; by hand


@dramatiq.actor
def report(day: str) -> None:
    message = CurrentMessage.get_current_message()
    if not connection.exists(f"cancelled:{message.message_id}"):
        shop.write(day)


def cancel() -> None:
    job = report.send_with_options(args=("saturday",), delay=2000)
    connection.set(f"cancelled:{job.message_id}", 1, ex=3600)


# progress: none; by hand


@dramatiq.actor
def count(most: int) -> None:
    message = CurrentMessage.get_current_message()
    for done in range(most):
        connection.set(f"progress:{message.message_id}", json.dumps([done, most]), ex=3600)
        time.sleep(0.1)


def progress() -> object:
    job = count.send(9)
    while not (progress := connection.get(f"progress:{job.message_id}")):
        time.sleep(0.1)
    return json.loads(progress)


# test


def test_export() -> None:
    worker = dramatiq.Worker(broker)
    worker.start()
    export.send("sunday")
    broker.join(export.queue_name)
    worker.join()
    worker.stop()
    assert shop.exported.pop() == "sunday"
