"""Imports from other schedulers: each entry becomes part of a workkit plan, exactly, or is refused with the reason."""
