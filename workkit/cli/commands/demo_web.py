"""The pages of the demo: the web face in a thread, beside the demo's listener."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from workkit.cli.commands.web import check_extra
from workkit.cli.commands.web_binding import Binding, bound, read_binding
from workkit.cli.commands.web_serving import STOP_S, web_server

if TYPE_CHECKING:
    from workkit.schedule import Schedule

__all__ = ["check_extra", "shown"]

ADDRESS, ANY_PORT = "127.0.0.1:5040", "127.0.0.1:0"


@contextmanager
def shown(s: Schedule) -> Iterator[str]:
    """Serve the pages of a schedule to this machine, and give their address: that of `workkit web`, or where it is
    taken another port. SIGTERM interrupts as Ctrl-C does.
    """
    from workkit import asgi
    from workkit.web.auth import Local

    binding, bound_to = _bound()
    application = asgi.build([s], way=Local(), signer=asgi.signer(), hosts=binding.names)
    server = web_server(application)
    serving = threading.Thread(target=server.run, kwargs={"sockets": [bound_to]}, name="workkit-web", daemon=True)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    with closing(bound_to):
        serving.start()
        try:
            yield binding.address(bound_to)
        finally:
            server.should_exit = True
            serving.join(2 * STOP_S)
            signal.signal(signal.SIGTERM, before)


def _bound() -> tuple[Binding, socket.socket]:
    binding = read_binding(ADDRESS)
    try:
        return binding, bound(binding)
    except OSError:  # something listens there: perhaps `workkit web`
        binding = read_binding(ANY_PORT)
        return binding, bound(binding)
