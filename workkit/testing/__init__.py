"""Tests that move the clock: a private server, jobs that run at their due times, and no sleeping.

    def test_the_digest_goes_out_in_the_morning(wk):
        wk.travel("2026-03-27 08:00", tz="Europe/Paris")
        schedule.add(s, every="day at 9am", fn=digest)
        ran = wk.run_until("2026-04-01 10:00")
        assert len(ran) == 6

With workkit installed, pytest has the fixture `wk`, a `Workkit`. While a test uses it, every schedule of the process is
on the private server, whatever server it names. In any other test framework, make one yourself:

    with testing.server() as url, testing.Workkit(url) as wk:

Only this process uses the private server; programs that a test starts do not. So handlers marked with `cpu=True` run in
this process too.

The clock is the server's, and workkit takes all times from it. `datetime.now()` in a handler does not move:
`current_job().started` is the time of the test. The duration of a handler is measured in real time. The server expires
kept results and the like by its own real clock. A listener that the test starts follows the clock too; but a leap of
more than its `listener_timeout` makes it look dead to `run_until`, so do not use both at once.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workkit.testing.workkit import Ran, Workkit, server

__all__ = ["Ran", "Workkit", "server"]


def __getattr__(name: str) -> Any:
    """Import a name on first use: pytest imports the plugin at each start, also if no test uses it."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.workkit"), name)
    return found
