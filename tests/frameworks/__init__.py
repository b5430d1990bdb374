"""Schedules within web frameworks, with the real packages: the examples as they stand."""
