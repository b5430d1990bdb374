"""Report each job that is dead to Sentry, once, however many attempts it had.

python examples/sentry_errors.py                               prints what it would send
SENTRY_DSN=https://... python examples/sentry_errors.py        sends it
"""

import os
from pathlib import Path

import sentry_sdk
from sentry_sdk.envelope import Envelope
from sentry_sdk.integrations.logging import ignore_logger
from sentry_sdk.transport import Transport

from workkit import events, schedule
from workkit.events import Event

s = schedule.create("sentry-errors", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")


class Printing(Transport):
    """Prints what would be sent."""

    def capture_envelope(self, envelope: Envelope) -> None:
        """Print the error of an event, and the job that it belongs to."""
        if (event := envelope.get_event()) is not None:
            error = event["exception"]["values"][-1]
            where = error["stacktrace"]["frames"][-1]["function"]
            print(f"to Sentry: {error['type']}: {error['value']} in {where}, tags {event['tags']}", flush=True)


def report(event: Event) -> None:
    """Send the error of a dead job. Its arguments stay here: they may be private."""
    if not event.is_final:
        return  # another attempt follows
    job, error = event.fields["job"], event.fields["exception"]
    with sentry_sdk.new_scope() as scope:
        scope.set_tag("workkit.schedule", job.schedule)
        scope.set_tag("workkit.function", job.fn)
        scope.set_context("job", {"id": job.id, "name": job.name, "attempt": event.fields["attempt"]})
        if error is not None:
            scope.capture_exception(error)
        else:  # raised by nobody: the job ended its listeners
            scope.capture_message(f"{event.fields['error_type']}: {event.fields['error']}", level="error")


@s.job(retries=1, base="0s")
def export(day: str) -> None:
    """Fail, on every attempt."""
    raise OSError(f"disk full on {day}")


if __name__ == "__main__":
    dsn = os.environ.get("SENTRY_DSN")
    sentry_sdk.init(dsn=dsn or "https://key@sentry.invalid/1", transport=None if dsn else Printing)
    ignore_logger("workkit")  # Sentry's own integration would report the records of this logger a second time
    events.subscribe(report)
    job = export.send("monday")
    print(f"job {job.id[:8]} fails twice", flush=True)
    schedule.drain(s, raise_errors=False, folder=Path(__file__).parent)
    sentry_sdk.flush()
