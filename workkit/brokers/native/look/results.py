"""Read the kept results of a native schedule: spec/results.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.items import server_ms
from workkit.brokers.native.results import NAMED, read_result
from workkit.brokers.native.shards import by_home
from workkit.brokers.redis_server.pages import names_behind
from workkit.brokers.redis_server.server import Server
from workkit.contract.result import Result
from workkit.errors import NotFound

ID_DIGITS, SHORTEST = 40, 6  # digits of an id, and how many of them are enough
SAMPLES = 50  # keys from which the memory of all is estimated


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeResults:
    """The results of one schedule. `waiting`: connections that may wait for a minute."""

    server: Server
    waiting: Server
    keys: Keys

    def id_of(self, which: str) -> str | None:
        """Find the id of a job that has a kept result: see `Results.id_of`. Only for the beginning of an id it looks
        through the names of all keys.
        """
        with self.server.translated() as client:
            pipe = client.pipeline(transaction=False)
            pipe.get(self.keys.result(NAMED + which))
            pipe.exists(self.keys.result(which))
            named, is_id = pipe.execute(raise_on_error=False)  # a key of another type leads nowhere
        if isinstance(named, bytes):
            return named.decode("utf-8", "replace")
        if is_id == 1:
            return which
        if not SHORTEST <= len(which) < ID_DIGITS or not all(c in "0123456789abcdef" for c in which):
            return None
        ids = sorted(id for id in self._ids() if id.startswith(which))
        if len(ids) > 1:
            raise NotFound(f'"{which}" is the beginning of {len(ids)} jobs with results; give more of it.', given=which)
        return ids[0] if ids else None

    def of(self, id: str) -> Sequence[Result]:
        """Read the results of a job: see `Results.of`."""
        with self.server.translated() as client:
            pipe = client.pipeline(transaction=False)
            pipe.xrevrange(self.keys.result(id))
            (entries,) = pipe.execute(raise_on_error=False)
        if not isinstance(entries, list):  # the next ending replaces a key of another type
            return []
        now_ms = server_ms(self.server)
        return [found for place, fields in entries if (found := read_result(place, fields, now_ms=now_ms)) is not None]

    def after(self, id: str, *, place: str, wait_ms: int) -> Sequence[Result]:
        """Wait for further results of a job: see `Results.after`."""
        with self.waiting.translated() as client:
            streams = client.xread({self.keys.result(id): place}, block=max(1, wait_ms))
        now_ms = server_ms(self.server)
        entries = [entry for _, page in streams or () for entry in page]
        found = (read_result(at, fields, now_ms=now_ms) for at, fields in reversed(entries))
        return [result for result in found if result is not None]

    def size(self) -> tuple[int, int]:
        """Count the jobs with results, and estimate their bytes: see `Results.size`."""
        ids = sorted(self._ids())
        step = max(1, len(ids) // SAMPLES)
        some = [self.keys.result(id) for id in ids[::step]]
        if not some:
            return 0, 0
        with self.server.translated() as client:
            pipe = client.pipeline(transaction=False)
            for key in some:
                pipe.memory_usage(key)
            found = [size or 0 for size in pipe.execute()]
        return len(ids), sum(found) * len(ids) // len(some)

    def _ids(self) -> set[str]:
        """Find the jobs with results. None is found in a database with too many keys: see `names_behind`."""
        names = names_behind(self.server, self.keys.result("")) or ()
        return {name for name in names if not name.startswith(NAMED)}


@dataclass(frozen=True, slots=True)
class ShardedResults:
    """The results of all shards. A job's are where it ran."""

    shards: Sequence[NativeResults]

    def id_of(self, which: str) -> str | None:
        """Find the id of a job that has a kept result."""
        return next((id for shard in self.shards if (id := shard.id_of(which)) is not None), None)

    def of(self, id: str) -> Sequence[Result]:
        """Read the results of a job."""
        return next((found for shard in by_home(self.shards, id) if (found := shard.of(id))), [])

    def after(self, id: str, *, place: str, wait_ms: int) -> Sequence[Result]:
        """Wait for further results of a job, where it is or has been."""
        return self._home(id).after(id, place=place, wait_ms=wait_ms)

    def size(self) -> tuple[int, int]:
        """Add up all shards."""
        sizes = [shard.size() for shard in self.shards]
        return sum(count for count, _ in sizes), sum(size for _, size in sizes)

    def _home(self, id: str) -> NativeResults:
        for shard in by_home(self.shards, id):
            with shard.server.translated() as client:
                if client.hexists(shard.keys.jobs, id) or client.exists(shard.keys.result(id)):
                    return shard
        return by_home(self.shards, id)[0]
