"""Talk to a Redis or Valkey server, for every layout."""
