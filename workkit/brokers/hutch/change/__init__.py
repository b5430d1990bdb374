"""Changing an exchange by hand: dead messages run again, or are forgotten. The working path does not use it."""
