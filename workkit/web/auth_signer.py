"""Signs what a browser carries: the cookie of a login, and the token in every form."""

from __future__ import annotations

import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from dataclasses import dataclass, field
from typing import Final

LOGIN_S: Final = 12 * 3600
"""So long a login lasts."""


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs with one key: `secret`, or a new one, with which every login ends at a restart."""

    secret: str = field(default_factory=lambda: secrets.token_hex(32), repr=False)

    def form_token(self, session: str) -> str:
        """Make the token of the forms of a session."""
        return self._mac("form", session)

    def is_form_token(self, given: str, session: str) -> bool:
        """Say whether a token is that of a session."""
        return hmac.compare_digest(given.encode(), self.form_token(session).encode())

    def cookie(self, name: str, *, stored: str, now_s: int) -> str:
        """Make the cookie of a login. `stored`: the hash of the password, so that a new password ends old logins."""
        until = now_s + LOGIN_S
        shown = _text(name)
        return f"{shown}.{until}.{self._mac('login', f'{shown}.{until}.{stored}')}"

    def cookie_name(self, cookie: str, *, now_s: int) -> str | None:
        """Tell who a cookie says it is from, if it is not over. `is_cookie` says whether that is true."""
        shown, _, rest = cookie.partition(".")
        until = rest.partition(".")[0]
        if not (until.isascii() and until.isdigit()) or len(until) > 12 or int(until) <= now_s:
            return None
        return _name(shown)

    def is_cookie(self, cookie: str, *, stored: str) -> bool:
        """Say whether a cookie is one that `cookie` made."""
        signed, _, mac = cookie.rpartition(".")
        return hmac.compare_digest(mac.encode(), self._mac("login", f"{signed}.{stored}").encode())

    def feed_token(self, schedule: str, name: str, *, stamp: str) -> str:
        """Make the token by which a program of somebody reads the calendar of a schedule. `stamp`: what ends it when it
        changes, as `stored` of a login.
        """
        shown = _text(name)
        return f"{shown}.{self._mac('feed', f'{schedule}{chr(0)}{shown}{chr(0)}{stamp}')}"

    def feed_name(self, token: str) -> str | None:
        """Tell who a token says it is of. Whether that is true: `feed_token` makes the same."""
        return _name(token.partition(".")[0])

    def _mac(self, purpose: str, text: str) -> str:
        data = f"{purpose}\0{text}".encode("utf-8", "surrogatepass")
        return hmac.new(self.secret.encode("utf-8", "surrogatepass"), data, "sha256").hexdigest()


def _text(name: str) -> str:
    return urlsafe_b64encode(name.encode("utf-8", "surrogatepass")).decode()


def _name(text: str) -> str | None:
    try:
        return urlsafe_b64decode(text.encode()).decode("utf-8", "surrogatepass")
    except (Error, ValueError):
        return None
