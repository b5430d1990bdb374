"""What a mark says: a text of one line, read before a schedule keeps it."""

from __future__ import annotations

from typing import Any

from workkit.contract.changes import LONGEST_MARK
from workkit.errors import InvalidOptions
from workkit.jobs.option_readers import CONTROL, option_error


def read_mark(text: Any) -> str:
    """Read the text of a mark. Raises InvalidOptions."""
    if not isinstance(text, str) or not text.strip():
        trouble = "is empty" if isinstance(text, str) else "is not a text"
        raise option_error("text", text, trouble, 'Say what happened: "release 41".')
    if len(text) > LONGEST_MARK:
        trouble, remedy = f"has {len(text):,} characters", f"Accepted: 1 to {LONGEST_MARK}."
        raise InvalidOptions.about(f'text="{text[:20]}..."', trouble, remedy, where="text", given=text)
    if found := CONTROL.search(text):
        where = found.start()
        trouble = f"has a control character (column {where + 1})"
        raise option_error("text", text, trouble, "Write it in one line, without.", position=where)
    return text
