"""Metadata of a job: a few texts by name, such as the id of a request. They are no arguments: each handler finds them
in `current_job().meta`, and the jobs that it adds inherit them. The rules are in spec/features.md 15.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from workkit.errors import InvalidOptions
from workkit.jobs.option_readers import CONTROL, option_error

Meta = Mapping[str, str]

MOST_META = 1_000  # bytes of its JSON in UTF-8
CARRIED: ContextVar[Meta | None] = ContextVar("workkit_meta", default=None)  # of the enclosing block or run
is_used = False  # whether this process has used metadata; if not, additions skip the search for it


def read_meta(value: Any, name: str = "meta") -> dict[str, str] | None:
    """Read texts by name, as a mapping, as its JSON, or as ``NAME=VALUE``, one or several. None for no name."""
    found: Any = value
    if isinstance(value, str):
        found = _parsed(value)
    elif isinstance(value, list | tuple):
        parts = [found for one in value if isinstance(one, str) and type(found := _parsed(one)) is dict]
        found = {name: text for part in parts for name, text in part.items()} if len(parts) == len(value) else value
    if not isinstance(found, Mapping):
        raise option_error(name, value, "does not map names to texts", f'Write {name}={{"request": "9f2c"}}.')
    for key, text in found.items():
        if not isinstance(key, str) or not isinstance(text, str):
            raise _wrong(name, f"has {key!r}: {text!r}, which are not two texts", "Write str(...).", text)
        if not key or CONTROL.search(key) or CONTROL.search(text):
            trouble = f"has a control character in {key!r}: {text[:50]!r}" if key else "has a text without a name"
            raise _wrong(name, trouble, "Leave it out.", text)
    meta = dict(sorted(found.items()))  # so that equal metadata has equal bytes
    if (size := len(json.dumps(meta, ensure_ascii=False).encode())) > MOST_META:
        remedy = f"Accepted: up to {MOST_META:,}. Keep the data elsewhere, and give its key."
        raise _wrong(name, f"has {size:,} bytes of JSON", remedy, value)
    return meta or None


def _wrong(name: str, trouble: str, remedy: str, given: Any) -> InvalidOptions:
    return InvalidOptions.about(f"{name}=", trouble, remedy, where=name, given=given)


def stored_meta(value: Any) -> dict[str, str] | None:
    """Read the member `meta` of a payload; None if it has another form, as other programs may write there too."""
    global is_used
    try:
        meta = read_meta(value) if type(value) is dict else None
    except InvalidOptions:
        return None
    is_used = is_used or meta is not None
    return meta


def carried(own: Meta | None) -> dict[str, str] | None:
    """Complete the metadata of an addition by that of the block or run around it. Raises InvalidOptions if the result
    is too large.
    """
    around = CARRIED.get()
    return read_meta({**around, **(own or {})}) if around else None if own is None else dict(own)


@contextmanager
def meta(**texts: str) -> Iterator[None]:
    """Add this metadata to every job that is added inside the block; a value of `add` wins. Blocks may be nested. It
    applies to this thread or task, and to tasks and `workkit.aio` calls that begin inside. Raises InvalidOptions.
    """
    global is_used
    is_used = True
    token = CARRIED.set(read_meta({**(CARRIED.get() or {}), **texts}))
    try:
        yield
    finally:
        CARRIED.reset(token)


def meta_text(meta: Meta | None) -> str:
    """Write metadata for a line: ``request=9f2c user=7``."""
    return " ".join(f"{name}={text}" for name, text in (meta or {}).items())


def _parsed(text: str) -> Any:
    if text.lstrip()[:1] == "{":
        try:
            return json.loads(text)
        except ValueError:
            return None
    key, equals, value = text.partition("=")
    return {key.strip(): value} if equals else None
