"""Packages of the extras: a test that needs one skips without it, and fails in CI."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest


def needed(module: str) -> Any:
    """Import a module of a package that an extra brings."""
    if os.environ.get("CI"):
        return importlib.import_module(module)
    return pytest.importorskip(module)
