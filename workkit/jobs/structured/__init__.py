"""Structured arguments: parameters of a handler that are annotated with a dataclass, a pydantic model, or a type that
JSON has in another form. They travel as plain JSON (spec/features.md), are checked when the job is added, and built
when it runs. Pure.
"""
