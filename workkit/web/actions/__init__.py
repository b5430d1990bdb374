"""Acts on a schedule: what somebody in front of a browser may change, and how it is undone: spec/web.md, 8."""
