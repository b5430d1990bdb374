"""The doctor of a native schedule: it names what is wrong, and repairs what is safe to repair."""
