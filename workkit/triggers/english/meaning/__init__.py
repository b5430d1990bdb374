"""What a phrase means: from what was said to instants and rules."""
