"""What the benchmark knows about one system: how it is started, how much it is given, and what it was told to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Dues(StrEnum):
    """How finely a due time can be said to a peer."""

    FRACTIONS = "fractions of a second"
    SECONDS = "whole seconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One system under test.

    In commands, a first word `python` or `node` is that of its installation, any other one is a program of it;
    `{server}` becomes the server's URL. `busy` and `idle` are further words, and variables, of the worker where the
    rate is measured and where it waits for jobs; `pausing_variables` those where a function takes a while, of which
    `at_once` run at once; `clock` is the command of one more process that scheduled jobs need.
    `settings` and `acknowledges` are for the report.
    """

    name: str
    app: str
    worker: tuple[str, ...]
    jobs: int
    short_jobs: int
    dues: Dues
    settings: str
    acknowledges: str
    packages: tuple[str, ...]
    busy: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    busy_variables: Mapping[str, str] = field(default_factory=dict)
    pausing_variables: Mapping[str, str] = field(default_factory=dict)
    at_once: int = 10
    variables: Mapping[str, str] = field(default_factory=dict)
    clock: tuple[str, ...] = ()
    is_node: bool = False
    is_on_postgres: bool = False
