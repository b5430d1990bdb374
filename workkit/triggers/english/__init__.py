"""English about times: `phrase` reads it, by the grammar of the other modules, and `sentence` writes it."""
