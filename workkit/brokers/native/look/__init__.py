"""Looking at a native schedule. Reads in pages and changes nothing; not on the working path."""
