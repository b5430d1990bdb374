"""Read the dead set of a native schedule in pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workkit.brokers.native.codec import Codec, instant_of
from workkit.brokers.native.entry import due_ms
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.listing import run_of
from workkit.brokers.native.settle import DEAD_KEPT, DEAD_KEPT_MS, read_failure
from workkit.brokers.redis_server.control import read_packed
from workkit.brokers.redis_server.graves import page_after, place_before, place_behind, read_place, stand
from workkit.brokers.redis_server.pages import Scored, ordered_pages
from workkit.brokers.redis_server.server import Server
from workkit.contract.inspector import Graves
from workkit.errors import CorruptRecord
from workkit.jobs.job import Job

NAME_TEXT = "utf-8", "surrogateescape"  # how a name in the dead set, any bytes, is a text of a Job, and back


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadSet:
    """The dead set of one schedule."""

    server: Server
    keys: Keys
    codec: Codec

    def jobs(self) -> Iterator[Job]:
        """Page through the dead jobs, latest first."""
        for page in ordered_pages(self.server, self.keys.dead, latest_first=True):
            yield from (job for _, job in self.shown(page))

    def ids(self) -> Iterator[str]:
        """Page through the ids of the dead jobs, latest first."""
        for page in ordered_pages(self.server, self.keys.dead, latest_first=True):
            for (name, _), packed in zip(page, self._packed(page), strict=True):
                yield _id(name, read_grave(packed))

    def shown(self, page: Sequence[Scored]) -> Iterator[tuple[int, Job]]:
        """Show members of `S:dead`, each with its `Row.run`, but for those that were taken out since they were read."""
        names, graves = [name for name, _ in page], self._packed(page)
        lost = [name for name, packed in zip(names, graves, strict=True) if packed is None]
        with self.server.translated() as client:
            scores = client.zmscore(self.keys.dead, lost) if lost else []
        gone = {name for name, score in zip(lost, scores, strict=True) if score is None}
        for (name, when), packed in zip(page, graves, strict=True):
            if name not in gone:
                grave = read_grave(packed)
                run = run_of(
                    grave.get("member", b""),
                    str(grave.get("due", "")),
                    "".join(str(grave.get("flags", "")).partition("#")[1:]),
                )
                yield run, self._job(name, when, grave)

    def _packed(self, page: Sequence[Scored]) -> list[bytes | None]:
        """Read the records of some dead jobs."""
        if not page:
            return []
        with self.server.translated() as client:
            return list(client.hmget(self.keys.graves, [name for name, _ in page]))

    def graves(self, *, after: str, limit: int) -> Graves:
        """Read a page of the dead jobs, the oldest first."""
        with self.server.translated() as client:
            page, is_last = page_after(client, self.keys.dead, read_place(after), limit)
            graves = client.hmget(self.keys.graves, [name for name, _ in page]) if page else []
        jobs = [self._job(name, when, read_grave(packed)) for (name, when), packed in zip(page, graves, strict=True)]
        behind = place_behind(page, after=after)
        return Graves(
            jobs=tuple(jobs),
            after=behind,
            again=place_before(behind),
            is_last=is_last,
            most=DEAD_KEPT,
            kept_ms=DEAD_KEPT_MS,
        )

    def still_dead(self, dead: Sequence[Job]) -> list[bool]:
        """Say of each of these jobs whether it stands here."""
        with self.server.translated() as client:
            return stand(client, self.keys.dead, [(job.dead_id or "").encode(*NAME_TEXT) for job in dead])

    def read(self, page: list[tuple[bytes, float]]) -> list[Job]:
        """Read dead jobs by their names and scores."""
        return [
            self._job(name, when, read_grave(packed))
            for (name, when), packed in zip(page, self._packed(page), strict=True)
        ]

    def _job(self, name: bytes, when: float, grave: Mapping[str, Any]) -> Job:
        id = _id(name, grave)
        failure = read_failure(grave.get("error"))
        known: dict[str, Any] = {
            "due": instant_of(due_ms(repr(when))), "state": "dead", "attempt": grave.get("attempt", 0),
            "error": failure.line, "failure": failure, "dead_id": name.decode(*NAME_TEXT),
        }  # fmt: skip
        try:
            return self.codec.decode(id, grave.get("payload") or b"", **known)
        except CorruptRecord:
            return Job(id=id, schedule=self.codec.schedule, fn="?", **known)


def _id(name: bytes, grave: Mapping[str, Any]) -> str:
    id: bytes = grave.get("id") or name
    return id.decode("utf-8", "replace")


def read_grave(packed: bytes | None) -> Mapping[str, Any]:
    """Read a record of `S:graves`. Leave out members of another type, so that one bad record does not hide others."""
    unpacked = read_packed(packed)
    if not isinstance(unpacked, dict):
        return {}
    return {name: value for name, value in unpacked.items() if name in _KINDS and isinstance(value, _KINDS[name])}


_KINDS: Mapping[str, type | tuple[type, ...]] = {
    "id": bytes, "payload": bytes, "member": bytes, "kind": str, "flags": str, "due": int, "attempt": int,
    "reason": str, "error": list,
}  # fmt: skip
