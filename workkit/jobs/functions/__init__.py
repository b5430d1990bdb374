"""Functions that may run: what marks them, which name calls which, and what is told of them."""
