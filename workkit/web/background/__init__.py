"""What the web process does in threads of its own: checkups, and work that takes a while."""
