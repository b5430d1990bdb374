"""Schedules in the browser, as an ASGI application to be mounted into a program of yours.

    from workkit.asgi import app

    api.mount("/jobs", app(s, role=lambda request: request.state.user.jobs_role))

`workkit web` serves the same by itself. The pages, addresses, roles and JSON: spec/web.md. Needs the extra `web`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any, Literal

from workkit import schedule as verbs
from workkit.brokers.layout import layout_of
from workkit.brokers.redis_server.care.unhurried import Unhurried
from workkit.errors import InvalidOptions
from workkit.text.duration import epoch_ms
from workkit.triggers.clock.zone import zone as read_zone
from workkit.verbs import control as undoing
from workkit.verbs import rescheduling, saving
from workkit.verbs.author import acting, author_of
from workkit.verbs.creation import Schedule, check_schedule
from workkit.verbs.dead import discard_dead, revival_refusal, revive
from workkit.verbs.opening import producer_of

try:
    from workkit.web.application import application
    from workkit.web.background.checkup import Checkup
    from workkit.web.door.signer import Signer
    from workkit.web.door.ways import Mounted, Way
    from workkit.web.hiding.veil import veil_of
    from workkit.web.served import Served
    from workkit.web.settings import Settings
except ImportError as error:
    raise ImportError(f"workkit.asgi needs the extra web ({error}). Install it: pip install 'workkit[web]'") from error

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from workkit.contract.admin import Arguments
    from workkit.contract.changes import Author
    from workkit.contract.doctor import Finding
    from workkit.contract.undo import Undo
    from workkit.errors import WorkkitError
    from workkit.jobs.job import Job

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
) -> Starlette:
    """Make the application for a way in. `pattern`: a regular expression for further names that are hidden."""
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
    )
    return application([_served(one, tz) for one in schedules], settings=settings)


def signer(secret: str | None = None) -> Signer:
    """Make what signs forms and logins: by a secret, else WORKKIT_WEB_SECRET, else by a new one."""
    found = secret or os.environ.get(SECRET_ENV)
    return Signer(found) if found else Signer()


def _served(s: Schedule, tz: str | None) -> Served:
    zone: tzinfo = UTC if (tz or s.tz) == "UTC" else read_zone(tz or s.tz)
    checkup = Checkup(doctor=lambda: Unhurried(producer_of(s).doctor), patience=layout_of(s.layout).patience)
    return Served(
        name=s.name, zone=zone, inspector=lambda: producer_of(s).inspector, checkup=checkup, verbs=_Verbs(s, tz or s.tz)
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Verbs:
    """The verbs on one schedule, as `workkit.web.acts.verbs` wants them. `tz`: the zone of the end of a pause."""

    s: Schedule
    tz: str

    def pause(self, which: str | None, *, reason: str | None, until: str | None) -> None:
        verbs.pause(self.s, which, reason=reason, until=None if until is None else self.pause_end(until))

    def pause_end(self, until: str) -> datetime:
        found = undoing.pause_until(None, until, tz=self.tz, now_ms=epoch_ms(datetime.now(UTC))).until
        assert found is not None, "it has an end"
        return found

    def resume(self, which: str | None) -> None:
        verbs.resume(self.s, which)

    def acting(self, author: Author) -> AbstractContextManager[None]:
        return acting(author if author.by else replace(author, by=author_of(None).by))

    def run(self, which: str) -> tuple[Job, Undo | None]:
        return undoing.make(producer_of(self.s), "run", which)

    def skip(self, which: str) -> tuple[Job, Undo | None]:
        return undoing.make(producer_of(self.s), "skip", which)

    def cancel(self, which: str) -> tuple[Job, Undo | None]:
        return undoing.make(producer_of(self.s), "cancel", which)

    def interrupt(self, run: Job, listener: str) -> None:
        producer_of(self.s).admin.by(author_of(None)).interrupt(run, listener)

    def undo(self, undo: Undo) -> Job:
        return undoing.undo(producer_of(self.s), undo)

    def quiet(self, listener: str, on: bool) -> bool:
        return producer_of(self.s).admin.by(author_of(None)).quiet(listener, on)

    def note_shown(self, job: Job, argument: str) -> None:
        producer_of(self.s).admin.by(author_of(None)).note("show", {"argument": argument}, job=job)

    def purge_history(self) -> None:
        producer_of(self.s).admin.by(author_of(None)).forget_history()

    def repair(self, finding: Finding) -> bool:
        broker = producer_of(self.s)
        broker.admin.by(author_of(None)).note("repair", {"faults": [finding.kind]})
        return broker.doctor.repair(finding)

    def imagined(self, given: Mapping[str, Any], *, stands: Job | None) -> Job:
        return saving.imagined(self.s, given, stands=stands)

    def saved(self, given: Mapping[str, Any], *, seen: Job | None, stands: Job | None) -> Job | None:
        return saving.saved(self.s, given, seen=seen, stands=stands)

    def put_back(self, job: Job, *, over: Job) -> Job | None:
        return saving.put_back(self.s, job, over=over)

    def reschedule(self, which: str, *, when: str, tz: str | None, seen: str | None) -> tuple[Job, Job]:
        return rescheduling.rescheduled(self.s, which, {"typed": when, "tz": tz}, seen=seen)

    def reschedule_back(self, job: Job, *, over: Job) -> Job:
        return rescheduling.put_back(self.s, job, over=over)

    def dead(self, which: str) -> list[Job]:
        return verbs.dead(self.s, which)

    def retry(self, dead: Sequence[Job], *, args: Arguments | None, rate: str | None) -> list[WorkkitError | None]:
        admin = producer_of(self.s).admin.by(author_of(None))
        latest_first = sorted(dead, key=lambda job: job.due.timestamp() if job.due else 0.0, reverse=True)
        found = revive(admin, latest_first, args=args, rate=rate, most_bytes=self.s.max_payload)
        said = {job.dead_id: revival_refusal(job, answer) for job, answer in found}
        return [said[job.dead_id] for job in dead]

    def discard(self, dead: Sequence[Job]) -> int:
        return discard_dead(producer_of(self.s).admin.by(author_of(None)), dead)
