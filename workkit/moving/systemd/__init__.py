"""Timers of systemd as plans."""
