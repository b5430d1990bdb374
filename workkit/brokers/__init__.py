"""One folder per wire layout, and how a URL becomes a broker."""
