"""The promises of a broker, whatever the wire: protocols that a layout keeps, and values that cross the border.

`broker` has the five protocols of every layout, `optional` those of some; the other files have the values. No method
takes or returns a type of a client library. Instants are integer epoch milliseconds by the server's clock.
"""
