"""The pages within other programs, with the real frameworks: examples/web_*.py as they stand."""

from __future__ import annotations

import os
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest

from tests.processes import Processes
from tests.servers import program
from workkit import schedule

ROOT = Path(__file__).parent.parent
WSGI = """
import sys, threading
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
from socketserver import ThreadingMixIn
sys.path.insert(0, ".")
from web_flask import flask

class Quiet(WSGIRequestHandler):
    def log_message(self, *_): pass

class Threads(ThreadingMixIn, WSGIServer):
    daemon_threads = True

server = Threads(("127.0.0.1", 0), Quiet)
server.set_app(flask)
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
"""


class Mount:
    """One of the examples, served: how its home greets, and how somebody logs in."""

    def __init__(self, framework: str, hello: str, login: str) -> None:
        self.framework, self.hello, self.login = framework, hello, login

    def serve(self, processes: Processes, folder: Path) -> str:
        if self.framework == "flask":
            return processes.python(WSGI, cwd=folder).wait_for(r"(http://127\.0\.0\.1:\d+)")[1]
        name = {"fastapi": "web_fastapi:api", "litestar": "web_litestar:api", "django": "web_django:application"}[
            self.framework
        ]
        words = ("-m", "uvicorn", "--app-dir", ".", "--port", "0", name)
        served = processes.run(sys.executable, *words, cwd=folder)
        return served.wait_for(r"running on (http://127\.0\.0\.1:\d+)")[1]

    def enter(self, client: httpx.Client, name: str) -> None:
        """Log in as the framework has it."""
        client.cookies.clear()
        if self.framework in ("fastapi", "litestar"):
            client.headers["x-user"] = name
        else:
            assert client.get(self.login.format(name)).text == f"hello, {name}"


MOUNTS = (
    Mount("fastapi", '{"hello":"api"}', ""),
    Mount("litestar", '{"hello":"litestar"}', ""),
    Mount("django", "hello, django", "/login?name={}"),
    Mount("flask", "hello, flask", "/login/{}"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    program("valkey")
    return Path(shutil.copytree(ROOT / "examples", tmp_path / "examples"))


@pytest.mark.parametrize("mount", MOUNTS, ids=lambda mount: mount.framework)
def test_pages_stand_under_a_prefix_for_the_users_of_the_program(
    mount: Mount, processes: Processes, folder: Path
) -> None:
    if not os.environ.get("CI") and not find_spec(mount.framework):
        pytest.skip(f"no {mount.framework}")
    s = schedule.create("mounted", redis=f"embedded://{folder.resolve()}/.workkit")
    schedule.add(s, "app:f", every="day at noon", name="nightly")
    address = mount.serve(processes, folder)
    with httpx.Client(base_url=address, timeout=30) as client:
        assert client.get("/").text == mount.hello
        assert client.get("/jobs/s/mounted/").status_code == 404  # nobody: it does not even say that it is there

        mount.enter(client, "bob")
        page = client.get("/jobs/", follow_redirects=True)
        assert page.status_code == 200
        assert str(page.url) == f"{address}/jobs/s/mounted/"
        own = [link for link in re.findall(r'(?:href|src|action)="([^"]+)"', page.text) if link.startswith("/")]
        assert own
        assert all(link.startswith("/jobs/") for link in own)
        stylesheet = next(link for link in own if link.endswith(".css"))
        assert client.get(stylesheet).headers["content-type"].startswith("text/css")
        assert client.get("/jobs/s/mounted.json").json()["sentence"] == "Nobody listens."
        assert pause(client, page.text).status_code == 403  # a viewer

        mount.enter(client, "ada")
        page = client.get("/jobs/s/mounted/")
        assert "Pause all" in page.text
        assert ("data-poll" in page.text) == (mount.framework == "flask")  # a stream would hold a thread of WSGI
        assert pause(client, "").status_code == 403  # without the token
        answer = pause(client, page.text)
        assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/jobs/s/mounted/")
        assert "mounted" in client.get(answer.headers["location"]).text
        assert client.get("/jobs/s/mounted.json").json()["sentence"].startswith("Nobody listens.")
        assert {job.state for job in schedule.jobs(s)} == {"paused"}


def pause(client: httpx.Client, page: str) -> httpx.Response:
    """Pause the schedule by the form of a page."""
    token = re.search(r'name="token" value="([0-9a-f]+)"', page)
    fields = {"token": token[1] if token else "", "back": "/jobs/s/mounted/"}
    return client.post("/jobs/s/mounted/do/pause", data=fields, headers={"sec-fetch-site": "same-origin"})
