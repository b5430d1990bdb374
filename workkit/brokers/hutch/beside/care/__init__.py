"""The doctor of the Redis beside an exchange: what dead listeners have left, what cannot be read; repairs."""
