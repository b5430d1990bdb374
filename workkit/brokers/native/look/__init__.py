"""Read a native schedule, in pages, and change nothing. Listeners do not use this package."""
