"""The page Listeners: which ones work, which are silent, which versions run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from urllib.parse import urlencode

from workkit.contract.listener import ListenerInfo
from workkit.contract.record import listener_record
from workkit.errors import Unsupported
from workkit.jobs.names import shown
from workkit.text.wording import iso, listed, plural
from workkit.web.cache import is_silent
from workkit.web.page import Asked, Page
from workkit.web.sentences import ailing
from workkit.web.words import Ref, Sentence, joined, plain

Kind = Literal["done", "pause", "fail"]
MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerRow:
    """A listener, its state as a sign and as a word, and its trouble."""

    info: ListenerInfo
    kind: Kind
    word: str
    note: str = ""
    is_odd_version: bool = False
    act: Literal["quiet", "listen", ""] = ""  # the act that its button offers
    cannot_run: tuple[str, ...] = ()  # functions of the jobs that it has released

    @property
    def refusal(self) -> Sentence:
        """Say which functions it cannot run, with links to their jobs; empty where it can run all."""
        if not self.cannot_run:
            return ()
        refs = [
            Ref(shown(fn), f"jobs?{urlencode({'q': f'fn:{shown(fn)}'}, errors='replace')}")
            for fn in self.cannot_run[:MOST_NAMED]
        ]
        more = len(self.cannot_run) - len(refs)
        return (
            "Cannot run ",
            *joined(refs),
            f" and {more:,} more. Its log says why." if more else ". Its log says why.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenersView:
    """The content of the page: rows by host. `more`: the number of listeners beyond those shown."""

    schedule: str
    now: datetime
    said: Sentence
    rest: Sentence
    hosts: tuple[tuple[str, tuple[ListenerRow, ...]], ...]
    more: int
    unknown: str

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        return {
            "schedule": self.schedule,
            "as_of": iso(self.now),
            "sentence": plain(self.said),
            "rest": plain(self.rest),
            "listeners": [
                listener_record(row.info) | {"note": row.note, "cannot_run": list(row.cannot_run)}
                for _, rows in self.hosts
                for row in rows
            ],
            "more": self.more,
            "unknown": self.unknown,
        }  # fmt: skip


def look(asked: Asked) -> ListenersView:
    """Read the listeners of the pulse."""
    pulse = asked.pulse
    infos = sorted(pulse.listeners, key=lambda info: (info.host, info.pid, info.listener))
    versions = Counter(info.version for info in infos)
    usual = versions.most_common(1)[0][0] if versions else ""
    told = pulse.control.quiet
    refused = _refused(asked, infos)
    rows = [
        _row(info, is_odd=info.version != usual, is_told=info.listener in told, refused=refused.get(info.listener, ()))
        for info in infos
    ]
    hosts = {row.info.host: tuple(one for one in rows if one.info.host == row.info.host) for row in rows}
    unknown = pulse.unknown.get("listeners", "") or pulse.counts.unknown.get("listeners", "")
    return ListenersView(
        schedule=asked.served.name,
        now=asked.now,
        said=headline(rows, schedule=asked.served.name, unknown=unknown),
        rest=(" ".join([*(row.note for row in rows if row.note), *_mixed(versions)]),),
        hosts=tuple(hosts.items()),
        more=max(0, pulse.counts.listeners - len(infos)) if len(hosts) else 0,
        unknown=unknown,
    )


def headline(rows: list[ListenerRow], *, schedule: str, unknown: str) -> Sentence:
    """Say how many listeners there are, on how many machines, and how busy they are."""
    if unknown:
        return ("The server does not tell who listens.",)
    if not rows:
        return (f"Nobody listens to {schedule}.",)
    threads, busy = sum(row.info.threads for row in rows), sum(row.info.busy for row in rows)
    hosts = len({row.info.host for row in rows})
    of = f"{busy:,} of {plural(threads, 'thread')} busy"
    if most := sum(row.info.coroutines for row in rows):
        of += f", {sum(row.info.awaited for row in rows):,} of {plural(most, 'coroutine')}"
    return (f"{plural(len(rows), 'listener')} on {plural(hosts, 'machine')}, {of}.",)


def _refused(asked: Asked, infos: Sequence[ListenerInfo]) -> Mapping[str, Sequence[str]]:
    """Read which functions each listener cannot run; empty where the layout does not keep that."""
    try:
        return asked.served.inspector().history.refused(list(dict.fromkeys(info.listener for info in infos)))
    except Unsupported:
        return {}


def _row(info: ListenerInfo, *, is_odd: bool, is_told: bool, refused: Sequence[str]) -> ListenerRow:
    kind, word, note = _state(info)
    return ListenerRow(
        info=info,
        kind=kind,
        word=word,
        note=note,
        is_odd_version=is_odd,
        act="listen" if is_told else "quiet" if kind == "done" else "",
        cannot_run=tuple(refused),
    )


def _state(info: ListenerInfo) -> tuple[Kind, str, str]:
    if wrong := ailing(info):
        return "fail", "silent" if is_silent(info) else "stuck", " ".join(wrong).strip()
    return ("done" if info.state == "listening" else "pause"), info.state, ""


def _mixed(versions: Counter[str]) -> list[str]:
    """Say which versions run at once, where there are several."""
    if len(versions) < 2:
        return []
    return [f"{len(versions)} versions run at once: {listed([f'{v} on {n}' for v, n in versions.most_common()])}."]


PAGE = Page(
    name="listeners", path="listeners", title="Listeners", template="listeners.html", look=look, icon="ear", key="l"
)
