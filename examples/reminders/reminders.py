"""Reminders in words, in each user's zone: create, list, delete and snooze them, with FastAPI.

pip install '/path/to/workkit[embedded]' fastapi uvicorn httpx pytest
cd examples/reminders; uvicorn reminders:api       serves, and reminds; no other program is needed
cd examples/reminders; python -m pytest            tests it, with a clock that the tests move
curl --json '{"text": "water the plants", "when": "every weekday at 8"}' -H 'user: 7' http://127.0.0.1:8000/reminders
"""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4
from zoneinfo import ZoneInfo

from fastapi import Body, FastAPI, Header, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from workkit import Job, aio, schedule, triggers
from workkit.asgi import lifespan
from workkit.errors import Invalid, NotFound

PARIS = ZoneInfo("Europe/Paris")
s = schedule.create("reminders", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")
api = FastAPI(lifespan=lifespan(s, listen=True))


@s.job(retries=3, keep="1 day")  # what it returns is kept, so that a reminder can be snoozed after it was shown
def remind(user: int, text: str) -> tuple[int, str]:
    print(f"to user {user}: {text}", flush=True)  # yours sends a mail or a push message
    return user, text


class User(BaseModel):
    """Who the headers say. Yours reads the login, and the zone from the profile."""

    user: int
    zone: ZoneInfo = PARIS

    @property
    def tag(self) -> str:
        return f"user:{self.user}"  # of all jobs of this user


Me = Annotated[User, Header()]


def shown(me: User, found: Job) -> dict[str, Any]:
    """Say what was understood, in the zone of the user, who sees at once whether that was meant."""
    when = triggers.explain(found.trigger) if found.trigger and found.recurs else "once"
    at = found.due and found.due.astimezone(me.zone)
    return {"id": found.name, "text": found.args[1], "when": when, "next": at}


@api.post("/reminders", status_code=201)
async def create(
    text: Annotated[str, Body(min_length=1, max_length=500)], when: Annotated[str, Body(max_length=200)], me: Me
) -> dict[str, Any]:
    return shown(me, await remind.when(when, tz=me.zone, name=uuid4().hex, tags=[me.tag]).asend(me.user, text))


@api.get("/reminders")
async def listed(me: Me) -> list[dict[str, Any]]:
    """List each once: of one that is being shown, its next time."""
    found = {one.name: one async for one in aio.jobs(s, tag=me.tag) if one.state != "dead"}
    return [shown(me, one) for one in found.values()]


@api.delete("/reminders/{reminder}", status_code=204)
async def delete(reminder: str, me: Me) -> None:
    await aio.cancel(s, reminder, tag=me.tag)
    await aio.cancel(s, f"{reminder}-again", tag=me.tag, missing_ok=True)


@api.post("/reminders/{reminder}/snooze")
async def snooze(reminder: str, minutes: Annotated[int, Body(embed=True, ge=1, le=1440)], me: Me) -> dict[str, Any]:
    """Remind once more, so much later. One that recurs keeps its times; one that waits is put off."""
    found = await aio.job(s, reminder)  # also one that was shown, and is over
    user, text = found.args or await aio.result(s, found, wait=None)
    if user != me.user:
        raise NotFound(reminder)
    name = f"{reminder}-again" if found.recurs else reminder
    return shown(me, await remind.in_(timedelta(minutes=minutes), name=name, tags=[me.tag]).asend(user, text))


@api.exception_handler(Invalid)
async def not_a_time(request: Request, error: Invalid) -> JSONResponse:
    """Say it in words for the user. The error's own text is for the programmer: it names commands and keywords."""
    return JSONResponse({"detail": error.public}, status_code=422)


@api.exception_handler(NotFound)
async def not_found(request: Request, error: NotFound) -> JSONResponse:
    return JSONResponse({"detail": "You have no such reminder."}, status_code=404)
