"""A private server process for one folder."""
