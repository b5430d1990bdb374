"""Find out why a TLS connection fails: which file, which certificate, which name. Only for failed ones."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Iterator, Mapping
from typing import Any

import redis

LOOK_SECONDS = 1.0
_MISMATCH, _EXPIRED, _NOT_YET = (62, 64), 10, 9  # X509_V_ERR_...
_FILES = ("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile")

Settings = Mapping[str, Any]


def tls_trouble(error: BaseException | None, settings: Settings) -> str | None:
    """Word the trouble and its remedy, without the last full stop. Return None if TLS works.

    `settings` are those of the connection: host, port and its `ssl_` options.
    """
    causes = list(_causes(error))
    found = next((one for one in causes if isinstance(one, ssl.SSLError)), None)
    text = " ".join(str(one) for one in causes)
    if isinstance(found, ssl.SSLEOFError):  # cut while we wrote, so the server's alert is lost: connect again to get it
        text = _alert(settings) or text
    if "CERTIFICATE_REQUIRED" in text:
        return "it asks for a certificate of this client. Give ?ssl_certfile=FILE&ssl_keyfile=FILE"
    if "ALERT" in text and ("CERTIFICATE" in text or "UNKNOWN_CA" in text):
        return f"it does not trust the certificate of this client, ssl_certfile={settings.get('ssl_certfile')}"
    if found is None and not any(isinstance(one, OSError) for one in causes):
        return None
    if any(settings.get(name) for name in _FILES) and (file := _file(settings)):
        return file
    if isinstance(found, ssl.SSLCertVerificationError):
        return _certificate(found, settings)
    if (
        found is None
        or isinstance(found, ssl.SSLEOFError)
        or not found.reason
        or "WRONG_VERSION_NUMBER" in text
        or "RECORD_LAYER" in text
    ):
        return None
    return f"TLS fails: {found.reason.lower().replace('_', ' ')}"


def _certificate(error: ssl.SSLCertVerificationError, settings: Settings) -> str:
    """Say what is wrong with the server's certificate."""
    host, ca = settings.get("host", "localhost"), settings.get("ssl_ca_certs")
    if error.verify_code in _MISMATCH:
        names = list(_names(settings))
        whose = f"its certificate is for {', '.join(names)}, and not for {host}" if names else ""
        return (
            f"{whose or f'its certificate is not for {host}'}. Name the server as its certificate does, or give "
            "?ssl_check_hostname=false"
        )
    if error.verify_code == _EXPIRED:
        return "its certificate has expired. Renew the certificate of the server"
    if error.verify_code == _NOT_YET:
        return "its certificate is not valid yet. Compare the clocks of both machines"
    by = f" by ssl_ca_certs={ca}" if ca else ""
    give = "Give the file of the authority that signed it" if ca else "Give"
    return f"its certificate is not trusted{by}: {error.verify_message}. {give}{':' if ca else ''} ?ssl_ca_certs=FILE"


def _file(settings: Settings) -> str | None:
    """Say which file of the settings cannot be read, or has the wrong content."""
    ca, path, cert, key = (settings.get(name) for name in _FILES)
    for name, file in (("ssl_ca_certs", ca), ("ssl_certfile", cert), ("ssl_keyfile", key)):
        if file:
            try:
                with open(file, "rb"):
                    pass
            except OSError as error:
                return f"{name}={file} cannot be read: {error.strerror}. Give a file that is there"
    context = ssl.create_default_context()
    if ca or path:
        try:
            context.load_verify_locations(cafile=ca, capath=path)
        except (ssl.SSLError, OSError):
            return f"ssl_ca_certs={ca or path} holds no certificate. Give a file of certificates in PEM"
    if cert:
        try:
            context.load_cert_chain(cert, key, password=lambda: settings.get("ssl_password") or "")
        except (ssl.SSLError, OSError) as error:
            why = getattr(error, "reason", None) or "no certificate with its key in PEM"
            files = f"ssl_certfile={cert}" + (f" with ssl_keyfile={key}" if key else "")
            return f"{files} cannot be used: {why.lower().replace('_', ' ')}. Give a certificate and its key in PEM"
    return None


def _names(settings: Settings) -> Iterator[str]:
    """Yield the names in a certificate that is trusted except for its names."""
    with contextlib.suppress(OSError, redis.exceptions.RedisError), _opened(settings, ssl_check_hostname=False) as sock:
        for _, name in sock.getpeercert().get("subjectAltName", ()):
            yield str(name)


def _alert(settings: Settings) -> str:
    """Connect again, send nothing, and return the alert with which the server ends the connection."""
    try:
        with _opened(settings) as sock:
            sock.recv(1)
    except (OSError, redis.exceptions.RedisError) as error:
        return str(error)
    return ""


def _opened(settings: Settings, **others: Any) -> contextlib.closing[Any]:
    """Open another connection, and send nothing on it, not even a password."""
    wanted = {key: value for key, value in settings.items() if key.startswith("ssl_")}
    wanted |= {"host": settings.get("host", "localhost"), "port": settings.get("port", 6379)}
    wanted |= dict.fromkeys(("socket_timeout", "socket_connect_timeout"), LOOK_SECONDS)
    connection: Any = redis.SSLConnection(**(wanted | others))
    return contextlib.closing(connection._connect())


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
