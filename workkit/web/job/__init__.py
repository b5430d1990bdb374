"""A job that runs once, as its page tells of it: sentences, facts, frames of its error, and what history has of it."""
