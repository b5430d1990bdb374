"""Tests that move the clock: a private server, jobs that run when their time comes, and no sleeping.

    def test_the_digest_goes_out_in_the_morning(wk):
        wk.travel("2026-03-27 08:00", tz="Europe/Paris")
        schedule.add(s, every="day at 9am", fn=digest)
        ran = wk.run_until("2026-04-01 10:00")
        assert len(ran) == 6

With workkit installed, pytest has the fixture `wk`, a `Workkit`. While a test has it, every schedule of the process is
on the private server, whatever server it names. Any other framework of tests makes one by itself:

    with testing.server() as url, testing.Workkit(url) as wk:

Only this process is on the private server, and no program that a test starts. So handlers marked with `cpu=True` run in
this process too.

The clock is that of the server, and so of all that workkit does. `datetime.now()` in a handler is not moved:
`current_job().started` tells the time of the test. How long a handler may take is measured as ever. What the server
keeps for a time only, such as kept results, it drops by its own clock. A listener of the test's own follows the clock
too; but a leap of more than its `listener_timeout` makes it look dead to `run_until`, so do not use both at once.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workkit.testing.workkit import Ran, Workkit, server

__all__ = ["Ran", "Workkit", "server"]


def __getattr__(name: str) -> Any:
    """Import what is asked for, and no more: pytest imports the plugin at each start, also where no test uses it."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.workkit"), name)
    return found
