"""The verbs of `workkit.schedule`, and their work: one file for each group of verbs."""
