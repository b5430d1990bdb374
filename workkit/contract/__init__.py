"""What a broker promises, whatever the wire, in parts: values that cross the border, and protocols that a layout keeps.

`producer` adds jobs, `consumer` runs them, `broker` does both; `inspector` looks, `admin` changes, `doctor` checks and
repairs. No method takes or returns a type of a client library. Instants are integer epoch milliseconds by the server's
clock.
"""
