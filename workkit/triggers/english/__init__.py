"""English about times: `phrase` reads it, `sentence` writes it."""
