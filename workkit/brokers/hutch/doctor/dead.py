"""Judge the dead queue: how full and how old it is, and what its messages tell about other programs. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from workkit.brokers.hutch.doctor.fault import Fault
from workkit.brokers.hutch.doctor.letter import Letter
from workkit.brokers.hutch.doctor.survey import Survey
from workkit.brokers.hutch.topology import KEPT_MS, MOST_DEAD
from workkit.text.duration import age_text

FULL: Final = 0.9  # of what the queue holds
OLD: Final = 5 / 6  # of the time that it keeps a message
HOUR_MS: Final = 3_600_000
LOOP: Final = 10  # copies of one key that still have CC


def judge_dead(made: Survey) -> Iterator[Fault]:
    """Judge the dead queue and what was read of it."""
    names = made.names
    found = made.queues.get(names.dead_queue)
    count = max(len(made.letters), 0 if found is None else found.ready)
    most = _limit(found.arguments, found.policy, "max-length", MOST_DEAD) if found else MOST_DEAD
    if count >= FULL * most:
        yield Fault(
            kind="dead-full",
            what=f"the dead queue holds {count:,} of {most:,} messages",
            remedy=f"find out what fails: workkit dead {names.exchange}; then retry or discard",
            about=(names.dead_queue,),
        )
    kept_ms = _limit(found.arguments, found.policy, "message-ttl", KEPT_MS) if found else KEPT_MS
    times = [letter.failed_ms for letter in made.letters if letter.failed_ms is not None]
    if times and made.now_ms - min(times) >= OLD * kept_ms:
        old = sum(made.now_ms - failed >= OLD * kept_ms for failed in times)
        yield Fault(
            kind="dead-old",
            what=f"{_messages(old)} of the dead queue {_are(old)} near the end of "
            f"{_its(old)} {age_text(kept_ms)} there",
            remedy=f"retry or discard them: workkit dead {names.exchange}",
            about=(names.dead_queue,),
        )
    yield from _letters(made)


def since(made: Survey) -> str:
    """Write when the dead messages failed, as far as they were read, as the end of a sentence."""
    times = sorted(letter.failed_ms for letter in made.letters if letter.failed_ms is not None)
    found = made.queues.get(made.names.dead_queue)
    if not times or (found is not None and found.ready > len(made.letters)):
        return f"; the first one {age_text(made.now_ms - times[0])} ago" if times else ""
    lately = sum(made.now_ms - failed < HOUR_MS for failed in times)
    recent = f"{lately:,} in the last hour, " if lately > 1 else ""
    return f"; {recent}the last one {age_text(made.now_ms - times[-1])} ago"


def _letters(made: Survey) -> Iterator[Fault]:
    names = made.names
    looping = _by_key(one for one in made.letters if one.returns)
    for key, count in looping.items():
        if count >= LOOP:
            yield Fault(
                kind="dead-loop",
                what=f"{_messages(count)} of {key} in the dead queue still {_have(count)} CC, which leads back",
                remedy=f"stop the event program that serves {key}, then discard the copies: "
                f"workkit dead {names.exchange}",
                about=(key,),
            )
    for key, count in _by_key(one for one in made.letters if not (one.is_ours or one.was_delayed)).items():
        yield Fault(
            kind="stray",
            what=f"{_messages(count)} of {key} in the dead queue {_was(count)} put there by event without a retry",
            remedy=f"see whether the event program that consumes {key} has a handler for exactly this key. If it has, "
            "this handler asks for no retries",
            about=(key,),
        )
    if made.closed is not None:
        return
    for key, count in _by_key(one for one in made.letters if not made.leads(one.key)).items():
        yield Fault(
            kind="unroutable",
            what=f"{_messages(count)} in the dead queue {_have(count)} the routing key {key}, which leads to no queue",
            remedy=f"start a listener that serves {key}, or discard the messages: workkit dead {names.exchange}",
            about=(key,),
        )


def _by_key(letters: Iterable[Letter]) -> dict[str, int]:
    return dict(sorted(Counter(one.key for one in letters).items()))


def _limit(arguments: Any, policy: Any, name: str, default: int) -> int:
    """The limit of a queue: the smaller one of its argument and its policy."""
    told = [value for value in (arguments.get(f"x-{name}"), policy.get(name)) if type(value) is int]
    return min(told, default=default)


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count:,} messages"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _its(count: int) -> str:
    return "its" if count == 1 else "their"


def _was(count: int) -> str:
    return "was" if count == 1 else "were"
