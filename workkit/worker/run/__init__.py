"""One run of one job: its call, its interruption, and its reports."""
