"""How to talk to a Redis or Valkey server, whatever the layout."""
