"""The pages of a schedule in a FastAPI program, for its own users.

pip install '/path/to/workkit[embedded,web]' fastapi
cd examples; uvicorn web_fastapi:api           then http://127.0.0.1:8000/jobs/
"""

from pathlib import Path

from fastapi import FastAPI, Request
from starlette.middleware.base import RequestResponseEndpoint
from starlette.responses import Response

from workkit import schedule
from workkit.asgi import app

s = schedule.create("mounted", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")
api = FastAPI()


@api.middleware("http")
async def login(request: Request, call_next: RequestResponseEndpoint) -> Response:
    """Tell who asks. A program has its own way; here a header says it."""
    request.state.user = request.headers.get("x-user", "")
    return await call_next(request)


def role(request: Request) -> str | None:
    """Ada may do everything, others may look, and without a name there is nothing here."""
    user = request.state.user
    return "editor" if user == "ada" else "viewer" if user else None


@api.get("/")
def home() -> dict[str, str]:
    """Stay as it is beside the pages."""
    return {"hello": "api"}


api.mount("/jobs", app(s, role=role))
