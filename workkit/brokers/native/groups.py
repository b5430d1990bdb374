"""Groups of the native layout (spec/groups.md): the step of an addition that makes, fills or closes a batch; and what
reads and steers them.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workkit import wire
from workkit.brokers.native.codec import Codec, Stored
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.record import read_ended
from workkit.brokers.redis_server.control import pack, read_packed
from workkit.brokers.redis_server.pages import piped
from workkit.brokers.redis_server.server import Server
from workkit.clocks import time
from workkit.contract.groups import Ending, Group, GroupPage, GroupState, Member, MemberPage, group_id
from workkit.contract.listener import BatchEnd
from workkit.contract.producer import GroupStep, NewJob
from workkit.errors import InvalidOptions, NotFound
from workkit.jobs.job import Job


def written_rows(group: GroupStep, jobs: Sequence[NewJob], stored: Sequence[Stored]) -> tuple[bytes, bytes, bytes]:
    """Write rows of a batch for `add.lua`: its id and name, 20 bytes of each row's id, and the rows."""
    ids, dues = [one.id for one in stored], [job.due_ms or 0 for job in jobs]
    rows = [ids, [one.payload for one in stored], *([dues] if any(dues) else [])]
    of = f"{group_id(group.name)}{group.name}".encode("utf-8", "surrogatepass")
    return of, bytes.fromhex("".join(ids)), pack(rows)


def written_step(group: GroupStep, encode: Callable[[Sequence[NewJob]], list[Stored]]) -> bytes:
    """Write a step of a batch for `put.lua`."""
    id = group_id(group.name)
    step: dict[str, Any] = {"g": id, "name": group.name, "closes": group.closes}
    if (makes := group.makes) is not None:
        made: dict[str, Any] = {"on_death": makes.on_death}
        step["makes"] = made
        for word, job in (("then", makes.then), ("success", makes.on_success)):
            if job is not None:
                (what,) = encode([job])
                made[word] = {"id": what.id, "payload": what.payload, "tags": job.terms.tags or ()}
        if makes.done_by_ms is not None:
            made["by"] = makes.done_by_ms
    return pack(step)


def refuse_closed(reply: Sequence[Any]) -> None:
    """Raise InvalidOptions if this is the answer that a batch takes no jobs, or that a predecessor is not known."""
    said = [part.decode("utf-8", "replace") if isinstance(part, bytes) else str(part) for part in reply[:3]]
    if said[:1] == ["closed"]:
        how = _CLOSED.get(said[1], "has ended: no job can be added to it")
        remedy = "Give the new batch another name." if said[1] else "Make it: with schedule.batch(...) as batch:"
        raise InvalidOptions.about(f'batch "{said[2]}"', how, remedy, where="batch", given=said[2])
    if said[:1] == ["unknown"]:
        trouble = "is no job that waits, runs or ended in the last day"
        remedy = "Give the Job that the addition returned, or the name of a job that runs again."
        raise InvalidOptions.about(f'after="{said[1]}"', trouble, remedy, where="after", given=said[1])


def asked_again(reply: Sequence[Any], ask: Callable[[], Sequence[Any]]) -> Sequence[Any] | None:
    """Ask again, for a second, while a listener claims the next run that an addition waits for; return the answer, or
    None if `reply` is another one. Raises as `refuse_closed`.
    """
    asked = None
    for _ in range(50):
        if list(reply[:1]) != [b"unknown"] or reply[2:] != [b"soon"]:
            break
        time.sleep(0.02)
        reply = asked = ask()
    refuse_closed(reply)
    return asked


_CLOSED = {  # by the first byte of a group in S:groups
    "": "does not exist",
    "o": "is still being filled: only its producer adds jobs to it",
    "r": "is closed: only its own jobs add jobs to it",
    "c": "is cancelled: no job can be added to it",
}


