"""The grammar of phrases: from words to what was said."""
