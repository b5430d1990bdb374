"""The small application of README.md: what its blocks import. They run in this folder, from top to bottom."""
