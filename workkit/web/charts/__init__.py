"""Geometry of what pages draw: frozen values in, paths and sentences out. No HTML, no clock, no server."""
