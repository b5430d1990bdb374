"""Every command and every looking verb, in this process and against the clock, as the hostile storm runs them."""

from __future__ import annotations

import io
import json
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from tests.acceptance.hostile_texts import IDS
from workkit import schedule
from workkit.brokers.connect import open_broker
from workkit.cli import main
from workkit.errors import InvalidOptions, NotFound

HANG = 20.0  # seconds
BUG, SERVER = 70, 69
HERE = "tests.acceptance.hostile_jobs"
STATES = ("waiting", "due", "running", "cancelling", "retrying", "held", "paused", "dead")
PLAN = f'[good-sync]\nfn = "{HERE}:tick"\nevery = "month on the 1st"\nargs = ["sync"]\n'


class Hang(BaseException):
    """It took too long."""


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise Hang where the body takes longer, and again each second until that has an effect."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One command, and how it ended; `complaint` where that is as no command may."""

    words: tuple[str, ...]
    status: int
    out: str = ""
    err: str = ""
    seconds: float = 0.0
    complaint: str = ""
    is_hang: bool = False

    def __str__(self) -> str:
        return f"workkit {' '.join(self.words)}: {self.complaint}"


def run(*words: str, seconds: float = HANG) -> Ran:
    """Run one command line; its output goes to streams that are no terminal, in UTF-8."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    began, is_hang, status = time.monotonic(), False, BUG
    try:
        with redirect_stdout(out), redirect_stderr(err), alarm(seconds):
            status = main(words)
    except Hang:
        is_hang = True
    took = time.monotonic() - began
    said, talk = (stream.buffer.getvalue().decode("utf-8", "replace") for stream in (out, err))
    is_hang = is_hang or took > seconds
    return Ran(
        words=words,
        status=status,
        out=said,
        err=talk,
        seconds=took,
        complaint=_complaint(words, status, said, talk, is_hang),
        is_hang=is_hang,
    )


def _complaint(words: Sequence[str], status: int, out: str, err: str, is_hang: bool) -> str:
    first = err.strip().splitlines()[0][:300] if err.strip() else ""
    if is_hang:
        return f"hangs; {first}"
    if status in (BUG, SERVER) or status < 0:
        return f"status {status}; {first}"
    if "Traceback" in err or "Traceback" in out.partition("\n")[0]:
        return f"a traceback; {first}"
    if "--json" in words and (status == 0 or words[0] in ("doctor", "wire")):
        return strict(out)
    return ""


def strict(text: str) -> str:
    """What keeps a text from being JSON, whole or one value a line; empty where nothing does."""
    try:
        try:
            json.loads(text, parse_constant=_refuse)
        except ValueError:
            for line in text.splitlines():
                json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        return f"no JSON: {error}"
    return ""


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What commands are about: the schedule and its server, good jobs that are there, and the folder of files."""

    schedule: str
    url: str
    good: str  # the name of a good job that recurs
    good_id: str
    folder: Path

    def lines(self, n: int) -> Iterator[tuple[str, ...]]:
        """Every command that looks or changes, the `n`th time."""
        for words in (*self._looks(n), *self._changes(n)):
            yield (*words, "--redis", self.url)

    def _looks(self, n: int) -> Iterator[tuple[str, ...]]:
        s = self.schedule
        yield ("list", s)
        yield ("list", s, "--all", "--json")
        for place, state in enumerate(STATES):
            yield ("list", s, "--state", state, *(("--json", "--all") if (n + place) % 2 else ()))
        yield ("list", s, "--where", "\udcff", "--all")
        yield ("show", s, self.good_id)
        yield ("show", s, self.good, "--json")
        for id in (IDS[n % len(IDS)], IDS[n * 7 % len(IDS)][:8], "hostile", "nowhere", "abcdef"):
            yield ("show", s, id, *(("--json",) if n % 2 else ()))
        for verb in ("listeners", "stats", "dead", "runs", "changes"):
            yield (verb, s)
            yield (verb, s, "--json")
        yield ("dead", s, "--all")
        yield ("wire", "dump", s, "--json")
        yield ("wire", "dump", s)
        yield ("wire", "verify", s, "--json")
        yield ("wire", "verify", s, "--strict")
        yield ("doctor", s)
        yield ("doctor", s, "--json", "--older-than", "1s")

    def _changes(self, n: int) -> Iterator[tuple[str, ...]]:
        s, fn, id = self.schedule, f"{HERE}:tick", IDS[n % len(IDS)]
        for which in ((self.good,), (id,), ("--fn", fn), ()):
            yield ("pause", s, *which, "--reason", "storm")
            yield ("resume", s, *which)
        yield ("mark", s, f"storm {n}")
        for verb in ("skip", "run"):
            yield (verb, s, self.good)
            yield (verb, s, IDS[(n + 3) % len(IDS)])
        yield ("cancel", s, IDS[(n + 5) % len(IDS)])
        yield ("cancel", s, "hostile")
        yield ("sync", s, str(self.folder / "plan.toml"), "--dry-run")
        yield ("sync", s, str(self.folder / "plan.toml"), "--json")
        yield ("retry", s, IDS[0], "--yes")
        yield ("retry", s, "--all", "--yes", "--dry-run")
        yield ("retry", s, "--all", "--yes")
        yield ("discard", s, "--all", "--yes")
        yield ("doctor", s, "--fix", "--yes")
        yield ("doctor", s, "--fix", "--yes", "--json", "--older-than", "1s")


def looked(name: str, url: str, *, seconds: float = HANG) -> Iterator[str]:
    """Call every verb that looks; complaints of those that raise what no user could have caused, or take too long."""
    s = schedule.create(name, redis=url)
    broker = open_broker(name, redis=url)
    verbs: dict[str, Callable[[], object]] = {
        "jobs": lambda: list(schedule.jobs(s)),
        "job": lambda: schedule.job(s, IDS[0]),
        "job by name": lambda: schedule.job(s, "hostile"),
        "counts": lambda: schedule.counts(s),
        "listeners": lambda: schedule.listeners(s),
        "dead": lambda: schedule.dead(s),
        "missed": lambda: list(schedule.missed(s)),
        "control": broker.inspector.control,
        "runs": lambda: schedule.runs(s, limit=100_000),
        "jobs by names": lambda: list(schedule.jobs(s, names="*o*")),
        "stats": lambda: schedule.stats(s, over="1 hour"),
        "history": lambda: schedule.history(s, over="1 hour"),
        "changes": lambda: schedule.changes(s, limit=100_000),
        "named": broker.plans.named,
    }
    for verb, act in verbs.items():
        try:
            with alarm(seconds):
                act()
        except (NotFound, InvalidOptions):
            continue
        except (Exception, Hang) as error:
            yield f"schedule.{verb}: {type(error).__name__}: {str(error)[:200]} at {_place(error)}"


def _place(error: BaseException) -> str:
    frames: Any = [f for f in traceback.extract_tb(error.__traceback__) if "/workkit/" in f.filename]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
