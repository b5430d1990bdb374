"""The pages of a schedule in a Flask program, under any WSGI server.

pip install '/path/to/workkit[embedded,web]' flask a2wsgi
cd examples; flask --app web_flask run         then http://127.0.0.1:5000/jobs/
"""

from pathlib import Path

from a2wsgi import ASGIMiddleware
from flask import Flask
from starlette.requests import Request
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from workkit import schedule
from workkit.asgi import app

s = schedule.create("mounted", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")
flask = Flask(__name__)
flask.secret_key = "of your program"


@flask.get("/")
def home() -> str:
    """Stay as it is beside the pages."""
    return "hello, flask"


@flask.get("/login/<name>")
def login(name: str) -> str:
    """Log somebody in. A program has its own way."""
    from flask import session

    session["name"] = name
    return f"hello, {name}"


def role(request: Request) -> str | None:
    """Ada may do everything, other users may look, and for nobody there is nothing here."""
    reader = flask.session_interface.get_signing_serializer(flask)  # what reads Flask's cookie
    cookie = request.cookies.get(flask.config["SESSION_COOKIE_NAME"], "")
    try:
        name = reader.loads(cookie).get("name")
    except Exception:  # no cookie, or not one of ours
        return None
    return "editor" if name == "ada" else "viewer" if name else None


flask.wsgi_app = DispatcherMiddleware(flask.wsgi_app, {"/jobs": ASGIMiddleware(app(s, role=role, live="poll"))})
