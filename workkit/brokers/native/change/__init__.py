"""Change a native schedule by hand: cancel, pause, skip, run, retry, discard. Listeners do not use this package."""
