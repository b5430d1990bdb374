"""Figures of one job's way, here, at an earlier commit and in other systems, for page and terminal. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Final

from docs.scale.model import Fleet, Model
from docs.scale.tables import number, spread, table

STEPS: Final = ("PING", "add_now", "add(at=)", "unique_key=", "named every=")
"""The single round trips; each but the first is shown as a multiple of the first."""

SHARDS: Final = (1, 2, 4)
LISTENERS: Final = (1, 2, 4, 8)

Figures = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure of both sides. `values` and `others` have one value for each round, `others` is empty where nothing
    was measured beside. `ratios` are those of each round; `aim` says where the figure, or the ratio, should be.
    """

    what: str
    values: Sequence[float]
    others: Sequence[float] = ()
    aim: str = ""

    @property
    def ratios(self) -> list[float]:
        """The values set against the others, round by round."""
        return [here / there for here, there in zip(self.values, self.others, strict=bool(self.others))]


def rows(figures: Figures) -> list[Row]:
    """Give a row for each figure."""
    sides = figures["sides"]
    here = sides["here"]
    there = sides.get(figures["against"], {})
    if not here:
        return []

    def row(what: str, of: Any, aim: str = "") -> Row:
        return Row(what=what, values=of(here), others=of(there) if there else (), aim=aim)

    def each(side: Figures, *names: str) -> Iterator[tuple[float, ...]]:
        return zip(*(side[name] for name in names), strict=True)

    cores = figures["cores"]
    found = [
        row("jobs/s, one listener", lambda side: side["one.run_rate"], "1.15 times"),
        row("µs of CPU a job: listener", lambda side: side["one.worker_us"]),
        row("µs of CPU a job: server", lambda side: side["one.run_server_us"]),
        row(
            "µs of CPU a job: both",
            lambda side: [a + b for a, b in each(side, "one.worker_us", "one.run_server_us")],
            "at most 0.9 times",
        ),
        row("jobs/s, two listeners", lambda side: side["two.run_rate"]),
        row(
            f"two listeners, part of what {cores} cores allow",
            lambda side: [
                rate / (cores * 1e6 / (ours + server))
                for rate, ours, server in each(side, "two.run_rate", "two.worker_us", "two.run_server_us")
            ],
            "at least 0.9",
        ),
        row("rows/s, add_many", lambda side: side["one.add_rate"], "1.2 times"),
        row("µs of CPU a row: producer", lambda side: side["one.add_us"]),
        row("µs, PING", lambda side: side["step.PING"]),
    ]
    for kind, aim in zip(STEPS[1:], (1.45, 1.7, 1.8, 2.2), strict=True):
        found.append(
            row(
                f"PINGs, {kind}",
                lambda side, kind=kind: [a / b for a, b in each(side, f"step.{kind}", "step.PING")],
                f"at most {aim}",
            )
        )
    found += [row(f"µs of CPU, {kind}: producer", lambda side, kind=kind: side[f"step_cpu.{kind}"]) for kind in STEPS]
    found.append(row("ms, wake-up, p50", lambda side: side["wake.p50_ms"], "at most 1"))
    found.append(row("ms, wake-up, p99", lambda side: side["wake.p99_ms"], "at most 3"))
    return found


def defaults(figures: Figures) -> list[Row]:
    """Give jobs a second, and the CPU time of one, with history, metrics and logging, set against those without any."""
    arms = figures["defaults"]
    rates = [
        Row(
            what=f"jobs/s, {name}", values=arm["rate"], others=arms["all off"]["rate"],
            aim="at least 0.95 times" if name == "all on" else "",
        )
        for name, arm in arms.items()
    ]  # fmt: skip
    costs = [
        Row(what=f"µs of CPU a job, {name}", values=arm["cpu_us"], others=arms["all off"]["cpu_us"])
        for name, arm in arms.items()
    ]
    return rates + costs


def lines(figures: Figures) -> Iterator[str]:
    """Say all of it in plain lines."""
    machine = figures["machine"]
    yield f"{machine['processor']}; {machine['server']}; Python {machine['Python']}; {figures['minutes']:.1f} minutes"
    if figures["foreign"]:
        yield f"other programs took {100 * median(figures['foreign']):.0f} % of all cores before a round (median)"
    yield f"{figures['jobs']:,} jobs, medians of {figures['runs']}, ranges in brackets"
    for head, found in ((f"beside {figures['against']}", rows(figures)), ("beside all off", defaults(figures))):
        for one in found:
            ratio = f"{spread(one.ratios)} times {head.removeprefix('beside ')}" if one.ratios else ""
            there = f"{median(one.others):12,.4g}" if one.others else ""
            yield f"{one.what:42} {spread(one.values):32} {there:12}  {ratio:44} {one.aim}"


