"""The cron engine: the seven-field, year-aware cron string and its next times."""
