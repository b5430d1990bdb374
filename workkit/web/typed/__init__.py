"""What somebody typed, read: filters and instants. Pure."""
