"""Schedules in the browser, as an ASGI application to be mounted into a program of yours.

    from workkit.asgi import app

    api.mount("/jobs", app(s, role=lambda request: request.state.user.jobs_role))

`workkit web` serves the same by itself. The pages, addresses, roles and JSON: spec/web.md. Needs the extra `web`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Any, Literal

from workkit.brokers.layout import NATIVE, layout_of
from workkit.brokers.redis_server.doctor import Unhurried
from workkit.errors import InvalidOptions
from workkit.triggers.zone import zone as read_zone
from workkit.verbs.creation import Schedule, check_schedule
from workkit.verbs.opening import producer_of

try:
    from workkit.web.app import application
    from workkit.web.auth import Mounted, Signer, Way
    from workkit.web.cache import Served
    from workkit.web.mask import veil_of
    from workkit.web.request import Settings
    from workkit.web.works import Checkup
except ImportError as error:
    raise ImportError(f"workkit.asgi needs the extra web ({error}). Install it: pip install 'workkit[web]'") from error

if TYPE_CHECKING:
    from starlette.applications import Starlette


SECRET_ENV = "WORKKIT_WEB_SECRET"
LIVE = ("stream", "poll")


def app(
    s: Schedule | Iterable[Schedule],
    *,
    role: Callable[[Any], Any] | None = None,
    mask: Callable[[str, Any], bool | None] | None = None,
    mask_all: bool = False,
    read_only: bool = False,
    tz: str | None = None,
    env: str = "",
    title: str = "",
    origins: Sequence[str] = (),
    secret: str | None = None,
    live: Literal["stream", "poll"] = "stream",
) -> Starlette:
    """Make the application of one schedule or several. It opens nothing before the first request.

    `role` gets the request, and returns "viewer", "operator", "editor", a mapping of schedules to these, or None: then
    the request is answered as if nothing was here. It may be a coroutine function. It is needed: whoever mounts this
    decides who may come in. `read_only`: nobody is more than a viewer. `mask` gets a name and its value, and
    says whether the value is hidden (True), shown (False), or treated as usual (None); `mask_all`: viewers see no
    argument. `tz`: the zone of the times (else that of each schedule). `env`: the environment's name.
    `origins`: as browsers name this program, where a proxy stands before it. `secret` signs the forms (else
    WORKKIT_WEB_SECRET, else a new one in each process): several processes behind one address need the same.

    `live`: a page that is open is kept fresh by a stream; "poll": it asks every 5 s, for servers that hold a thread for
    each answer (WSGI). A server that waits for its answers before it ends should not wait for streams: with uvicorn,
    `timeout_graceful_shutdown=3`, or call `state.hub.end()` of this application when it stops.

    Raises InvalidOptions, InvalidSchedule, TriggerError.
    """
    if role is None:
        remedy = "Write role=lambda request: ..., which returns viewer, operator, editor or None."
        raise InvalidOptions.about("role", "is not given, so everyone could come in", remedy, where="role")
    return build(
        s, way=Mounted(role), mask=mask, mask_all=mask_all, read_only=read_only, tz=tz, env=env, title=title,
        origins=origins, signer=signer(secret), live=live,
    )  # fmt: skip


def build(
    s: Schedule | Iterable[Schedule],
    *,
    way: Way,
    signer: Signer,
    mask: Callable[[str, Any], bool | None] | None = None,
    pattern: str | None = None,
    mask_all: bool = False,
    read_only: bool = False,
    tz: str | None = None,
    env: str = "",
    title: str = "",
    hosts: Collection[str] | None = None,
    origins: Sequence[str] = (),
    live: str = "stream",
    root_path: str = "",
    flags: Sequence[str] | None = None,
) -> Starlette:
    """Make the application for a way in. `pattern`: a regular expression for further names that are hidden.
    `root_path`: the path of it behind a proxy, without a final slash. `flags`: how a command names the server and the
    layout of these schedules; None: by the layout alone, where it is not the usual one.
    """
    schedules = [s] if isinstance(s, Schedule) or not isinstance(s, Iterable) else list(s)
    if live not in LIVE:
        accepted = " or ".join(f'"{one}"' for one in LIVE)
        raise InvalidOptions.about(
            f"live={live!r}", "is no way to keep a page fresh", f"Write {accepted}.", given=live, accepted=accepted
        )
    if not schedules:
        raise InvalidOptions.about("s", "has no schedule", "Give at least one.", where="s")
    for one in schedules:
        check_schedule(one)
    if len({one.name for one in schedules}) < len(schedules):
        trouble = "has two schedules with one name"
        raise InvalidOptions.about("s", trouble, "Mount them at addresses of their own.", where="s")
    settings = Settings(
        way=way,
        signer=signer,
        veil=veil_of(mask, pattern),
        hosts=hosts,
        origins=frozenset(origin.rstrip("/").lower() for origin in origins),
        is_read_only=read_only,
        hides_args=mask_all,
        env=env,
        title=title,
        polls=live == "poll",
        root_path=root_path,
    )
    return application([_served(one, tz, flags) for one in schedules], settings=settings)


def signer(secret: str | None = None) -> Signer:
    """Make what signs forms and logins: by a secret, else WORKKIT_WEB_SECRET, else by a new one."""
    found = secret or os.environ.get(SECRET_ENV)
    return Signer(found) if found else Signer()


def _served(s: Schedule, tz: str | None, flags: Sequence[str] | None) -> Served:
    if flags is None:
        flags = () if s.layout == NATIVE else (f"--layout {s.layout}",)
    zone: tzinfo = UTC if (tz or s.tz) == "UTC" else read_zone(tz or s.tz)
    checkup = Checkup(doctor=lambda: Unhurried(producer_of(s).doctor), patience=layout_of(s.layout).patience)
    return Served(s=s, zone=zone, checkup=checkup, flags=flags)
