"""The web face: schedules in the browser."""
