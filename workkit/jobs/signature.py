"""The parameters of a function, whichever Python reads them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any


def signature_of(fn: Callable[..., Any]) -> inspect.Signature:
    """Read the signature of a function; its annotations may name what exists only for a type checker. Raises ValueError
    or TypeError for what has no signature.

    From Python 3.14 on an annotation is evaluated when somebody reads it (PEP 649): such a name would be a NameError.
    """
    if sys.version_info >= (3, 14):
        from annotationlib import Format

        return inspect.signature(fn, annotation_format=Format.FORWARDREF)
    return inspect.signature(fn)
