"""Worker processes for handlers that keep an interpreter busy."""
