"""A schedule within an ASGI program: FastAPI, Starlette, Litestar, or any other.

    from workkit.asgi import app, lifespan

    api = FastAPI(lifespan=lifespan(s, listen=True))
    api.mount("/jobs", app(s, role=lambda request: request.state.user.jobs_role))

`lifespan` needs no further package; `app`, the pages of the browser, needs the extra `web`.
"""

from typing import TYPE_CHECKING, Any

from workkit.asgi.lifetime import lifespan

if TYPE_CHECKING:
    from workkit.asgi.pages import app, build, signer

__all__ = ["app", "build", "lifespan", "signer"]


def __getattr__(name: str) -> Any:
    """Import the pages where they are asked for. Raises ImportError without the extra `web`."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from workkit.asgi import pages

    return getattr(pages, name)
