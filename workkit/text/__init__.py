"""Reading values from text and writing values as text, for every layer."""
