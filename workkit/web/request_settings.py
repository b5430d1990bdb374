"""What whoever starts or mounts the web says of it, as a value."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from workkit.web.auth import Way
from workkit.web.auth_signer import Signer
from workkit.web.mask_veil import Veil


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the web is served. `hosts` and `origins`: see `door.guard`. `is_read_only`: nobody is more than a viewer.
    `env`: the name of the environment, in the bar. `hides_args`: a viewer sees no argument. `polls`: pages ask
    again and again, and no stream is opened.
    """

    way: Way
    signer: Signer
    veil: Veil
    hosts: Collection[str] | None = None
    origins: Collection[str] = field(default_factory=frozenset)
    is_read_only: bool = False
    hides_args: bool = False
    env: str = ""
    title: str = ""
    polls: bool = False
