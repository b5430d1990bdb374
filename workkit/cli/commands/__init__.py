"""One file for each command, or for a group that shares its options."""
