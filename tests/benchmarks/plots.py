# mypy: ignore-errors
"""Draw the plots of a benchmark of the peers: python plots.py FOLDER, which has its figures.json.

Run by the virtualenv that has matplotlib; needs nothing of this project.
"""

import json
import sys
from pathlib import Path
from statistics import median

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, MaxNLocator

OURS, THEIRS, INK, PALE = "#0f766e", "#94a3b8", "#1e293b", "#e2e8f0"

mpl.rcParams.update(
    {
        "font.size": 11,
        "font.family": "DejaVu Sans",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": "#cbd5e1",
        "axes.labelcolor": INK,
        "axes.titlesize": 12,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.titlecolor": INK,
        "text.color": INK,
        "xtick.color": "#475569",
        "ytick.color": INK,
        "axes.axisbelow": True,
        "figure.dpi": 150,
        "figure.constrained_layout.w_pad": 0.12,
        "figure.constrained_layout.h_pad": 0.1,
    }
)


def colour(name):
    return OURS if name == "workkit" else THEIRS


def short(value):
    """Say it with 2 or 3 digits."""
    if value >= 100:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def bars(axis, rows, *, title, unit, is_log=False):
    """Draw a bar for each (name, values): the median, a line for the range, the number at its end."""
    names = [name for name, _ in rows]
    middles = [median(values) for _, values in rows]
    axis.barh(names, middles, color=[colour(name) for name in names], height=0.68)
    for y, (_, values) in enumerate(rows):
        axis.plot([min(values), max(values)], [y, y], color=INK, linewidth=1.4, solid_capstyle="butt")
        axis.annotate(
            short(median(values)), (max(values), y), xytext=(6, 0), textcoords="offset points", va="center", fontsize=10
        )
    axis.invert_yaxis()
    axis.set_title(title, pad=10)
    axis.set_xlabel(unit)
    axis.tick_params(left=False)
    axis.spines["left"].set_visible(False)
    axis.set_xlim(0, max(max(values) for _, values in rows) * 1.17)
    axis.grid(axis="x", color=PALE)
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}" if x >= 10 or x == int(x) else f"{x:g}"))
    for label in axis.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() == "workkit" else "normal")


def throughput(figures, peers):
    rows = sorted(((p["name"], p["rates"]["run_rate"]) for p in peers), key=lambda row: -median(row[1]))
    adds = sorted(((p["name"], p["rates"]["add_rate"]) for p in peers), key=lambda row: -median(row[1]))
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 0.46 * len(rows) + 1.9), layout="constrained")
    bars(left, rows, title="Jobs run by one worker process", unit="jobs per second")
    bars(right, adds, title="Jobs added by one process, the fastest way of each", unit="jobs per second")
    foot(figure, figures, "No-op jobs. Bars: medians; dark lines: ranges.")
    return figure


def server(figures, peers):
    figure, axes = plt.subplots(1, 3, figsize=(14, 0.46 * len(peers) + 1.9), layout="constrained")
    named = (
        ("run_server_us", "Server's CPU to run a job", "microseconds"),
        ("run_reads", "Server's socket reads to run a job", "reads (round trips)"),
        ("run_commands", "Commands to run a job, with scripts'", "commands"),
    )
    for axis, (name, title, unit) in zip(axes, named, strict=True):
        known = [p for p in peers if p["is_on_redis"] or name == "run_server_us"]
        rows = sorted(((p["name"], p["rates"][name]) for p in known), key=lambda row: median(row[1]))
        bars(axis, rows, title=title, unit=unit)
    foot(figure, figures, "Less is better. Bars: medians; dark lines: ranges.")
    return figure


def latency(figures, peers):
    waited = [p for p in peers if p["waits"]]
    if not waited:
        return None
    figure, (left, right) = plt.subplots(1, 2, figsize=(12.5, 0.56 * len(waited) + 1.9), layout="constrained")
    scatter(left, waited, "immediate_ms", "Immediate: from before it is added to its start")
    scatter(right, waited, "scheduled_ms", "Scheduled: from its due time to its start")
    foot(figure, figures, "Each dot is a job, each bar a median. Logarithmic; what is under 0.1 ms stands at 0.1 ms.")
    return figure


def scatter(axis, peers, name, title):
    """Draw each job as a dot, spread a little upwards and downwards in a fixed pattern, and the median as a bar."""
    pooled = [(p["name"], [max(0.1, ms) for wait in p["waits"] for ms in wait[name]]) for p in peers]
    pooled.sort(key=lambda row: median(row[1]))
    for y, (peer, values) in enumerate(pooled):
        up = [y + ((i * 0.618) % 1 - 0.5) * 0.5 for i in range(len(values))]
        axis.scatter(values, up, s=11, color=colour(peer), alpha=0.45, linewidths=0)
        middle = median(values)
        axis.plot([middle, middle], [y - 0.36, y + 0.36], color=INK, linewidth=2, solid_capstyle="butt")
        axis.annotate(
            f"{short(middle)} ms",
            (1.02, y),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=10,
            fontweight="bold" if peer == "workkit" else "normal",
        )
    axis.set_xscale("log")
    axis.set_xlim(left=0.08)
    axis.set_yticks(range(len(pooled)), [peer for peer, _ in pooled])
    axis.set_ylim(len(pooled) - 0.4, -0.6)
    axis.set_title(title, pad=10)
    axis.set_xlabel("milliseconds")
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}" if x < 1000 else f"{x:,.0f}"))
    axis.grid(axis="x", color=PALE)
    axis.tick_params(left=False)
    axis.spines["left"].set_visible(False)
    for label in axis.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() == "workkit" else "normal")


def foot(figure, figures, text):
    machine = figures["machine"]
    short_run = " SHORT RUN." if figures["is_short"] else ""
    missing = [p["name"] for p in figures["peers"] if p["problem"]]
    without = f" Without figures: {', '.join(missing)}." if missing else ""
    told = (
        f"{text}{without}{short_run}  {machine['processor']}; {machine['server'].split(',')[0]}; "
        f"{machine['date'].split()[0]}."
    )
    figure.supxlabel(told, fontsize=9, color="#64748b", x=0.01, ha="left")


def main(folder):
    figures = json.loads((folder / "figures.json").read_text())
    peers = [p for p in figures["peers"] if p["rates"]]
    for draw in (throughput, latency, server):
        drawn = draw(figures, peers) if peers else None
        if drawn is not None:
            drawn.savefig(folder / f"{draw.__name__}.png", facecolor="white")
        else:
            (folder / f"{draw.__name__}.png").unlink(missing_ok=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
