"""The version of workkit. It is written only here."""

__version__ = "0.1.0"
