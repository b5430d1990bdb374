"""The pure domain: jobs, the names of functions, and the outcome of a run."""
