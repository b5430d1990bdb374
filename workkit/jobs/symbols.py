"""The grammar of a name that Clojure's reader reads as one var: what stands behind ``#'``, a namespace and a name.

spec/job.md section 4 states it; spec/vectors/clojure/names.json holds what the reader said.
"""

from __future__ import annotations

import re
import unicodedata

_ENDS = frozenset('()[]{}";`,~@^\\')  # the reader ends a name there
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zs", "Zl", "Zp"))  # controls, format characters, half characters, blanks
_LIKE_A_NUMBER = re.compile(r"[+-]?(?=[\0-\uffff])\d")


def flaw(name: str) -> str | None:
    """Say why a user cannot add NAME, as the end of a sentence; None where it can be added.

    Stricter than Clojure in one point: an invisible character is refused.
    """
    unseen = next((mark for mark in name if unicodedata.category(mark) in _UNSEEN), None)
    return name_refused(name) if unseen is None else f"it contains {unseen!r}, an invisible character"


def name_refused(name: str) -> str | None:
    """Say why ``#'NAME`` is not the var NAME to Clojure, as the end of a sentence; None where it is.

    Each half must be a name by itself too, as no Clojure program can define it otherwise.
    """
    space, slash, path = name.partition("/")
    if not (space and slash and path):
        return "it needs a namespace, a / and a name"
    return _refused(space) or (None if path == "/" else _refused(path))


def _refused(half: str) -> str | None:
    for mark in half:
        if mark in _ENDS:
            return f"no name contains {mark}"
        if mark == "/":
            return f"{half} contains a second /"
    if _LIKE_A_NUMBER.match(half):
        return f"{half} begins like a number"
    if half[0] in "#':":
        return f"{half} begins with {half[0]}"
    if "::" in half or half[-1] == ":":
        return f"{half} {'contains ::' if '::' in half else 'ends with :'}"
    return None
