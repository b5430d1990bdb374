"""Spans of OpenTelemetry: one for each addition, one for each run, linked. They need the extra `otel`, and a program
that has configured OpenTelemetry. Otherwise each function here costs almost nothing.

An addition passes its context on in the texts of W3C Trace Context. A layout stores them beside the job, never inside
it: the context must not change the id of a job.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from workkit._version import __version__
from workkit.errors import Discard, Retry, text_of, type_name

_IDS = r"(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
TRACEPARENT = re.compile(rf"00-{_IDS}|(?!00|ff)[0-9a-f]{{2}}-{_IDS}(-.*)?")  # later versions may append to it
_READ = 55  # the characters that every version has
SYSTEM = "workkit"


class TraceContext(NamedTuple):
    """The context of a span as W3C Trace Context writes it: the texts `traceparent` and `tracestate`."""

    parent: str
    state: str = ""


def read_context(parent: str, state: str = "") -> TraceContext | None:
    """Read a context that another program wrote. Returns None for an invalid one."""
    return None if TRACEPARENT.fullmatch(parent) is None else TraceContext(parent, state)


def opentelemetry() -> Any:
    """Return the module `opentelemetry.trace` if this program has configured it, else None. Other libraries may import
    the module without configuring it.
    """
    api = sys.modules.get("opentelemetry.trace")
    if api is None or (getattr(api, "_TRACER_PROVIDER", api) is None and not _is_set_by_environment()):
        return None  # asking its function would read the environment each time
    try:
        unset = isinstance(api.get_tracer_provider(), api.ProxyTracerProvider | api.NoOpTracerProvider)
    except Exception:  # another thread imports it now, or its setting names a provider that fails
        return None
    return None if unset else api


@cache
def _is_set_by_environment() -> bool:
    return "OTEL_PYTHON_TRACER_PROVIDER" in os.environ


@contextmanager
def adding(schedule: str, *, fn: str | None = None) -> Iterator[Any]:
    """Begin the span of an addition, of one job or of many. Yields the span, or None. The span records an error inside
    the block.
    """
    api = opentelemetry()
    if api is None:
        yield None
        return
    attributes = _attributes("add", "send", schedule, fn)
    tracer = api.get_tracer(SYSTEM, __version__)
    with tracer.start_as_current_span(f"add {schedule}", kind=api.SpanKind.PRODUCER, attributes=attributes) as span:
        yield span


def added(span: Any, id: str, meta: Mapping[str, str] | None) -> None:
    """Write the id and the metadata of the job into the span of its addition."""
    if span is not None:
        span.set_attributes({"messaging.message.id": id, **meta_attributes(meta)})


def meta_attributes(meta: Mapping[str, str] | None) -> dict[str, str]:
    """Return the attributes for the metadata of a job, which both spans have."""
    return {f"workkit.job.meta.{name}": text for name, text in (meta or {}).items()}


def counted(span: Any, jobs: int) -> None:
    """Write the number of additions into the span of many."""
    if span is not None:
        span.set_attribute("messaging.batch.message_count", jobs)


def context_of(span: Any) -> TraceContext | None:
    """Return the context of a span, or None if it has none."""
    if span is None or not (found := span.get_span_context()).is_valid:
        return None
    parent = f"00-{found.trace_id:032x}-{found.span_id:016x}-{int(found.trace_flags):02x}"
    return TraceContext(parent, found.trace_state.to_header())


def here() -> TraceContext | None:
    """Return the context of this thread's current span, for a process that carries a run out; None without one."""
    api = opentelemetry()
    return None if api is None else context_of(api.get_current_span())


@dataclass(frozen=True, slots=True)
class RunSpan:
    """The span of a run in this thread, from `running` to `end`."""

    span: Any
    _token: Any

    def end(self, error: BaseException | None) -> None:
        """End the span. Retry and Discard are answers of the handler, not errors."""
        from opentelemetry import context, trace

        with suppress(Exception):
            if error is not None and not isinstance(error, Retry | Discard):
                self.span.set_attribute("error.type", type_name(error))
                self.span.set_status(trace.Status(trace.StatusCode.ERROR, text_of(error)))
                self.span.record_exception(error)
            self.span.end()
        context.detach(self._token)


def running(schedule: str, *, origin: TraceContext | None, id: str, fn: str, more: Mapping[str, Any]) -> RunSpan | None:
    """Begin the span of a run, and make it the current one of this thread. Returns None if nobody wants it. `origin`:
    the context of the addition, to which the span is linked. Never raises.
    """
    api = opentelemetry()
    if api is None:
        return None
    try:
        from opentelemetry import context

        attributes = {**_attributes("run", "process", schedule, fn), "messaging.message.id": id, **more}
        attributes = {name: value for name, value in attributes.items() if value is not None}
        links = [] if origin is None else [api.Link(_remote(origin))]
        tracer = api.get_tracer(SYSTEM, __version__)
        span = tracer.start_span(f"run {schedule}", kind=api.SpanKind.CONSUMER, attributes=attributes, links=links)
        return RunSpan(span, context.attach(api.set_span_in_context(span)))
    except Exception:  # an exporter or sampler of the program fails; the run must not fail with it
        return None


@contextmanager
def within(origin: TraceContext | None) -> Iterator[None]:
    """Make a remote span the current one inside the block. A worker process does so with the span of its listener."""
    if origin is None:
        yield
        return
    from opentelemetry import context, trace

    token = context.attach(trace.set_span_in_context(trace.NonRecordingSpan(_remote(origin))))
    try:
        yield
    finally:
        context.detach(token)


def _remote(origin: TraceContext) -> Any:
    """Make the context of a remote span. An invalid `tracestate` is left out."""
    from opentelemetry.trace import SpanContext, TraceFlags, TraceState

    _, trace_id, span_id, flags = origin.parent[:_READ].split("-")
    return SpanContext(
        int(trace_id, 16),
        int(span_id, 16),
        is_remote=True,
        trace_flags=TraceFlags(int(flags, 16)),
        trace_state=TraceState.from_header([origin.state]) if origin.state else None,
    )


def _attributes(operation: str, kind: str, schedule: str, fn: str | None) -> dict[str, Any]:
    """Return the attributes that both spans have by the semantic conventions for messaging."""
    attributes: dict[str, Any] = {
        "messaging.system": SYSTEM,
        "messaging.operation.name": operation,
        "messaging.operation.type": kind,
        "messaging.destination.name": schedule,
    }
    return attributes if fn is None else {**attributes, "workkit.job.function": fn}
