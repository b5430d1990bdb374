"""The dead jobs of a schedule as the web process keeps them: small, masked, found by their error."""
