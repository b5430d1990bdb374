"""The pages of a schedule in a Litestar program, for its own users.

pip install '/path/to/workkit[embedded,web]' litestar
cd examples; uvicorn web_litestar:api          then http://127.0.0.1:8000/jobs/
"""

from pathlib import Path
from urllib.parse import unquote

from litestar import Litestar, asgi, get
from litestar.types import Receive, Scope, Send
from starlette.requests import Request

from workkit import schedule
from workkit.asgi import app

s = schedule.create("mounted", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")


def role(request: Request) -> str | None:
    """Ada may do everything, others may look, and without a name there is nothing here.

    A program has its own way to tell who asks; here a header says it.
    """
    user = request.headers.get("x-user", "")
    return "editor" if user == "ada" else "viewer" if user else None


pages = app(s, role=role)


@asgi("/jobs", is_mount=True, copy_scope=True)
async def jobs(scope: Scope, receive: Receive, send: Send) -> None:
    """Give the pages the path as it was asked for: Litestar takes its prefix away, and puts a slash behind it."""
    path = unquote(scope["raw_path"].decode())
    await pages({**scope, "path": path, "root_path": f"{scope['root_path']}/jobs"}, receive, send)


@get("/")
async def home() -> dict[str, str]:
    """Stay as it is beside the pages."""
    return {"hello": "litestar"}


api = Litestar([home, jobs])
