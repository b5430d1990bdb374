"""A schedule within an ASGI program: FastAPI, Starlette, Litestar, or any other.

    from workkit.asgi import app, lifespan

    api = FastAPI(lifespan=lifespan(s, listen=True))
    api.mount("/jobs", app(s, role=lambda request: request.state.user.jobs_role))

`lifespan` needs no further package; `app`, the pages of the browser, needs the extra `web`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, Unpack

from workkit import aio
from workkit.errors import InvalidOptions
from workkit.jobs.call import ListenOptions
from workkit.schedule import Schedule
from workkit.verbs.creation import check_schedule
from workkit.verbs.opening import producer_of

if TYPE_CHECKING:
    from workkit.asgi.pages import app, build, signer

__all__ = ["app", "build", "lifespan", "signer"]


def __getattr__(name: str) -> Any:
    """Import the pages on first use. Raises ImportError without the extra `web`."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from workkit.asgi import pages

    return getattr(pages, name)


Lifespan = Callable[[Any], AbstractAsyncContextManager[Any]]


def lifespan(
    s: Schedule | Sequence[Schedule] | Mapping[Schedule, int],
    *,
    listen: bool = False,
    own: Lifespan | None = None,
    loop: Literal["own"] | None = None,
    **how: Unpack[ListenOptions],
) -> Lifespan:
    """Make the lifespan of an ASGI program: ``FastAPI(lifespan=lifespan(s))``, ``Litestar(lifespan=[lifespan(s)])``.

    At the start it connects to the servers of the schedules, so that a program without its server does not start.
    `listen`: it also runs due jobs in threads of this process, with the options of `schedule.listen` (`how`); at the
    end the listener takes no new job, finishes within its deadline, and gives back the rest. Each process that serves
    has its own listener, and each run happens in one of them. A coroutine runs on an event loop of the listener, not on
    the one that serves requests; with ``loop="own"`` it runs on the program's own loop, beside the requests, and may
    use the pools and clients that `own` has opened there.

    `own` is the program's own lifespan. It starts once the schedules are reachable, so that it may add jobs, and before
    the listener; it ends after the listener, so that running jobs keep the resources it opened. Its yielded state is
    passed on.

    Raises InvalidOptions, InvalidSchedule; at the start ServerUnreachable, ServerRefused, and the errors of
    `schedule.listen`.
    """
    schedules = list(s) if isinstance(s, Iterable) and not isinstance(s, str) else [s]
    for one in schedules:
        check_schedule(one)
    aio.check_loop(loop)
    if (given := [*how, *(["loop"] if loop else [])]) and not listen:
        names = " and ".join(f"{name}=" for name in given)
        trouble, remedy = "without listen=True: no listener runs here", f"Write listen=True, or leave out {names}."
        raise InvalidOptions.about(names, trouble, remedy, where=given[0])
    if own is not None and not callable(own):
        remedy = "Write own=lifespan, with lifespan(app) an asynchronous context manager."
        raise InvalidOptions.about(f"own={own!r}", "cannot be called", remedy, where="own", given=own)

    @asynccontextmanager
    async def opened(app: Any) -> AsyncIterator[Any]:
        for one in schedules:
            await asyncio.to_thread(lambda s: producer_of(s).adding([])(), one)
        async with AsyncExitStack() as ends:
            state = await ends.enter_async_context(own(app)) if own is not None else None
            if listen:
                await ends.enter_async_context(aio.listener(s, loop=loop, **how))
            yield state

    return opened
