"""The table of findings in the spec of the layout."""

from __future__ import annotations

import re
from pathlib import Path

SPEC = Path(__file__).parents[4] / "spec" / "layouts" / "hutch.md"


def documented() -> tuple[dict[str, str], set[str]]:
    """The severity of each finding, and those that need a second look."""
    _, _, section = SPEC.read_text(encoding="utf-8").partition("## 11. The doctor")
    severities, twice = {}, set()
    for names, star, severity in re.findall(r"^\| (`[^|]*?`)( \*)? \| (\w+) \|", section, re.MULTILINE):
        for name in re.findall(r"`([^`]+)`", names):
            severities[name] = severity
            if star:
                twice.add(name)
    return severities, twice
