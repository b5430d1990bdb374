"""Commands that look at a schedule, and what they show of it. None of them changes a job."""