LETTERS: Mapping[str, Ending] = {
    "w": "waiting", "k": "done", "D": "dead", "C": "cancelled", "X": "discarded", "E": "expired", "M": "missed",
    "R": "replaced", "V": "removed", "L": "lost",
}  # fmt: skip
"""The letters of members in `S:members`."""
_OF: Mapping[str, bytes] = {ending: letter.encode() for letter, ending in LETTERS.items()}
_STATES: Mapping[bytes, GroupState] = {
    b"o": "open", b"r": "running", b"c": "cancelled", b"d": "done", b"x": "cancelled"
}  # fmt: skip
_NONCE = re.compile(rb',"nonce":"[^"]*"}$')
_ID = re.compile("[0-9a-f]{16}|[0-9a-f]{40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeGroups:
    """The groups of one schedule: see `contract.groups.Groups`."""

    server: Server
    keys: Keys
    codec: Codec
    _looked: dict[bytes, bytes] = field(default_factory=dict)  # group -> where to look next for lost members

    def group(self, which: str) -> Group:
        """Read a batch by its name or id, or the group of a job that waits by the id of that job. Raises NotFound."""
        for id in (group_id(which), which[:16]) if _ID.fullmatch(which) else (group_id(which),):
            if (found := self._read([id])[0]) is not None:
                return found
        raise NotFound(f'no batch "{which}" in {self.codec.schedule}.', given=which)

    def groups(self, *, after: str = "", limit: int = 100) -> GroupPage:
        """Read a page of the batches, the last one made first."""
        made = []
        with self.server.translated() as client:
            for field, value in client.hscan_iter(self.keys.groups, count=500):
                state, record = read_record(value)
                if state and "name" in record:
                    made.append((-_ms(record.get("made")), field.decode("utf-8", "replace")))
        ids = [id for _, id in sorted(made)]
        first = ids.index(after) + 1 if after in ids else 0
        page = ids[first : first + limit]
        found = [group for group in self._read(page) if group is not None]
        return GroupPage(found, page[-1] if first + limit < len(ids) else "")

    def _read(self, ids: Sequence[str]) -> list[Group | None]:
        if not ids:
            return []
        k = self.keys

        def ask(pipe: Any) -> None:
            pipe.hmget(k.groups, ids)
            for id in ids:
                for letter in _OF.values():
                    pipe.zlexcount(k.members, *_range(id, letter))

        values, *counts = piped(self.server, ask)
        return [
            _group(id, value, dict(zip(LETTERS.values(), counts[len(LETTERS) * place :], strict=False)))
            for place, (id, value) in enumerate(zip(ids, values, strict=True))
        ]

    def members(self, group: Group, *, ending: Ending | None = None, after: str = "", limit: int = 1000) -> MemberPage:
        """Read a page of members: see `Groups.members`."""
        first, last = _range(group.id, b"" if ending is None else _OF[ending])
        if after:
            if not after.startswith(first[1:].hex()) or not re.fullmatch("(?:[0-9a-f]{2})+", after):
                trouble, remedy = "names none of them", "Begin again without after."
                raise InvalidOptions.about("after", trouble, remedy, where="after", given=after[:100])
            first = b"(" + bytes.fromhex(after)
        with self.server.translated() as client:
            found = client.zrangebylex(self.keys.members, first, last, start=0, num=limit + 1)
        members = [Member(member_name(text), LETTERS.get(chr(text[8]), "lost")) for text in found[:limit]]
        return MemberPage(members, found[limit - 1].hex() if len(found) > limit else "")

    def jobs(self, ids: Sequence[str]) -> list[Job | None]:
        """Read jobs by their ids: see `Groups.jobs`."""
        from workkit.brokers.native.look.listing import Listing  # no addition imports it

        return list(Listing(server=self.server, keys=self.keys, codec=self.codec).stored(list(ids)))

    def followers(self, member: str) -> list[str]:
        """List the jobs that wait for a member, or a run of it: see `Groups.followers`. Feeds outlive their group."""
        start = f"{member}\0".encode("utf-8", "surrogatepass")
        with self.server.translated() as client:
            feeds = client.zrangebylex(self.keys.feeds, b"[" + start, b"(" + start[:-1] + b"A", start=0, num=100)
            values = client.hmget(self.keys.groups, [feed[-16:] for feed in feeds]) if feeds else []
        found = (_text(read_record(value)[1].get("of")) for value in values if value and value[:1] not in (b"d", b"x"))
        return [id for id in found if id]

    def release(self, name: str) -> int:
        """Give jobs of a closed batch to the listeners: see `Groups.release`."""
        return int(self._act("release", group_id(name))[0])

    def cancel(self, name: str, *, change: bytes = b"") -> Group:
        """Cancel a batch: see `Groups.cancel`."""
        found = self.group(name)
        if found.name is None:
            raise NotFound(f'no batch "{name}" in {self.codec.schedule}.', given=name)
        self._finish("cancel", found.id, change=change)
        return self.group(found.name)

    def follow(self, name: str) -> Group:
        """Let `then` run again when the dead members that run again have ended: its bytes, with another nonce."""
        found = self.group(name)
        with self.server.translated() as client:
            _, record = read_record(client.hget(self.keys.groups, found.id))
        payload = record.get("then_payload")
        if not isinstance(payload, str):
            raise NotFound(f'nothing follows the batch "{name}": it was made without then=.', given=name)
        data = _NONCE.sub(b"}", payload.encode("utf-8", "surrogatepass"))
        data = wire.with_nonce(data, secrets.token_hex(20))
        self._act("follow", found.id, wire.job_id(data), data)
        return self.group(name)

    def end_cancelled(self, name: str) -> list[tuple[str, BatchEnd]]:
        """End the waiting jobs of a cancelled batch. Return the batches that have ended."""
        ended: list[tuple[str, BatchEnd]] = []
        self._finish("cancel", group_id(name), ended=ended)
        return [one for one in ended if one[1] != "cancelling"]

    def lost(self, id: str, *, settle: bool = False) -> list[str]:
        """List the members of a group that are nowhere, though nothing says how they ended; or settle them as lost."""
        return [name.decode("utf-8", "replace") for name in self._finish("lose" if settle else "lost", id)]

    def free(self, id: str) -> int:
        """Let go what is parked for a group that is gone, or has settled, and remove the members of one that is gone.
        Return how many of both.
        """
        return int(self._act("free", id)[0])

    def gather(self, cursor: bytes) -> tuple[bytes, list[tuple[str, BatchEnd]]]:
        """Do what is left to do in some groups, from a place on: the next place, and the batches that have ended."""
        found = self.server.run(self.keys, "gather", [cursor])
        ended: list[tuple[str, BatchEnd]] = []
        for mode, id in zip(found[1::2], found[2::2], strict=True):
            if mode != b"lose":
                self._finish(mode.decode(), id.decode(), ended=ended)
                continue
            place, _, batches = self._act("lose", id.decode(), self._looked.pop(id, b""))  # a page: there may be many
            ended += read_ended(batches)
            if place:
                self._looked[id] = place
        return found[0], [one for one in ended if one[1] != "cancelling"]

    def _finish(
        self, mode: str, id: str, *, change: bytes = b"", ended: list[tuple[str, BatchEnd]] | None = None
    ) -> list[bytes]:
        """Act on a group until nothing is left to do. Return what it names."""
        named: list[bytes] = []
        place: Any = b""
        while True:
            place, some, batches = self._act(mode, id, place, change=change)
            named += some
            if ended is not None:
                ended += read_ended(batches)
            if place in (b"", 0) or (mode == "forget" and place < 1000):
                return named
            place = b"" if place == b"-" or isinstance(place, int) else place

    def _act(self, mode: str, id: str, more: bytes | str = b"", payload: bytes = b"", *, change: bytes = b"") -> Any:
        found = self.server.run(self.keys, "group", [mode, id, more, payload, change])
        return (0, [], []) if found == b"unknown" else found


def _range(id: str, letter: bytes) -> tuple[bytes, bytes]:
    """Write the range of the members of a letter; all of them without one."""
    first = bytes.fromhex(id) + letter
    return b"[" + first, b"(" + first[:-1] + bytes([first[-1] + 1]) if letter else b"[" + first + b"\xff"


def member_name(text: bytes) -> str:
    """Read the name of a member of `S:members`."""
    name = text[9:]
    return (
        (name[:20].hex() + name[20:].decode("utf-8", "replace")) if len(name) >= 20 else name.decode("utf-8", "replace")
    )


def read_record(value: bytes | None) -> tuple[GroupState | None, dict[str, Any]]:
    """Read a value of `S:groups`; a state of None if it cannot be read."""
    record = read_packed((value or b"")[1:])
    state = _STATES.get((value or b"")[:1])
    return (state, record) if state and isinstance(record, dict) else (None, {})


def _ms(value: object) -> int:
    return int(value) if isinstance(value, int | float) and abs(value) < 1e16 else 0


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _group(id: str, value: bytes | None, counts: Mapping[Ending, int]) -> Group | None:
    state, record = read_record(value)
    if state is None:
        return None
    total = _ms(record.get("total"))
    others = {ending: count for ending, count in counts.items() if ending != "done" and count}
    done = max(counts["done"], total - sum(others.values()))
    return Group(
        id=id, name=_text(record.get("name")), of=_text(record.get("of")), state=state,
        is_settled=(value or b"")[:1] in (b"d", b"x"), on_death=_text(record.get("on_death")) or "continue",
        total=total, endings=others | ({"done": done} if done else {}), then=_text(record.get("then")),
        on_success=_text(record.get("success")), made_ms=_ms(record.get("made")) or None,
        added_ms=_ms(record.get("added")) or None, settled_ms=_ms(record.get("settled")) or None,
    )  # fmt: skip
