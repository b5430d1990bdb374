"""What the verbs of `workkit.schedule` do: one file for each group of verbs."""
