"""The calendar of a schedule, for other programs: which events there are, and their text."""
