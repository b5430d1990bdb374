"""A new version among listeners, and how what happened is said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from workkit.contract.listener import ListenerInfo
from workkit.web.planning.happened import Happened, versions

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR_MS = 3_600_000


def info(version: str, hours: float) -> ListenerInfo:
    up_ms = int(hours * HOUR_MS)
    return ListenerInfo(
        listener=f"{version}:{hours}", host="h", pid=1, version=version, schedules={}, threads=1, up_ms=up_ms
    )


def test_the_newest_version_began_with_its_first_listener() -> None:
    (found,) = versions([info("1.9", 50), info("2.0", 1), info("2.0", 3), info("2.1", 0), info("1.9", 0.5)], NOW)
    assert (found.at, found.kind, found.says) == (NOW - timedelta(hours=3), "version", "Version 2.0 began to listen")


@pytest.mark.parametrize("listeners", [[], [info("2.0", 1), info("2.0", 9)]])
def test_one_version_alone_is_no_new_one(listeners: list[ListenerInfo]) -> None:
    assert list(versions(listeners, NOW)) == []


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (Happened(at=NOW, kind="mark", says="release 41", by="deploy"), "Marked: release 41, by deploy"),
        (Happened(at=NOW, kind="mark", says="release 41"), "Marked: release 41"),
        (Happened(at=NOW, kind="sync", says="A plan was synced", by="alice"), "A plan was synced by alice"),
        (Happened(at=NOW, kind="version", says="Version 2.0 began to listen"), "Version 2.0 began to listen"),
    ],
)
def test_what_happened_is_a_sentence(one: Happened, said: str) -> None:
    assert one.sentence == said
