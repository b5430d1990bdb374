"""Ways to move in: what another scheduler has, read as a plan of workkit, exactly or refused with the reason."""
