"""How values are read from text and written as text, for every floor."""
