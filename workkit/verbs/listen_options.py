"""The options of the verbs that run jobs, as one value. The table of options: `workkit.jobs.options`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from workkit.jobs.options import FORWARD, LISTEN, read_options
from workkit.worker.loop import How

_DEFAULTS: Mapping[str, Any] = {
    "threads": 10, "imports": (), "deadline": 25.0, "strict": False, "burst": False, "listener_timeout": 10.0,
    "health_port": None, "jobs": None, "consumers": (), "publish": True, "keep_unfit": 600.0,
    "listener_name": "",
}  # fmt: skip


def read_how(options: Mapping[str, Any]) -> tuple[How, int]:
    """Read how to listen, and after how many milliseconds a listener without a heartbeat loses its jobs.

    Raises InvalidOptions, TriggerError.
    """
    return _how({"folder": Path.cwd(), **read_options(options, place=LISTEN, verb="listen")})


def read_forward(options: Mapping[str, Any]) -> tuple[How, int]:
    """The same of `forward`, which runs no function. Raises InvalidOptions, TriggerError."""
    return _how(
        {"threads": 1, "folder": None, "publish": False, **read_options(options, place=FORWARD, verb="forward")}
    )


def _how(options: Mapping[str, Any]) -> tuple[How, int]:
    read = {**_DEFAULTS, **options}
    timeout: float = read["listener_timeout"]
    how = How(
        threads=read["threads"],
        imports=read["imports"],
        jobs=read["jobs"],
        consumers=read["consumers"],
        folder=read["folder"],
        deadline=timedelta(seconds=read["deadline"]),
        strict=read["strict"],
        burst=read["burst"],
        health=read["health_port"],
        stuck_after=timedelta(seconds=3 * timeout),
        publish=read["publish"],
        name=read["listener_name"],
        keep_unfit=timedelta(seconds=0 if read["burst"] else read["keep_unfit"]),  # a burst must end
    )
    return how, round(timeout * 1000)
