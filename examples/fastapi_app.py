"""A FastAPI program that adds jobs, and runs them in its own processes: no other program is needed.

pip install '/path/to/workkit[embedded]' fastapi uvicorn
cd examples; uvicorn fastapi_app:api --workers 4
curl --json '{"email": "tracy@domain.com"}' http://127.0.0.1:8000/signups
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from pydantic import BaseModel

from workkit import current_job, schedule
from workkit.asgi import lifespan

s = schedule.create("fastapi", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")


class Signup(BaseModel):
    email: str


@s.job
def welcome(signup: Signup) -> None:
    print(f"welcome, {signup.email}", flush=True)


@s.every("second", name="poll")
def poll() -> None:
    print("polled for", current_job().due, flush=True)


@asynccontextmanager
async def own(api: FastAPI) -> AsyncIterator[None]:
    print("opened", flush=True)
    yield
    print("closed", flush=True)


api = FastAPI(lifespan=lifespan(s, own=own, listen=True, sync=True))


@api.post("/signups")
async def sign_up(signup: Signup) -> dict[str, str]:
    return {"job": (await welcome.asend(signup)).id}
