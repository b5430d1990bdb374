"""Write the report of a benchmark of the peers from its figures.

    python -m tests.benchmarks.report FOLDER

FOLDER has the figures.json that `python -m tests.benchmarks.peers` left there; report.md is put beside it.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from docs.scale.tables import number, spread

PLOTS = {
    "throughput.png": "Jobs run per second",
    "latency.png": "Latency on a waiting worker",
    "server.png": "What the server is asked for",
}

BUSY = 0.1  # part of all cores that other programs took, from which it is said

Row = Sequence[str]
Figures = dict[str, Any]


def write(folder: Path) -> None:
    """Write report.md, with the plots that are there."""
    figures: Figures = json.loads((folder / "figures.json").read_text())
    plots = [name for name in PLOTS if (folder / name).exists()]
    (folder / "report.md").write_text("\n\n".join(_parts(figures, plots)) + "\n")


def percentile(values: Iterable[float], part: float) -> float:
    """Return the least value that `part` of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]


def _parts(figures: Figures, plots: list[str]) -> Iterable[str]:
    measured = sorted((p for p in figures["peers"] if p["rates"]), key=lambda p: -median(p["rates"]["run_rate"]))
    waited = [p for p in measured if p["waits"]]
    ours = next((p for p in measured if p["name"] == "workkit"), None)
    yield "# workkit and its peers, side by side"
    yield _summary(figures, measured, ours)
    if figures["is_short"]:
        yield (
            "**This is a short run**: fewer jobs and one run each. It shows whether something broke; "
            "compare figures of full runs only."
        )
    if max(figures["foreign"], default=0) > BUSY:
        yield (
            f"**Other programs were busy meanwhile**: they took {_percents(figures)} of all cores. Figures are lower, "
            "and ranges wider, than on a quiet machine, and most so where worker and server together need all cores."
        )
    if problems := [p for p in figures["peers"] if p["problem"]]:
        yield "## Without figures"
        yield "\n".join(f"- **{p['name']}**: {' '.join(p['problem'].split())}" for p in problems)
    yield "## Running jobs\n\n" + _plot("throughput.png", plots) + _rates(measured, ours)
    yield "## Running jobs that take 10 ms\n\n" + _pausing(measured)
    yield "## Adding jobs\n\n" + _adding(measured, ours)
    yield "## What the server is asked for\n\n" + _plot("server.png", plots) + _server(measured)
    if waited:
        yield "## Latency on a waiting worker\n\n" + _plot("latency.png", plots) + _immediate(waited, figures)
        yield _scheduled(waited, figures)
        yield "## Asked while nothing happens\n\n" + _idle(waited, figures)
    described = {**figures["machine"], "other programs": _others(figures)}
    yield "## Machine\n\n" + table(("", ""), list(described.items()))
    yield "## How each was set up\n\n" + _settings(figures["peers"])
    yield "## How it was measured\n\n" + _method(figures)


def table(head: Row, rows: Iterable[Row]) -> str:
    """Write a Markdown table; columns after the first are to the right if they hold numbers."""
    kept = [list(row) for row in rows]
    numeric = [all(row[i][:1].isdigit() or row[i][:1] in "-–" for row in kept) for i in range(len(head))]
    rule = ["---:" if is_number and i else "---" for i, is_number in enumerate(numeric)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [list(head), rule, *kept])


def _summary(figures: Figures, measured: list[Figures], ours: Figures | None) -> str:
    date = figures["machine"]["date"]
    told = (
        f"{date}; {figures['machine']['processor']}; {figures['machine']['server']}; {figures['minutes']:.0f} minutes."
    )
    others = [p for p in measured if p is not ours]
    if ours is None or not others:
        return told
    mine, best = median(ours["rates"]["run_rate"]), median(others[0]["rates"]["run_rate"])
    return (
        f"workkit ran {number(mine)} jobs a second, the fastest of the others ({others[0]['name']}) {number(best)}: "
        f"{mine / best:.1f} times as many. {told}"
    )


def _percents(figures: Figures) -> str:
    seen = figures["foreign"]
    return f"{100 * median(seen):.0f} % ({100 * min(seen):.0f} to {100 * max(seen):.0f} %)"


