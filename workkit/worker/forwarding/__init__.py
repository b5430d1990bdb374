"""Forwarding: due jobs of one schedule are published to another, in place of being run here. It knows the contract of
both, and no layout. Normative: spec/forward.md.
"""
