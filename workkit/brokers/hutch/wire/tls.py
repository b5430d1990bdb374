"""TLS as the options of a URL say: one way for AMQP and for the management API."""

from __future__ import annotations

import ssl
from collections.abc import Sequence


def context(options: Sequence[tuple[str, str]]) -> ssl.SSLContext:
    """Make what checks the broker's certificate. Raises OSError for a file that cannot be read."""
    given = dict(options)
    made = ssl.create_default_context(cafile=given.get("cacertfile"))
    if given.get("verify") == "verify_none":
        made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    if certificate := given.get("certfile"):
        made.load_cert_chain(certificate, given.get("keyfile"))
    return made


def server_name(options: Sequence[tuple[str, str]], host: str) -> str:
    """Tell the name that the certificate must have."""
    return dict(options).get("server_name_indication") or host
