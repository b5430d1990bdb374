"""What the tests of the doctor share: what it finds in a namespace, and repairs that work once."""

from __future__ import annotations

import json
from typing import Any

from tests.brokers.gocraft.serving.fleet import Namespace
from workkit.contract.doctor import Finding

TEXT: dict[str, Any] = {"name": "export", "id": "a" * 24, "t": 1500000000, "args": {"i": 0}}


def text(**more: Any) -> bytes:
    return json.dumps({**TEXT, **more}, separators=(",", ":")).encode()


def found(ns: Namespace, *, patience_ms: int = 0) -> list[Finding]:
    """All findings about the namespace."""
    return [finding for finding in ns.producer.doctor.checkup(patience_ms=patience_ms) if finding.schedule]


def kinds(ns: Namespace, **how: int) -> list[str]:
    return [finding.kind for finding in found(ns, **how)]


def only(ns: Namespace, kind: str, *, patience_ms: int = 0) -> Finding:
    """The one finding of this kind. It says all its parts."""
    (finding,) = (one for one in found(ns, patience_ms=patience_ms) if one.kind == kind)
    assert all((finding.what, finding.why, finding.remedy))
    return finding


def repair(ns: Namespace, kind: str) -> Finding:
    """Repair the one finding of this kind: it works once, and nothing of the kind is left."""
    finding = only(ns, kind)
    assert finding.repairs
    assert ns.producer.doctor.repair(finding)
    assert not ns.producer.doctor.repair(finding)
    assert kind not in kinds(ns)
    return finding
