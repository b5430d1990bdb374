"""Structured arguments: parameters of a handler that are annotated with a dataclass or a pydantic model. They travel as
plain JSON (spec/features.md), are checked when the job is added, and built when it runs. Pure.
"""
