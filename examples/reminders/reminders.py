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

from fastapi import Body, Depends, FastAPI, Header, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from workkit import Job, aio, schedule, triggers
from workkit.asgi import lifespan
from workkit.errors import Invalid, NotFound

PARIS = ZoneInfo("Europe/Paris")
s = schedule.create("reminders", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")
api = FastAPI(lifespan=lifespan(s, listen=True))


@s.job(retries=3, keep="1 day")  # what it returns is kept, so that a reminder can be snoozed after it was shown
def remind(user: int, text: str) -> str:
    print(f"to user {user}: {text}", flush=True)  # yours sends a mail or a push message
    return text


class User(BaseModel):
    id: int
    tz: ZoneInfo

    def name(self, reminder: str) -> str:
        """Name a job of this user. The slash behind the number keeps user 7 apart from user 77."""
        return f"u/{self.id}/{reminder}"


def logged_in(user: Annotated[int, Header()], zone: Annotated[ZoneInfo, Header()] = PARIS) -> User:
    """Trust the headers. Yours reads the login, and the zone from the profile."""
    return User(id=user, tz=zone)


Me = Annotated[User, Depends(logged_in)]


def shown(me: User, found: Job) -> dict[str, Any]:
    """Say what was understood, in the zone of the user, who sees at once whether that was meant."""
    when = triggers.explain(found.trigger) if found.trigger and found.recurs else "once"
    at = found.due and found.due.astimezone(me.tz)
    return {"id": str(found.name).rpartition("/")[2], "text": found.args[1], "when": when, "next": at}


@api.post("/reminders", status_code=201)
async def create(
    text: Annotated[str, Body(min_length=1, max_length=500)], when: Annotated[str, Body(max_length=200)], me: Me
) -> dict[str, Any]:
    name = me.name(uuid4().hex)
    return shown(me, await remind.when(when, tz=me.tz, name=name).asend(me.id, text))


@api.get("/reminders")
async def listed(me: Me) -> list[dict[str, Any]]:
    """List each once: of one that is being shown, its next time."""
    found = {one.name: one async for one in aio.jobs(s, names=me.name("*")) if one.state != "dead"}
    return [shown(me, one) for one in found.values()]


@api.delete("/reminders/{reminder}", status_code=204)
async def delete(reminder: str, me: Me) -> None:
    await aio.cancel(s, me.name(reminder))
    await aio.cancel(s, me.name(f"{reminder}-again"), missing_ok=True)


@api.post("/reminders/{reminder}/snooze")
async def snooze(reminder: str, minutes: Annotated[int, Body(embed=True, ge=1, le=1440)], me: Me) -> dict[str, Any]:
    """Remind once more, so much later. One that recurs keeps its times; one that waits is put off."""
    found = await aio.job(s, me.name(reminder))  # also one that was shown, and is over
    text = found.args[1] if found.args else await aio.result(s, found, wait=None)
    name = me.name(f"{reminder}-again" if found.recurs else reminder)
    return shown(me, await remind.in_(timedelta(minutes=minutes), tz=me.tz, name=name).asend(me.id, text))


@api.exception_handler(Invalid)
async def not_a_time(request: Request, error: Invalid) -> JSONResponse:
    """Say it in words for the user. The error's own text is for the programmer: it names commands and keywords."""
    return JSONResponse({"detail": error.public}, status_code=422)


@api.exception_handler(NotFound)
async def not_found(request: Request, error: NotFound) -> JSONResponse:
    return JSONResponse({"detail": "You have no such reminder."}, status_code=404)
