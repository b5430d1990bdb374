"""The pages of a schedule beside a Django program, for its users.

pip install '/path/to/workkit[embedded,web]' django
cd examples; uvicorn web_django:application    then http://127.0.0.1:8000/jobs/

In a project this is asgi.py, and what stands in `settings.configure` is its settings.
"""

from importlib import import_module
from pathlib import Path

from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import path
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount

from workkit import schedule
from workkit.asgi import app

s = schedule.create("mounted", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")

settings.configure(
    SECRET_KEY="of your project",
    ROOT_URLCONF=__name__,
    ALLOWED_HOSTS=["127.0.0.1", "localhost"],
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware"],
    SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",
)


def home(request: HttpRequest) -> HttpResponse:
    """Stay as it is beside the pages."""
    return HttpResponse("hello, django")


def login(request: HttpRequest) -> HttpResponse:
    """Log somebody in. A project has its own way."""
    request.session["name"] = request.GET["name"]
    return HttpResponse(f"hello, {request.GET['name']}")


urlpatterns = [path("", home), path("login", login)]


async def role(request: Request) -> str | None:
    """Ada may do everything, other users may look, and for nobody there is nothing here.

    With `django.contrib.auth`, read the user's id in the same way: `await session.aget("_auth_user_id")`.
    """
    session = import_module(settings.SESSION_ENGINE).SessionStore(request.cookies.get(settings.SESSION_COOKIE_NAME))
    name = await session.aget("name")
    return "editor" if name == "ada" else "viewer" if name else None


application = Starlette(routes=[Mount("/jobs", app(s, role=role)), Mount("/", get_asgi_application())])
