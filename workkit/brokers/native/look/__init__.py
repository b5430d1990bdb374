"""Looking at a native schedule, and changing it by hand. Nothing here is on the working path."""
