"""The work of the verbs of `workkit.schedule`: one file for each group of verbs."""
