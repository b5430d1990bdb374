"""Words of other schedulers and their names here: the answers to keywords that do not exist. The pages in docs/moving
have the same words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

UNITS: Final = {"s": "second", "m": "minute", "h": "hour"}


@dataclass(frozen=True, slots=True)
class ForeignWord:
    """A word of another scheduler. `ours`: the word to write here; `page`: the page of docs/moving that has it;
    `written` writes our keyword for a value, or returns None if the value has no such keyword.
    """

    ours: str
    page: str
    written: Callable[[Any], str | None] = lambda _: None

    def remedy(self, value: Any = None) -> tuple[str, str | None]:
        """Return a sentence with the replacement of this word and its page, and the replacing keyword alone."""
        code = self.written(value)
        said = f"Write {code}" + (" in @job" if code.startswith("rate=") else "") if code else self.ours
        return f"{said}. See docs/moving/{self.page}.md.", code


def _length(name: str) -> Callable[[Any], str | None]:
    def written(value: Any) -> str | None:
        seconds = value.total_seconds() if isinstance(value, timedelta) else value
        if type(seconds) not in (int, float) or not 0 < seconds < 1e9 or seconds != int(seconds):
            return None
        return f'{name}="{int(seconds)} second{"" if seconds == 1 else "s"}"'

    return written


def _same(name: str) -> Callable[[Any], str | None]:
    return lambda value: f"{name}={value!r}"


def _rate(value: Any) -> str | None:
    """Write a rate of Celery, where a number is runs per second."""
    found = re.fullmatch(r"(\d+)(?:/([smh]))?", str(value))
    return None if found is None else f'rate="{found[1]}/{UNITS[found[2] or "s"]}"'


def _number(value: Any) -> str | None:
    times = getattr(value, "max", value)  # of rq.Retry
    return f"retries={times}" if type(times) is int and times >= 0 else None


_QUEUE = ForeignWord('Each queue is a schedule of its own: schedule.create("critical")', "celery")
_NEXT = ForeignWord("Add the next job at the end of the function: schedule.add_now", "rq")
_RUN = ForeignWord("Leave it out: current_job() tells of the run", "celery")
_LIMIT = 'Write timeout="5 minutes"'
_RETRIES = "Write retries=3: how many attempts follow the first"
_ONCE = 'Write unique_key="...", or name="..." for a job that recurs'

WORDS: Final[Mapping[str, ForeignWord]] = {
    "countdown": ForeignWord('Write in_="5 seconds"', "celery", _length("in_")),
    "eta": ForeignWord("Write at=", "celery", _same("at")),
    "rate_limit": ForeignWord('Write @job(rate="10/minute"): over all listeners', "celery", _rate),
    "retry": ForeignWord(_RETRIES, "rq", _number),
    "max_retries": ForeignWord(_RETRIES, "celery", _number),
    "autoretry_for": ForeignWord("Write retry_on=(OSError,) and retries=3", "celery"),
    "retry_backoff": ForeignWord('Write retries=3, backoff="exponential", base="5s"', "celery"),
    "default_retry_delay": ForeignWord('Write base="30s"', "celery", _length("base")),
    "bind": _RUN,
    "acks_late": ForeignWord("Leave it out: a listener always reports a run after it", "celery"),
    "queue": _QUEUE,
    "time_limit": ForeignWord(_LIMIT, "celery", _length("timeout")),
    "soft_time_limit": ForeignWord(_LIMIT, "celery", _length("timeout")),
    "ignore_result": ForeignWord('Leave it out: results are kept only with keep="1 day"', "celery"),
    "task_id": ForeignWord(_ONCE, "celery"),
    "depends_on": _NEXT,
    "job_timeout": ForeignWord(_LIMIT, "rq", _length("timeout")),
    "result_ttl": ForeignWord('Write keep="1 day"', "rq", _length("keep")),
    "job_id": ForeignWord(_ONCE, "rq"),
    "at_front": ForeignWord("Write priority=3", "rq"),
    "run_date": ForeignWord("Write at=", "apscheduler", _same("at")),
    "misfire_grace_time": ForeignWord('Write catch_up_within="1 hour"', "apscheduler", _length("catch_up_within")),
    "coalesce": ForeignWord('Write catch_up="once", which is the default, or "all"', "apscheduler"),
    "max_instances": ForeignWord('Write overlap="skip" for one run at once, or @job(limit=3)', "apscheduler"),
    "replace_existing": ForeignWord("Leave it out: a job with a name replaces the one before", "apscheduler"),
    "start_date": ForeignWord("Write start=", "apscheduler", _same("start")),
    "end_date": ForeignWord("Write end=", "apscheduler", _same("end")),
    "timezone": ForeignWord("Write tz=", "apscheduler", _same("tz")),
}
"""Foreign words, by the keyword of the other scheduler."""

CALLS: Final[Mapping[str, ForeignWord]] = {
    "delay": ForeignWord("Write schedule.add_now(s, {fn}, args=[...])", "celery"),
    "apply_async": ForeignWord(
        'Write schedule.add_now(s, {fn}, args=[...]), or schedule.add(s, {fn}, in_="5 minutes")', "celery"
    ),
}
"""Foreign words, by the method that another scheduler adds to a function."""
