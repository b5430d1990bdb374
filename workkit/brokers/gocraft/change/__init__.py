"""Change a namespace by hand: cancel, pause, run, retry, discard. Pools do not use this room."""
