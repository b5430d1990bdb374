"""The doctor of a gocraft namespace: one walker, one judge, one set of fault names; repairs."""
