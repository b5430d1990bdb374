"""One run of one job: how it is called, interrupted, and what it says of itself."""
