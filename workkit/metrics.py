"""Metrics of listeners for a program that has its own registry of prometheus-client.

    from prometheus_client import REGISTRY
    from workkit import metrics, schedule

    listener = schedule.listener(s)
    REGISTRY.register(metrics.collector(listener))
    listener.start()

spec/metrics.md lists the metrics.
"""

from __future__ import annotations

from workkit.errors import InvalidOptions, Unsupported
from workkit.text.exposition import is_installed
from workkit.worker.exposition import Collector, Gauges
from workkit.worker.listener import Listener
from workkit.worker.run_table import Totals

__all__ = ["collector"]


def collector(*listeners: Listener) -> Collector:
    """Make a collector of prometheus-client for all listeners of a program. Register it once.

    It counts the runs that end from now on, so make it before the listeners start. Its counts stay when the listeners
    stop; the gauges of a schedule disappear with its last listener. Raises Unsupported without the extra `prometheus`,
    InvalidOptions without a listener.
    """
    if not is_installed():
        remedy = "Install the extra: pip install 'workkit[prometheus]'."
        raise Unsupported.about("metrics.collector", "needs prometheus-client", remedy, where="metrics.collector")
    for place, one in enumerate(listeners):
        if not isinstance(one, Listener):
            where = f"listeners[{place}]"
            raise InvalidOptions.about(where, f"is {one!r}, and no listener", ACCEPTED, where=where, given=one)
    if not listeners:
        raise InvalidOptions.about("metrics.collector", "has no listener", ACCEPTED, where="listeners")
    totals, gauges = Totals(), Gauges()
    for one in listeners:
        one.measure_into(totals, gauges)
    return Collector(totals, gauges)


ACCEPTED = "Write metrics.collector(schedule.listener(s))."
