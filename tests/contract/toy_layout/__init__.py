"""A layout that keeps plain jobs in a dictionary of this process: the proof that a layout is a folder and one line."""
