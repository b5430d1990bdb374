"""What the checkups of all layouts on Redis share: the server, listeners, what cannot be read. Knows no key."""
