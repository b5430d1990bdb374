"""Check the groups of spec/groups.md: batches that nobody fills, members that are lost, and jobs that wait for a group
that is gone or has ended.

The server judges each of them again in the step that corrects it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from workkit.brokers.doctor import WAIT, tally
from workkit.brokers.native.entry import OF_GROUPS, read_parked, under
from workkit.brokers.native.groups import LETTERS, NativeGroups, member_name, read_record
from workkit.brokers.native.look.published import Places
from workkit.brokers.redis_server.our_keys import UnreadKeys
from workkit.brokers.redis_server.pages import PAGE, hash_pages, piped, scored_pages
from workkit.contract.doctor import CommandLine, Finding, Kind
from workkit.text.cells import bytes_text
from workkit.text.wording import duration_text

DAY_MS = 86_400_000
_GROUP = re.compile(rb"[0-9a-f]{16}")
_ROWS = re.compile(rb"[0-9a-f]{16} \d{1,7}")
_FEED = re.compile(rb"[^\0]+\0[0-9a-f]{16}", re.DOTALL)
_END = re.compile(rb"[a-z]+ \d{1,16}")

ABANDONED = Kind(
    "abandoned", "hazard", "A batch has been open for a day without an addition.",
    "None of its jobs runs before it is closed. The program that fills it has probably died.",
)  # fmt: skip
LOST = Kind(
    "lost-member", "orphan", "A member of a group is gone and has not ended.",
    "The job that runs after it would wait for ever. A foreign peer ran it, or the server has lost it.",
    "ends it as lost, as listeners do",
)  # fmt: skip
HUNG = Kind(
    "hung", "orphan", "Jobs wait for a group that is gone or has ended, or members of one that is gone are left.",
    "Nothing would ever start these jobs. A person or another program changed the keys.",
    "starts the jobs, and removes the members",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class OfGroup:
    """A group that is gone or has ended; or one with lost members."""

    group: str
    is_lost: bool = False

    def repair(self, places: Places) -> bool:
        """Let go what waits for it; or end its members as lost."""
        of = groups_at(places)
        return bool(of.lost(self.group, settle=True)) if self.is_lost else any(iter(partial(of.free, self.group), 0))


def groups_at(places: Places) -> NativeGroups:
    """Make the reader of the groups."""
    return NativeGroups(server=places.server, keys=places.keys, codec=places.codec)


def groups(places: Places) -> Iterator[Finding]:
    """Report the faults of the groups."""
    yield from _unread(places)
    yield from _abandoned(places)
    suspects, seen = set[bytes](), set[bytes]()
    for page in scored_pages(places.server, places.keys.members):
        texts = [member for member, _ in page if _is_member(member, 0)]
        seen |= {text[:8].hex().encode() for text in texts}
        names = {text: member_name(text) for text in texts if text[8:9] == b"w"}
        with places.server.translated() as client:
            payloads = client.hmget(places.keys.jobs, names.values()) if names else []
        suspects |= {text[:8] for text, payload in zip(names, payloads, strict=True) if payload is None}
    for group in sorted(suspects):
        yield from _lost(places, group.hex())
    for keys in _keys_of_groups(places):
        seen |= {key.partition(b":")[2] for key in keys}
    every = iter(sorted(seen))
    while page_of := list(islice(every, PAGE)):
        with places.server.translated() as client:
            values = client.hmget(places.keys.groups, page_of)
        for id, value in zip(page_of, values, strict=True):
            if value is None or value[:1] in (b"d", b"x"):
                yield from _hung(places, id)


def _is_member(text: bytes, _: float) -> bool:
    return len(text) > 9 and chr(text[8]) in LETTERS


def _unread(places: Places) -> Iterator[Finding]:
    k, of = places.keys, UnreadKeys(places.server)
    is_group = lambda id, value: _GROUP.fullmatch(id) is not None and read_record(value)[0] is not None  # noqa: E731
    yield from of.fields(k.groups, is_group, "a group")
    yield from of.fields(k.ends, lambda _, value: _END.fullmatch(value) is not None, "how a job ended")
    yield from of.fields(k.rows, lambda id, _: _ROWS.fullmatch(id) is not None, "rows of a batch")
    yield from of.members(k.members, _is_member, "a member of a group")
    yield from of.members(k.feeds, lambda member, _: _FEED.fullmatch(member) is not None, "a group that waits")
    for key in (k.members, k.feeds):
        yield from of.members(key, lambda _, score: score == 0, "at the score 0", kind="due")


def _abandoned(places: Places) -> Iterator[Finding]:
    command = partial(CommandLine, schedule=places.keys.schedule)
    for page in hash_pages(places.server, places.keys.groups):
        for state, record in map(read_record, page.values()):
            name, at = record.get("name"), record.get("added") or record.get("made")
            if state != "open" or not isinstance(name, str) or not isinstance(at, int):
                continue
            if (since := places.now_ms - at) >= DAY_MS:
                yield ABANDONED.found(
                    f'the batch "{name}" is open, and no job was added to it for {duration_text(since, 1)}',
                    "run the program that fills it again, which makes the batch under the same name. To run the jobs "
                    "that it has: ", command(verb="batch resume", which=(name,), options=(("close", None),)),
                    ". To give it up: ", command(verb="batch cancel", which=(name,)), about=(name,),
                )  # fmt: skip


def _lost(places: Places, group: str) -> Iterator[Finding]:
    if names := groups_at(places).lost(group):
        known = groups_at(places).group(group)
        title = f'the batch "{known.name}"' if known.name else f"the group of job {(known.of or group)[:8]}"
        which = ", ".join(name[:8] for name in names[:3]) + (", ..." if len(names) > 3 else "")
        gone = "is gone and has not ended" if len(names) == 1 else "are gone and have not ended"
        subject = OfGroup(group=group, is_lost=True)
        yield LOST.found(f"{tally(len(names), 'member')} of {title} ({which}) {gone}", subject=subject, about=(*names,))


def _hung(places: Places, id: bytes) -> Iterator[Finding]:
    k, group = places.keys, bytes_text(id)
    ours = bytes.fromhex(group) if _GROUP.fullmatch(id) else b"\0" * 8

    def ask(pipe: Any) -> None:
        pipe.hget(k.groups, id)
        pipe.zlexcount(k.members, b"[" + ours, b"(" + ours + b"\xff")
        for prefix in OF_GROUPS:
            pipe.zlexcount(k.waiting, *under(prefix.encode() + id))

    value, members, opened, after, success = piped(places.server, ask, whole=True)
    jobs = opened + after + (0 if value else success)
    if jobs or (members and not value):
        gone = f"is gone; {tally(members, 'member', 'is', 'are')} left" if value is None else "has ended"
        what = f"the group {group} {gone}, and {tally(jobs, 'job', *WAIT)} for it"
        yield HUNG.found(what, subject=OfGroup(group=group), about=(group,))


def _keys_of_groups(places: Places) -> Iterator[list[bytes]]:
    """Page through the keys under which entries wait for groups."""
    for prefix in map(str.encode, OF_GROUPS):
        start, end = b"[" + prefix, b"(" + prefix[:-1] + b";"  # ; comes after :
        while True:
            with places.server.translated() as client:
                texts = client.zrangebylex(places.keys.waiting, start, end, start=0, num=PAGE)
            if not texts:
                break
            yield list(dict.fromkeys(parked.key for parked in map(read_parked, texts) if parked is not None))
            start = b"[" + texts[-1].partition(b"\0")[0] + b"\1"
