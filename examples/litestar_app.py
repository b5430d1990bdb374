"""A Litestar program that adds jobs, and runs them in its own processes: no other program is needed.

pip install '/path/to/workkit[embedded]' litestar uvicorn
cd examples; uvicorn litestar_app:api --workers 4
curl --json '{"email": "tracy@domain.com"}' http://127.0.0.1:8000/signups
"""

from dataclasses import dataclass
from pathlib import Path

from litestar import Litestar, post

from workkit import current_job, schedule
from workkit.asgi import lifespan

s = schedule.create("litestar", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")


@dataclass
class Signup:
    email: str


@s.job
def welcome(signup: Signup) -> None:
    print(f"welcome, {signup.email}", flush=True)


@s.every("second", name="poll")
def poll() -> None:
    print("polled for", current_job().due, flush=True)


@post("/signups")
async def sign_up(data: Signup) -> dict[str, str]:
    return {"job": (await welcome.asend(data)).id}


api = Litestar([sign_up], lifespan=[lifespan(s, listen=True, sync=True)])
