"""The grammar of phrases: from words to their parts."""
