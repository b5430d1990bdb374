"""What a phrase means: from its parts to instants and rules."""
