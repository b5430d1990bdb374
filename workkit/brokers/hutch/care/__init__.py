"""The doctor of an exchange: one walker, one judge, one set of fault names; repairs."""
