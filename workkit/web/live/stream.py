"""The answer that does not end: it sends what a viewer lacks, for as long as its client takes it."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from workkit.web.live.viewer import Viewer

STUCK_S: Final = 15.0
HEADERS: Final = {
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    "vary": "Accept, Cookie",
}


class Stream(Response):
    """One stream. A client that takes nothing for 15 s is let go."""

    def __init__(self, viewer: Viewer, media_type: str, *, stuck_s: float = STUCK_S) -> None:
        super().__init__(headers=HEADERS, media_type=media_type)
        del self.headers["content-length"]
        self._viewer, self._stuck_s = viewer, stuck_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until one of both sides ends it."""
        viewer = self._viewer
        gone = asyncio.ensure_future(_disconnected(receive))
        gone.add_done_callback(lambda _: viewer.woken.set())
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            while not gone.done():
                viewer.woken.clear()
                if said := viewer.take():
                    message = {"type": "http.response.body", "body": said, "more_body": True}
                    await asyncio.wait_for(send(message), self._stuck_s)
                if viewer.is_over:
                    await asyncio.wait_for(send({"type": "http.response.body", "body": b""}), self._stuck_s)
                    return
                try:
                    await asyncio.wait_for(viewer.woken.wait(), viewer.rest_s())
                except TimeoutError:
                    continue
        except TimeoutError:  # it takes nothing; what it lacks it gets when it comes again
            return
        finally:
            gone.cancel()
            viewer.leave()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
