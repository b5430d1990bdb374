"""Crontabs as plans."""
