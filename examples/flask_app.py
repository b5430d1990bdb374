"""A Flask program whose jobs run within its application context.

pip install '/path/to/workkit[embedded]' flask
cd examples; flask --app flask_app run                                      adds jobs
cd examples; flask --app flask_app workkit listen --sync --processes 2      runs them, in another terminal
curl -X POST http://127.0.0.1:5000/signups/tracy@domain.com
"""

from pathlib import Path

from flask import Flask, current_app

from workkit import current_job, schedule
from workkit.flask import Workkit

s = schedule.create("flask", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")
wk = Workkit(schedule=s)


@s.job
def welcome(email: str) -> None:
    print(f"welcome to {current_app.config['SHOP']}, {email}", flush=True)


@s.job
async def remind(email: str) -> None:
    print(f"{current_app.config['SHOP']} misses you, {email}", flush=True)


@s.every("second", name="poll")
def poll() -> None:
    print("polled for", current_job().due, flush=True)


def create_app() -> Flask:
    app = Flask(__name__)
    app.config["SHOP"] = "the shop"
    wk.init_app(app)

    @app.post("/signups/<email>")
    def sign_up(email: str) -> dict[str, str]:
        remind.in_("1 second").send(email)
        return {"job": welcome.send(email).id}

    return app
