"""Pickles of values that are plain: texts, numbers, lists, dicts. A pickle that names a class or a function is refused
before it can do anything, as a pickle of a stranger may run any code.
"""

from __future__ import annotations

import io
import pickle
from typing import Any, NoReturn

from workkit.moving.refusal import NotCarried


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> NoReturn:
        raise NotCarried(
            f"Its arguments hold a {module}.{name}, whose pickle is not opened: it could run any code.",
            "Write the entry by hand, with plain arguments.",
        )

    def persistent_load(self, _pid: Any) -> NoReturn:
        raise NotCarried("Its pickle refers to something outside of it.", "Write the entry by hand.")


def plain_pickle(data: bytes) -> Any:
    """Read a pickle of plain values. Raises NotCarried for any other."""
    try:
        return _Plain(io.BytesIO(data)).load()
    except NotCarried:
        raise
    except Exception as error:  # a pickle that is cut or forged fails in many ways
        raise NotCarried(f"Its pickle cannot be read: {error}.", "Write the entry by hand.") from error