def _others(figures: Figures) -> str:
    if not figures["foreign"]:
        return "how busy they were is not known"
    return (
        f"took {_percents(figures)} of all cores, in samples of 0.5 s before each of {len(figures['foreign'])} rounds"
    )


def _plot(name: str, plots: list[str]) -> str:
    return f"![{PLOTS[name]}]({name})\n\n" if name in plots else ""


def _ratio(peer: Figures, ours: Figures | None, name: str) -> str:
    if ours is None:
        return "–"
    return number(median(peer["rates"][name]) / median(ours["rates"][name]), 2)


def _rates(measured: list[Figures], ours: Figures | None) -> str:
    head = ("", "jobs per second", "of workkit's", "worker's CPU, µs per job", "jobs in a run")
    return table(
        head,
        [
            (
                p["name"],
                spread(p["rates"]["run_rate"]),
                _ratio(p, ours, "run_rate"),
                spread(p["rates"]["worker_us"]),
                f"{p['jobs']:,}",
            )
            for p in measured
        ],
    )


def _pausing(measured: list[Figures]) -> str:
    ordered = sorted(measured, key=lambda p: -median(p["rates"]["pausing_rate"]))
    head = ("", "jobs per second", "at once", "half load, jobs per second", "starts after, p50, ms", "p99, ms")
    text = table(
        head,
        [
            (
                p["name"],
                spread(p["rates"]["pausing_rate"]),
                f"{p['at_once']}",
                number(median(p["rates"]["half_rate"])),
                spread(p["rates"]["half_p50_ms"]),
                spread(p["rates"]["half_p99_ms"]),
            )
            for p in ordered
        ],
    )
    return text + (
        "\n\nHalf load: jobs are added one by one to the same worker, half as many in a second as it runs. A job "
        "starts after the time from before it is added to the first line of its function."
    )


def _adding(measured: list[Figures], ours: Figures | None) -> str:
    ordered = sorted(measured, key=lambda p: -median(p["rates"]["add_rate"]))
    head = (
        "",
        "added per second, the fastest way of each",
        "of workkit's",
        "producer's CPU, µs per job",
        "one by one: µs per job",
        "… producer's CPU",
        "… server's CPU",
    )
    return table(
        head,
        [
            (
                p["name"],
                spread(p["rates"]["add_rate"]),
                _ratio(p, ours, "add_rate"),
                number(median(p["rates"]["add_us"])),
                spread(p["rates"]["one_us"]),
                number(median(p["rates"]["one_cpu_us"])),
                number(median(p["rates"]["one_server_us"])),
            )
            for p in ordered
        ],
    )


def _server(measured: list[Figures]) -> str:
    ordered = sorted(measured, key=lambda p: median(p["rates"]["run_server_us"]) + median(p["rates"]["add_server_us"]))
    text = table(
        (
            "",
            "server's CPU to run, µs per job",
            "… to add",
            "commands to run a job",
            "… to add",
            "socket reads to run a job",
            "… to add",
        ),
        [
            (
                p["name"],
                spread(p["rates"]["run_server_us"]),
                number(median(p["rates"]["add_server_us"])),
                _asked(p, "run_commands"),
                _asked(p, "add_commands"),
                _asked(p, "run_reads"),
                _asked(p, "add_reads"),
            )
            for p in ordered
        ],
    )
    return text + (
        "\n\nCommands include those that scripts call. The server's reads from its sockets tell round trips: "
        "one for a command that is awaited, one (or few) for a pipeline."
    )


def _immediate(waited: list[Figures], figures: Figures) -> str:
    pooled = {p["name"]: [ms for wait in p["waits"] for ms in wait["immediate_ms"]] for p in waited}
    rows = [
        (
            p["name"],
            spread([percentile(wait["immediate_ms"], 0.5) for wait in p["waits"]]),
            spread([percentile(wait["immediate_ms"], 0.99) for wait in p["waits"]]),
            number(max(pooled[p["name"]])),
        )
        for p in sorted(waited, key=lambda p: median(pooled[p["name"]]))
    ]
    return (
        f"**Immediate**: milliseconds from before a job is added to the first line of its function; "
        f"{figures['wait']['immediate']} jobs 10 to 20 ms apart, {_starts(figures)}.\n\n"
        + table(("", "p50, ms", "p99, ms", "max, ms"), rows)
    )


