"""How values look on a terminal, in a log and as JSON."""