def job_tables(job: Figures, peers: Figures, model: Model) -> dict[str, str]:
    """Write the tables of one job's way, by their names."""
    return {
        "job": f"{_place(job)}. {job['jobs']:,} jobs, medians of {job['runs']} rounds with ranges.\n\n{_sides(job)}",
        "defaults": _defaults(job),
        "fleet": _fleet(job, model),
        "running": f"{_place(peers)}. Rounds: {peers['runs']}, of which medians are shown.\n\n{_running(peers)}",
        "adding": _adding(peers),
    }


def _place(figures: Figures) -> str:
    machine, busy = figures["machine"], figures["foreign"]
    others = f"; other programs took {100 * median(busy):.0f} % of all cores" if busy else ""
    return f"{machine['processor']}; {machine['server'].split(',')[0]}; Python {machine['Python']}{others}"


def _sides(job: Figures) -> str:
    there = job["against"]
    head = ("", "here", *((f"here, divided by {there}",) if there else ()))
    return table(head, [(one.what, spread(one.values), *((spread(one.ratios),) if there else ())) for one in rows(job)])


def _defaults(job: Figures) -> str:
    found = defaults(job)
    arms = list(job["defaults"])
    cells = [(spread(one.values), spread(one.ratios)) for one in found]
    rows_of_arms = [(arm, *cells[at], *cells[at + len(arms)]) for at, arm in enumerate(arms)]
    return table(("", "jobs/s", "of all off", "µs of CPU a job", "of all off"), rows_of_arms)


def _fleet(job: Figures, model: Model) -> str:
    """Compute the rates where each process has a core of its own, from what a job costs in one listener."""
    here = job["sides"]["here"]
    one, two = median(here["one.run_rate"]), median(here["two.run_rate"])
    server, listener = median(here["one.run_server_us"]), median(here["one.worker_us"])
    cost = replace(model.kinds["once"], server_us=server, listener_us=listener)
    ideal = replace(model, kinds={"once": cost}, usable=1.0)
    computed = replace(ideal, usable=min(1.0, one / ideal.rate("once", Fleet(cores=job["cores"]))))

    def cell(shards: int, listeners: int) -> str:
        fleet = Fleet(shards=shards, processes=listeners)
        if (shards, listeners) == (1, 1):
            return f"{number(one)}, measured"
        return f"{number(computed.rate('once', fleet))}, computed ({computed.bound('once', fleet)})"

    shared = Fleet(processes=2, cores=job["cores"])
    head = ("shards", *(f"{n} listener{'s' if n > 1 else ''}" for n in LISTENERS))
    text = table(head, [(f"{shards}", *(cell(shards, n) for n in LISTENERS)) for shards in SHARDS])
    return (
        f"{text}\n\nTwo listeners and their server on these {job['cores']} cores: {number(two)}, measured; "
        f"{number(computed.rate('once', shared))}, computed ({computed.bound('once', shared)})."
    )


def _running(peers: Figures) -> str:
    def row(one: Figures) -> tuple[str, ...]:
        rates = one["rates"]
        return (
            _name(one), spread(rates["run_rate"]), _middle(rates["worker_us"]), _middle(rates["run_server_us"]),
            f"{_middle(rates['pausing_rate'])} ({one['at_once']})", _middle(rates["half_rate"]),
            f"{_middle(rates['half_p50_ms'])}, {_middle(rates['half_p99_ms'])}",
            f"{_middle(one['idle_p50_ms'])}, {_middle(one['idle_p99_ms'])}",
        )  # fmt: skip

    head = (
        "", "no-op jobs/s", "worker, µs a job", "server, µs a job", "jobs of 10 ms, jobs/s (at once)",
        "half load, jobs/s", "starts after, p50 and p99, ms", "idle worker, p50 and p99, ms",
    )  # fmt: skip
    text = table(head, [row(one) for one in _measured(peers, "run_rate")])
    problems = {
        one["name"]: one["problem"].splitlines()[0].removesuffix("; log:") for one in peers["peers"] if one["problem"]
    }
    without = [f"{name}: {problem}." for name, problem in problems.items()]
    return "\n\n".join([text, *without])


def _adding(peers: Figures) -> str:
    def row(one: Figures) -> tuple[str, ...]:
        rates = one["rates"]
        many = (spread(rates["add_rate"]), _middle(rates["add_us"]), _middle(rates["add_server_us"]))
        return _name(one), *many, *(_middle(rates[name]) for name in ("one_us", "one_cpu_us", "one_server_us"))

    head = (
        "", "many together, jobs/s", "producer, µs a job", "server, µs a job", "one by one, µs a job",
        "producer, µs of it", "server, µs of it",
    )  # fmt: skip
    return table(head, [row(one) for one in _measured(peers, "add_rate")])


def _measured(peers: Figures, by: str) -> list[Figures]:
    return sorted((one for one in peers["peers"] if one["rates"]), key=lambda one: -median(one["rates"][by]))


def _name(one: Figures) -> str:
    name: str = one["name"]
    return f"{name} {one['versions'][name]}" if name in one["versions"] else name


def _middle(values: Sequence[float]) -> str:
    return number(median(values))
