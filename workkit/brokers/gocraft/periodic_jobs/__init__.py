"""Periodic jobs of a namespace: their specs, when these fire, the runs, and who enqueues them."""
