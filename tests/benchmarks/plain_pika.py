"""What `bench_hutch` measures workkit against: a producer and a consumer written with pika alone.

The producer pipelines: at most `WINDOW` messages wait for their confirms, as many as `schedule.add_many` has on their
way. The consumer acknowledges each message by hand after its function has returned. With 0 threads it calls the
function in the thread of the connection, which is the fastest way that pika has; with more, threads of its own call it,
as in pika's example of a consumer with threads, and the thread of the connection acknowledges all that have ended
meanwhile in one go.
"""

from __future__ import annotations

import json
import queue
import signal
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any
from uuid import uuid4

import pika

from tests.benchmarks.counting import Counter

WINDOW = 1000


class Publisher:
    """Publishes so many messages, and says how long that took."""

    def __init__(self, url: str, exchange: str, key: str, numbers: range) -> None:
        self.exchange, self.key = exchange, key
        self._numbers, self._confirmed, self._next = numbers, 0, 0
        self.connection = pika.SelectConnection(
            pika.URLParameters(url), on_open_callback=lambda c: c.channel(on_open_callback=self._opened)
        )

    def run(self) -> None:
        self.connection.ioloop.start()

    def _opened(self, channel: Any) -> None:
        self.channel = channel
        channel.add_on_return_callback(lambda *_: sys.exit("returned"))
        channel.confirm_delivery(self._answered, callback=lambda _: self._begin())

    def _begin(self) -> None:
        print("ready", flush=True)
        sys.stdin.readline()
        self._began = time.monotonic()
        self._publish()

    def _publish(self) -> None:
        numbers = self._numbers
        if self._next - self._confirmed > WINDOW // 2:
            return  # many at a time: that is faster than one for each confirm
        while self._next < len(numbers) and self._next - self._confirmed < WINDOW:
            body = json.dumps({"n": numbers[self._next]}).encode()
            properties = pika.BasicProperties(
                content_type="application/json", delivery_mode=2, message_id=str(uuid4()), timestamp=int(time.time()),
                priority=0,
            )  # fmt: skip
            self._next += 1
            self.channel.basic_publish(self.exchange, self.key, body, properties, mandatory=True)

    def _answered(self, frame: Any) -> None:
        assert type(frame.method).NAME == "Basic.Ack"
        method = frame.method
        self._confirmed = method.delivery_tag if method.multiple else self._confirmed + 1
        if self._confirmed == len(self._numbers):
            print(json.dumps([self._began, time.monotonic()]), flush=True)
            self.connection.ioloop.stop()
        else:
            self._publish()


class Consumer:
    """Consumes a queue until it is told to stop."""

    def __init__(self, url: str, name: str, *, prefetch: int, threads: int) -> None:
        self.name, self.prefetch = name, prefetch
        self.counter = Counter(Path.cwd())
        self._work: queue.SimpleQueue[tuple[int, bytes]] = queue.SimpleQueue()
        self._ended: deque[int] = deque()
        self._is_asked = False
        for _ in range(threads):
            threading.Thread(target=self._serve, daemon=True).start()
        self._receive = self._pass if threads else self._call
        self.connection = pika.SelectConnection(
            pika.URLParameters(url), on_open_callback=lambda c: c.channel(on_open_callback=self._opened)
        )

    def run(self) -> None:
        signal.signal(
            signal.SIGTERM,
            lambda *_: self.connection.ioloop.add_callback_threadsafe(self.connection.ioloop.stop),
        )
        self.connection.ioloop.start()
        self.counter.close()

    def _opened(self, channel: Any) -> None:
        self.channel = channel
        channel.basic_qos(prefetch_count=self.prefetch, callback=lambda _: self._consume())

    def _consume(self) -> None:
        self.channel.basic_consume(self.name, self._receive)

    def _call(self, channel: Any, method: Any, _: Any, body: bytes) -> None:
        self.counter.note(json.loads(body))
        channel.basic_ack(method.delivery_tag)

    def _pass(self, _: Any, method: Any, __: Any, body: bytes) -> None:
        self._work.put((method.delivery_tag, body))

    def _serve(self) -> None:
        while True:
            tag, body = self._work.get()
            self.counter.note(json.loads(body))
            self._ended.append(tag)
            if not self._is_asked:
                self._is_asked = True
                self.connection.ioloop.add_callback_threadsafe(self._acknowledge)

    def _acknowledge(self) -> None:
        self._is_asked = False
        while self._ended:
            self.channel.basic_ack(self._ended.popleft())


if __name__ == "__main__":
    verb, url, *words = sys.argv[1:]
    if verb == "publish":
        exchange, key, first, last = words
        Publisher(url, exchange, key, range(int(first), int(last))).run()
    else:
        name, prefetch, threads = words
        Consumer(url, name, prefetch=int(prefetch), threads=int(threads)).run()
