"""Changing a native schedule by hand: cancel, pause, skip, run, retry, discard. Not on the working path."""
