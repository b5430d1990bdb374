"""What the client library raises, as errors of ours: the broker cannot be reached, or it refuses."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence
from typing import Any, Final

from pika import exceptions

from workkit.errors import ServerError, ServerFull, ServerRefused, ServerUnreachable, text_of

SEE: Final = "See whether the broker runs."
NOT_FOUND, REFUSED, LOCKED, PRECONDITION, NOT_ALLOWED = 404, 403, 405, 406, 530  # reply codes of AMQP


def translated(error: BaseException, shown: str, *, user: str = "", vhost: str = "") -> ServerError:
    """Turn what ended a connection or a channel into an error; `shown` is the broker's URL. Keeps the cause."""
    made = _translated(_root(error), shown, user, vhost)
    made.__cause__ = error
    return made


def certain(error: BaseException, closes: Sequence[Any]) -> BaseException:
    """Return what ended a connection before it was open, where the client library guesses. A broker that refuses a user
    or a virtual host says so, in one of `closes`, its `Producer.Close`; where it says nothing, the connection was
    lost; where it says something else, it is not ready yet.
    """
    if not isinstance(error, exceptions.ProbableAuthenticationError | exceptions.ProbableAccessDeniedError):
        return error
    found: BaseException = error
    if not closes:
        found = exceptions.StreamLostError("while it was opened")
    elif closes[0].reply_code not in (REFUSED, NOT_ALLOWED):
        found = exceptions.ConnectionClosedByBroker(closes[0].reply_code, closes[0].reply_text)
    return found


def _translated(error: BaseException, shown: str, user: str, vhost: str) -> ServerError:
    match error:
        case ServerError():
            return error
        case exceptions.ProbableAuthenticationError() | exceptions.AuthenticationError():
            return _refused(shown, f'refuses user "{user}" or the password', "Correct them in the URL.", lasting=True)
        case exceptions.ProbableAccessDeniedError():
            trouble = f'has no virtual host "{vhost}", or user "{user}" may not use it'
            return _refused(shown, trouble, "Correct the path of the URL.", lasting=True)
        case exceptions.ChannelClosedByBroker() if error.reply_code in (REFUSED, PRECONDITION):
            remedy = (
                "Ask for the permission." if error.reply_code == REFUSED else "Delete it, or use another namespace."
            )
            return _refused(shown, f"refuses: {_said(error)}", remedy, lasting=True)
        case exceptions.ChannelClosedByBroker():
            return _refused(shown, f"refuses: {_said(error)}", "See the log of the broker.")
        case exceptions.IncompatibleProtocolError():
            return _unreachable(shown, "gives no answer in AMQP 0-9-1", "Check host, port and amqp:// or amqps://.")
        case ssl.SSLCertVerificationError():
            remedy = "Name the authority's file: ?cacertfile=FILE."
            return _refused(shown, f"has a certificate that is refused: {error.verify_message}", remedy, lasting=True)
        case ssl.SSLError():
            trouble = f"gives no answer in TLS ({error.reason})"
            return _refused(shown, trouble, "Check the port, or write amqp://.", lasting=True)
        case FileNotFoundError():
            trouble = f"names a file that does not exist ({text_of(error)})"
            return _refused(shown, trouble, "Correct it in the URL.", lasting=True)
        case socket.gaierror():
            return _unreachable(shown, "names a host that is not known", "Correct it in the URL.")
        case ConnectionRefusedError():
            return _unreachable(shown, "connection refused", "Start a RabbitMQ there, or name another with amqp=.")
        case TimeoutError() | exceptions.ConnectionOpenAborted():
            return _unreachable(shown, "gives no answer in time", "See whether it is overloaded.")
        case exceptions.AMQPHeartbeatTimeout():
            return _unreachable(shown, "gives no sign of life", SEE)
        case exceptions.ConnectionClosedByBroker():
            return _unreachable(shown, f"closed the connection: {_said(error)}", SEE)
    return _unreachable(shown, f"connection lost ({text_of(error) or type(error).__name__})", SEE)


def is_about_message(error: BaseException) -> bool:
    """Whether the broker closed a publishing channel because of one message: it is too large, or its routing key is
    one that this user may not use. Only the broker's text tells this from an exchange that is forbidden as a whole.
    """
    if not isinstance(error, exceptions.ChannelClosedByBroker):
        return False
    return error.reply_code == PRECONDITION or (error.reply_code == REFUSED and "access to topic" in _said(error))


def full(shown: str) -> ServerFull:
    """Make the error about a broker that takes no messages for now."""
    trouble = "takes no messages for now: its memory or disk is full"
    remedy = "See its alarms."
    return ServerFull(f"{shown}: {trouble}. {remedy}", where=shown, trouble=trouble, remedy=remedy)


def _said(error: Any) -> str:
    """What the broker says, ``PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' ...``, which names both values."""
    return str(error.reply_text)


def _root(error: BaseException) -> BaseException:
    """Find what happened inside the wrappings of the client library."""
    for _ in range(10):
        inner = [*getattr(error, "exceptions", ()), getattr(error, "exception", None), *error.args[:1]]
        found = next((one for one in reversed(inner) if isinstance(one, BaseException)), None)
        if found is None:
            break
        error = found
    return error


def _refused(shown: str, trouble: str, remedy: str, *, lasting: bool = False) -> ServerRefused:
    return ServerRefused(f"{shown}: {trouble}. {remedy}", lasting=lasting, where=shown, trouble=trouble, remedy=remedy)


def _unreachable(shown: str, trouble: str, remedy: str) -> ServerUnreachable:
    return ServerUnreachable(f"{shown}: {trouble}. {remedy}", where=shown, trouble=trouble, remedy=remedy)
