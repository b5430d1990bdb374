"""What every request must show, and what every answer says: hosts, origins, tokens of forms, headers."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class Guard:
    """Refuses a `Host` that is not ours, and puts the headers on every answer.

    `hosts`: names under which browsers know us, without the port; None: the program that mounts us checks them. A
    numeric address is always accepted, since only a name can be made to lead here (DNS rebinding).
    """

    app: ASGIApp
    hosts: Collection[str] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        has_begun = False

        async def with_headers(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        host = Request(scope).headers.get("host", "")
        app = self.app if is_host(host, self.hosts) else PlainTextResponse(host_refusal(host), status_code=403)
        try:
            await app(scope, receive, with_headers)
        except Exception:  # a fault of ours, or of the program that mounts us: its answer has the headers too
            if not has_begun:
                await PlainTextResponse("This went wrong. The log says how.\n", status_code=500)(
                    scope, receive, with_headers
                )
            raise


def is_host(host: str, hosts: Collection[str] | None) -> bool:
    """Say whether a `Host` is ours."""
    if hosts is None:
        return True
    name = _host_name(host)
    if name is None:
        return False
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name in hosts
    return True


def host_refusal(host: str) -> str:
    """Say why a `Host` is refused."""
    shown = "".join(c for c in host if c.isascii() and c.isprintable())[:200]
    return (
        f'This is not "{shown}". If a proxy stands before workkit web, add --origin with the URL that browsers use.\n'
    )


def _host_name(host: str) -> str | None:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower() or None
    except ValueError:
        return None


def is_same_origin(request: Request, origins: Collection[str]) -> bool:
    """Say whether a request that changes something comes from a page of ours. `origins`: as browsers name us."""
    if (site := request.headers.get("sec-fetch-site")) is not None:
        return site == "same-origin"
    origin = request.headers.get("origin", "").rstrip("/").lower()
    if not origin:
        return False
    host = request.headers.get("host", "").lower()
    return origin in {f"http://{host}", f"https://{host}", *origins}
