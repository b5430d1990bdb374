"""Jobs of the project."""
