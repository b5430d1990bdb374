"""The pure domain: what a job is, how functions are named, what becomes of a run."""
