"""The native protocol as an explicit-state model, explored over every interleaving. `python -m tests.model` runs it."""
