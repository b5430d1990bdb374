"""Protocols that the broker of every layout keeps, and the values that callers and brokers exchange.

`broker` has the five protocols of every layout, `optional` those that only some layouts keep; the other files have the
values. No method takes or returns a type of a client library. Instants are integer epoch milliseconds by the server's
clock.
"""