def _scheduled(waited: list[Figures], figures: Figures) -> str:
    pooled = {p["name"]: [ms for wait in p["waits"] for ms in wait["scheduled_ms"]] for p in waited}
    rows = [
        (
            p["name"],
            *(number(f(pooled[p["name"]])) for f in (min, _middle, max)),
            p["dues"],
        )
        for p in sorted(waited, key=lambda p: abs(median(pooled[p["name"]])))
    ]
    return (
        f"**Scheduled**: milliseconds from the due time to the first line of the function; "
        f"{figures['wait']['scheduled']} jobs, {_starts(figures)}, each worker with its default poll. Where due times "
        "can be fractions of a second, they are 0.37 s apart, so that every phase of a clock that ticks once a second "
        "is met; else 1 s apart, and the phase is another one after each start.\n\n"
        + table(("", "min, ms", "p50, ms", "max, ms", "due times are"), rows)
    )


def _middle(values: list[float]) -> float:
    return median(values)


def _asked(peer: Figures, name: str) -> str:
    return number(median(peer["rates"][name])) if peer["is_on_redis"] else "–"


def _starts(figures: Figures) -> str:
    return "one start of the worker" if figures["starts"] == 1 else f"{figures['starts']} starts of the worker"


def _idle(waited: list[Figures], figures: Figures) -> str:
    known = [p for p in waited if p["is_on_redis"] and "idle_commands" in p["waits"][0]]
    first: Callable[[Figures], Figures] = lambda p: p["waits"][0]  # noqa: E731
    rows = [
        (p["name"], number(first(p)["idle_reads"], 2), number(first(p)["idle_commands"], 2))
        for p in sorted(known, key=lambda p: (first(p)["idle_reads"], first(p)["idle_commands"]))
    ]
    return (
        f"Over {figures['wait']['idle_seconds']:g} s, by one worker and what it needs for scheduled jobs.\n\n"
        + table(("", "socket reads per second", "commands per second, those in scripts among them"), rows)
    )


def _settings(peers: list[Figures]) -> str:
    return table(
        ("", "versions", "settings", "a job is acknowledged"),
        [
            (
                p["name"],
                ", ".join(f"{k} {v}" for k, v in p["versions"].items()) or "–",
                p["settings"],
                p["acknowledges"],
            )
            for p in peers
        ],
    )


def _method(figures: Figures) -> str:
    runs = f"{figures['runs']} runs" if figures["runs"] > 1 else "1 run"
    return f"""\
- One Redis for all but Graphile Worker, which has a PostgreSQL; one peer at a time, emptied before each run; the peers
  take turns in every round. {runs}: medians, with the range in brackets.
- A job is one of five functions with one integer. It appends the number and the time to a list of its process, the
  same few lines for all, and asks nothing of the server.
- All jobs are added first, then one worker process is started with the command that a user would type. The first
  tenth warms producer and worker up; the rates are those of the rest, from the time when the tenth had run to when all
  had.
- **Exactly once**: after every run a last job writes that list to a file. If any number is missing or there twice, all
  figures of that peer are void. So they are if a worker ends, or is not done in time.
- What a worker has fetched ahead when the tenth has run counts in its favour: some 25 ms of work for workkit, at
  most 640 jobs for Celery, 128 for dramatiq.
- An immediate job meets a worker that has been idle for some milliseconds: one that polls the more seldom the longer
  it is idle would start a job after a long pause later than shown.
- Up to 10 jobs at once wherever a peer can; where its settings say otherwise, they do so because it is faster.
- Round trips to a server on the same machine are short: over a network, what needs more of them falls further behind.
- No-op jobs show what the machinery costs. Where a job takes 10 ms, it is the jobs that count, not the machinery."""


if __name__ == "__main__":
    write(Path(sys.argv[1]))
