"""Check all shards of a schedule as if they were one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from workkit.brokers.native.care.doctor import NativeDoctor
from workkit.contract.doctor import Finding


class ShardedDoctor:
    """Checks and repairs the shards of one schedule."""

    def __init__(self, shards: Sequence[NativeDoctor]) -> None:
        self._shards = tuple(shards)

    def checkup(self, *, patience_ms: int) -> Iterator[Finding]:
        """Look for faults, shard by shard. If several shards have the same fault, name it once."""
        said: set[tuple[str, str]] = set()
        for number, shard in enumerate(self._shards):
            for finding in shard.checkup(patience_ms=patience_ms):
                if (finding.kind, finding.what) in said and finding.subject is None:
                    continue
                said.add((finding.kind, finding.what))
                yield replace(finding, subject=(number, finding.subject))

    def repair(self, finding: Finding) -> bool:
        """Repair one fault, in its shard."""
        number: int = finding.subject[0]
        return self._shards[number].repair(replace(finding, subject=finding.subject[1]))
