"""The tiers of the suite, and how its tests share a machine in a parallel run.

Four tiers: quick (`-m quick`, no server and no process of its own: what one runs after each change), fast
(`-m "not slow"`), browser (`-m browser`, the web face in Chromium), and whole (everything). A file, or a test, is slow
that took longer than about 1.5 s when it was measured with `pytest --durations=60`.

In a run with `-n` tests run beside others, as they mostly wait. Slow tests go to the workers one by one, fast ones by
the file. A file in `TOGETHER` shares something dear, so one worker runs the whole of it. The tests in `OWN_RABBIT` stop
and kill one RabbitMQ, so one worker runs all of them. A test in `HEAVY` fills the machine with processes: one worker
runs all of these, one after the other, so that no two do it at the same time. The tests in `BROWSER` share one site and
one browser, so one worker runs all of them. The other slow tests mostly wait, and the fast ones compute: they take
turns, so that the processor is busy all the time. What a test measures it compares with what the machine took meanwhile
(`metronome.py`): others run beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from xdist.scheduler.loadscope import LoadScopeScheduling

TESTS = Path(__file__).parent

BROWSER = ("browser/",)

SLOW = (
    "acceptance/",
    "brokers/gocraft/doctor/test_beside_pools.py",
    "brokers/gocraft/serving/test_bridge.py",
    "brokers/gocraft/serving/test_enqueuer.py::test_a_listener_runs_its_periodic",
    "brokers/gocraft/serving/test_listeners.py",
    "brokers/gocraft/serving/test_reaping.py",
    "brokers/gocraft/test_go_peer.py",
    "brokers/gocraft/test_go_peer_changes.py",
    "brokers/gocraft/test_go_peer_pools.py",
    "brokers/history/test_bounds.py",
    "brokers/hutch/beside/test_crashes.py::test_a_crash_that_was_counted",
    "brokers/hutch/beside/test_limits.py::test_a_slot_of_a_dead",
    "brokers/hutch/beside/test_outages.py::test_a_listener_that_was_taken",
    "brokers/hutch/beside/test_poison.py",
    "brokers/hutch/doctor/test_traffic.py::test_an_alarm",
    "brokers/hutch/test_queues.py::test_counts_and_listeners",
    "brokers/hutch/peer/",
    "brokers/hutch/test_consuming.py::test_an_idle_listener",
    "brokers/hutch/test_delays.py",
    "brokers/hutch/test_handlers.py::test_heartbeats",
    "brokers/hutch/test_load.py",
    "brokers/hutch/test_outages.py",
    "brokers/hutch/test_tls.py",
    "brokers/test_cluster.py",
    "brokers/test_declared_keys.py::test_scripts_of_the_native",
    "brokers/test_embedded_folder.py::test_the_command_line_says_in_one_line",
    "brokers/test_native_checkup.py::test_a_hundred_thousand_jobs",
    "brokers/test_native_checkup.py::test_a_listener_at_full_speed",
    "brokers/test_native_crowd.py",
    "brokers/test_native_dead.py::test_ten_thousand",
    "brokers/test_native_handback.py::test_a_repair_puts_back_what_an_earlier_version",
    "brokers/test_native_hostile.py",
    "brokers/test_native_put.py::test_a_name_and_a_key_never_stand_for_two",
    "brokers/test_sentinel.py",
    "browser/",
    "cli/test_add_many.py::test_a_batch_that_is_killed",
    "cli/test_add_many.py::test_two_programs_that_resume",
    "cli/test_ages.py",
    "cli/test_doctor.py::test_fix_asks_on_a_terminal",
    "cli/test_forward.py::test_a_command_publishes",
    "cli/test_forward.py::test_listen_forwards",
    "cli/test_import_programs.py::test_the_",
    "cli/test_import_programs.py::test_jobs_of",
    "cli/test_listen_imports.py::test_a_module_in_src",
    "cli/test_listen_imports.py::test_several_processes",
    "cli/test_listen_processes.py",
    "cli/test_look.py::test_no_line_on_a_terminal",
    "cli/test_look.py::test_watch_shows",
    "cli/test_passwords.py::test_a_listener_shows",
    "cli/test_passwords.py::test_workkit_listen_shows",
    "cli/test_processes.py",
    "cli/test_rabbitmq.py::test_a_forward_publishes",
    "cli/test_refused.py::test_a_listener_",
    "cli/test_reload.py",
    "cli/test_web.py::test_a_real_process",
    "cli/test_web.py::test_it_",
    "cli/test_web.py::test_no_page",
    "django/test_shop.py",
    "frameworks/",
    "docs/test_comparison.py",
    "docs/test_snippets.py::test_every_block",
    "jobs/test_interval_year.py::test_outages",
    "jobs/test_symbols.py::test_names_at_random",
    "model/",
    "moving/schedulers/test_tables.py",
    "test_deploy.py::test_every_probe",
    "test_deploy.py::test_the_steps",
    "test_examples.py",
    "test_interop.py",
    "test_intervals.py",
    "test_mounts.py",
    "test_schedule.py::test_tls_spoken_to_a_plain_port",
    "test_sync.py::test_a_large_plan",
    "test_tracing.py",
    "test_wire.py::test_a_payload_reads_back",
    "testing/test_plugin.py::test_a_project_tests",
    "testing/test_plugin.py::test_without_a_server_program",
    "triggers/test_standard.py::test_the_values_are_those_of_a_crontab",
    "triggers/test_zones.py::test_every_change_of_every_zone",
    "web/actions/test_dead.py::test_when_the_process_dies",
    "web/security/test_hostile_records.py::test_each_",
    "web/security/test_layouts.py",
    "web/security/test_masked.py::test_no_page",
    "cli/test_first_process.py",
    "worker/monitoring/test_page.py::test_without_its_server",
    "worker/monitoring/test_processes.py",
    "worker/test_cancel.py::test_a_cancelled_job_whose_listener_dies",
    "worker/test_event_loop.py::test_a_loop_that_dies",
    "cli/test_import.py::test_a_second_import",
    "test_shell.py::test_a_listener_that_stops",
    "test_shell.py::test_a_timeout",
    "worker/test_farewell.py",
    "worker/test_forks.py",
    "worker/test_forward_rabbitmq.py::test_a_broker",
    "worker/test_forward_rabbitmq.py::test_a_cut_connection",
    "worker/test_health.py::test_a_call_into_c",
    "worker/test_health.py::test_a_job_that_keeps",
    "worker/test_health.py::test_a_listener_that_was_suspended",
    "worker/test_health.py::test_a_loop_that",
    "worker/test_logbook.py::test_a_program_without_logging",
    "worker/test_offload.py",
    "worker/test_rate.py",
    "worker/test_retries.py::test_a_recurring_job_keeps_its_schedule",
    "worker/test_service.py",
    "worker/test_stalls.py",
    "worker/test_wakeups.py::test_a_recurring_job_starts_in_time",
)

TOGETHER = (
    "acceptance/test_features_owned.py",
    "acceptance/test_processes.py",
    "brokers/gocraft/test_go_peer.py",
    "brokers/hutch/peer/test_recorded.py",
    "brokers/hutch/test_tls.py",
    "brokers/test_cluster.py",
    "brokers/test_sentinel.py",
    "brokers/test_tls.py",
    "browser/",
)

OWN_RABBIT = (
    "acceptance/test_hutch_fleet.py::test_kills_and_cuts",
    "brokers/hutch/test_delays.py::test_delays_survive",
    "brokers/hutch/test_outages.py::test_a_broker_that",
    "brokers/hutch/test_outages.py::test_a_run_that",
    "worker/test_forward_rabbitmq.py::test_a_broker_that_is_away",
)

HEAVY = (
    "acceptance/test_crashes.py",
    "acceptance/test_features_crash.py",
    "acceptance/test_pool_crashes.py",
    "acceptance/test_soak_short.py",
    "brokers/gocraft/serving/test_listeners.py::test_a_killed_listener",
    "brokers/test_native_checkup.py::test_a_listener_at_full_speed",
    "docs/test_comparison.py",
    "test_examples.py::test_all_others_run_side_by_side",
    "test_interop.py::test_each_peer_runs",
)

# Above the brokers it plays no part which product the server is. Half of these tests run with Redis, half with Valkey.
ONE_PRODUCT = (
    "acceptance/test_crowd.py",
    "acceptance/test_features_order.py",
    "acceptance/test_features_running.py",
    "acceptance/test_debris.py",
    "acceptance/test_hostile.py",
    "acceptance/test_hostile_values.py",
    "acceptance/test_main_job.py",
    "acceptance/test_moving.py",
    "acceptance/test_poison.py",
    "brokers/gocraft/serving/test_listeners.py",
    "brokers/gocraft/serving/test_replay_pools.py",
    "brokers/history/test_bounds.py",
    "brokers/history/test_changes.py",
    "brokers/hutch/",
    "brokers/test_native_checkup.py::test_a_listener_at_full_speed",
    "browser/",
    "cli/",
    "django/",
    "docs/",
    "frameworks/",
    "jobs/",
    "test_calling.py",
    "test_changes.py",
    "test_deploy.py",
    "test_examples.py",
    "test_intervals.py",
    "test_named.py",
    "test_past.py",
    "test_payload_size.py",
    "test_readme.py::test_every_",
    "test_rescheduling.py",
    "test_results.py",
    "test_schedule.py",
    "test_shell.py",
    "test_steering.py",
    "test_sync.py",
    "test_tracing.py",
    "test_unique.py",
    "web/",
    "worker/",
)


# Fixtures that start something.
STARTING = {"server", "own_server", "_shared", "processes", "rabbitmq", "_spare_rabbit"}
SLOW_UNTIL = 0.85  # of a shared run: by then all slow tests have begun
NOT_QUICK = (  # that take seconds nevertheless
    "brokers/gocraft/test_names.py",
    "cli/test_spelling.py",
    "contract/toy_layout/",
    "jobs/test_interval_year.py",
    "jobs/test_symbols.py",
    "moving/test_exact.py",
    "test_deprecations.py",
    "test_packaging.py",
    "test_typed.py",
    "triggers/oracle/",
    "triggers/test_cron_slowly.py",
    "triggers/test_explain.py",
    "worker/",
)


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]  # untyped
    """Gives tests to the workers of a run with `-n`, in the order of `ordered`."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        """Return what is given to one worker as a whole: one of the three lists, a file, or a single slow test."""
        place = nodeid.removeprefix(f"{TESTS.name}/")
        for tests, together in ((HEAVY, "heavy"), (OWN_RABBIT, "own rabbit"), (BROWSER, "browser")):
            if place.startswith(tests):
                return together
        return nodeid if place.startswith(SLOW) and not place.startswith(TOGETHER) else nodeid.partition("::")[0]


def mark(items: Sequence[pytest.Item]) -> None:
    """Mark the slow tests, the quick ones, and those of a browser."""
    for item in items:
        if _place(item).startswith(SLOW):
            item.add_marker("slow")
        elif STARTING.isdisjoint(getattr(item, "fixturenames", ())) and not _place(item).startswith(NOT_QUICK):
            item.add_marker("quick")
        if _place(item).startswith(BROWSER):
            item.add_marker("browser")


def ordered(items: Sequence[pytest.Item], *, is_shared: bool) -> list[pytest.Item]:
    """Return the tests in the order of a run: those that take one worker long, then the slow ones, then the fast ones,
    which fill the gaps at the end: the files with the most tests first, so that the last ones are short. In a run that
    several workers share, slow and fast ones take turns.
    """
    sizes = Counter(item.path for item in items)
    first, slow, fast = list[pytest.Item](), list[pytest.Item](), list[pytest.Item]()
    for item in items:
        is_chained = _place(item).startswith((*HEAVY, *OWN_RABBIT, *BROWSER))
        (first if is_chained else slow if item.get_closest_marker("slow") else fast).append(item)
    fast.sort(key=lambda item: -sizes[item.path])
    return [*first, *(_in_turns(slow, fast) if is_shared else (*slow, *fast))]


def _in_turns(slow: Sequence[pytest.Item], fast: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Spread the slow ones, which mostly wait, among the files of the fast ones, which compute: at any time some
    workers do one and some the other. The last part of the run is left to the fast ones.
    """
    begun = dict[Path, float]()
    at = [(SLOW_UNTIL * number / len(slow), item) for number, item in enumerate(slow)]
    at += [(begun.setdefault(item.path, number / len(fast)), item) for number, item in enumerate(fast)]
    return [item for _, item in sorted(at, key=itemgetter(0))]


def one_product(item: pytest.Item) -> str:
    """Return the server of a test that runs with one only: always the same. Empty for one that runs with each."""
    place = _place(item)
    return ("redis", "valkey")[crc32(place.encode()) % 2] if place.startswith(ONE_PRODUCT) else ""


def _place(item: pytest.Item) -> str:
    """Return the file and the name of a test, as the lists above give them: `worker/test_runner.py::test_...`."""
    return f"{_file(item.path)}::{item.name}"


@cache  # a path is dear to take apart, and all tests of a file have the same
def _file(path: Path) -> str:
    return path.relative_to(TESTS).as_posix()
