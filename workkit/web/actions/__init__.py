"""Acts on a schedule: the changes that a person makes from a browser, and how each is undone (spec/web.md, 8)."""
