"""The doctor of a native schedule: what is wrong, and the repair of what is safe to repair."""
