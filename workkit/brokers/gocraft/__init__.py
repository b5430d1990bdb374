"""The gocraft layout: a namespace of gocraft/work, shared with its pools in Go. Normative: spec/layouts/gocraft.md."""
