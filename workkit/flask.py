"""A schedule within a Flask program. Jobs run within its application context, and its command line has `workkit`.

    from workkit.flask import Workkit

    wk = Workkit()

    def create_app():
        app = Flask(__name__)
        app.config["WORKKIT_SCHEDULE"] = "app-tasks"
        wk.init_app(app)
        return app

    schedule.add_now(wk.schedule, mail.welcome, args=["tracy@domain.com"])       # in a request

``flask --app app workkit listen`` runs the jobs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator

from workkit import current_job
from workkit import schedule as verbs
from workkit.brokers.shards import shard_names
from workkit.errors import InvalidFunction, InvalidOptions
from workkit.jobs.middleware import ORIGINS
from workkit.jobs.names import main_module
from workkit.schedule import Schedule
from workkit.verbs.creation import check_schedule

try:
    import click
    from flask import Flask, current_app, has_app_context
    from flask.cli import NoAppException, ScriptInfo
except ImportError as error:
    raise ImportError(f"workkit.flask needs Flask ({error}). Install it: pip install flask") from error

NAME = "workkit"  # the key in `app.extensions`, and the name of the command
CONFIG = {"redis": "WORKKIT_REDIS_URL", "tz": "WORKKIT_TZ", "dialect": "WORKKIT_DIALECT", "layout": "WORKKIT_LAYOUT"}
_apps: dict[str, Flask] = {}  # by the name of the schedule, as `current_job()` has it


class Workkit:
    """The extension. One instance may serve several applications, each with its own schedule. The configuration of each
    application names WORKKIT_SCHEDULE. It may also have WORKKIT_REDIS_URL, WORKKIT_TZ, WORKKIT_DIALECT and
    WORKKIT_LAYOUT, the arguments of `schedule.create`. With `schedule`, all applications share that one.
    """

    def __init__(self, app: Flask | None = None, *, schedule: Schedule | None = None) -> None:
        """Raises InvalidSchedule if `schedule` is not a Schedule. With `app`, raises as `init_app` does."""
        if schedule is not None:
            check_schedule(schedule, where="schedule")
        self._schedule = schedule
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Connect an application with its schedule. Each run in this process, coroutines included, then has a new
        application context, and ``flask workkit`` has the commands of `workkit`. No I/O.

        If several applications share a schedule, runs have the context of the last one. A worker process of
        `@job(cpu=True)` makes the application anew: as ``--app`` names it under ``flask workkit listen``; else as
        ``flask --app MODULE`` finds it in the module that gave its name, as its variable or by `create_app()`. The
        configuration may name it by WORKKIT_APP instead, such as "shop:create_app('test')".

        Raises InvalidOptions where no schedule is named, InvalidSchedule, TriggerError.
        """
        s = self._schedule or _configured(app)
        app.extensions[NAME] = s
        app.cli.add_command(_command(s))
        names = _names(s)
        if names[0] not in _apps:
            s.middleware(within_app)
        _apps.update(dict.fromkeys(names, app))
        module = main_module() if app.import_name == "__main__" else app.import_name
        _found_by(names, app.config.get("WORKKIT_APP") or module or "")

    @property
    def schedule(self) -> Schedule:
        """Return the schedule of all applications, else that of the current application. Raises InvalidOptions."""
        if self._schedule is not None:
            return self._schedule
        if not has_app_context():
            remedy = "Use it in a request or a job, or within `with app.app_context():`."
            raise InvalidOptions.about("wk.schedule", "is asked for outside of an application", remedy)
        found: Schedule | None = current_app.extensions.get(NAME)
        if found is None:
            trouble = "is asked for in an application that does not know it"
            raise InvalidOptions.about("wk.schedule", trouble, "Call wk.init_app(app) first.")
        return found


def within_app() -> Iterator[None]:
    """Run a job within the application context of its schedule. This is middleware: see `workkit.jobs.middleware`.

    It is a function of this module, so that a worker process of `@job(cpu=True)` can import it.
    """
    with _apps[current_job().schedule or ""].app_context():
        yield


def _names(s: Schedule) -> list[str]:
    """Return the names of a schedule as `current_job()` has them: one for each shard, if there are several."""
    return [s.name] if s.shards == 1 else list(shard_names(s.name, s.shards))


def _found_by(names: Iterable[str], path: str) -> None:
    """Record how a worker process finds the application of these schedules: a path as ``flask --app`` takes it."""
    ORIGINS.update(dict.fromkeys(names, (__name__, make_again.__name__, path)))


def make_again(path: str) -> None:
    """Make an application in a worker process; `init_app` then registers it. Raises InvalidFunction."""
    try:
        ScriptInfo(app_import_path=path or None, set_debug_flag=False).load_app()
    except NoAppException as error:
        trouble = f"cannot be made in a worker process: {str(error).rstrip('.')}"
        remedy = 'Say how in app.config["WORKKIT_APP"], such as "shop:create_app(\'test\')".'
        raise InvalidFunction.about(f'the application "{path}"', trouble, remedy, given=path) from error


def _configured(app: Flask) -> Schedule:
    name = app.config.get("WORKKIT_SCHEDULE")
    if not name:
        remedy = 'Write app.config["WORKKIT_SCHEDULE"] = "app-tasks", or Workkit(schedule=s).'
        raise InvalidOptions.about("WORKKIT_SCHEDULE", "is not in the configuration", remedy, where="WORKKIT_SCHEDULE")
    said = {option: value for option, key in CONFIG.items() if (value := app.config.get(key))}
    return verbs.create(name, **said)


def _command(s: Schedule) -> click.Command:
    """Make the command ``flask workkit``: the command line of `workkit`, with this schedule as the default."""

    @click.command(
        NAME,
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
        short_help="The commands of workkit, within this application.",
    )
    @click.argument("words", nargs=-1, type=click.UNPROCESSED)
    def command(words: tuple[str, ...]) -> None:
        from workkit.cli import main

        info = click.get_current_context().find_object(ScriptInfo)
        if info is not None and info.create_app is None and not current_app.config.get("WORKKIT_APP"):
            _found_by(_names(s), info.app_import_path or "")
        os.environ["WORKKIT_SCHEDULES"] = s.name
        os.environ.update({key: value for at, key in CONFIG.items() if isinstance(value := getattr(s, at), str)})
        sys.exit(main(words))

    return command
