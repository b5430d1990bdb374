"""Parts of the pages that are made from the code: options, commands, environment variables, events, layouts, findings,
and the tasks of examples/comparison.

They are on the pages as Markdown, readable on a code host and on the site. A page has each between
`<!-- made: option-table schedule.add -->` and `<!-- made: end -->`. After a change of the code write them anew:

    python -m docs.building.tables
"""

from __future__ import annotations

import io
import os
import re
import textwrap
import tokenize
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click

from workkit import events
from workkit.brokers import doctor
from workkit.brokers.doctor import kinds_of
from workkit.brokers.gocraft import doctor as gocraft
from workkit.brokers.hutch import doctor as hutch
from workkit.brokers.hutch.beside import doctor as beside
from workkit.brokers.layout import COMMON, Keeps, Layout, layouts, own_options
from workkit.brokers.native import doctor as native
from workkit.brokers.redis_server import doctor as redis_server
from workkit.brokers.redis_server import our_keys
from workkit.cli.commands.help import topic_page
from workkit.cli.tree import GROUPS, TOPICS, tree
from workkit.contract.doctor import Kind
from workkit.jobs.options import OPTIONS, VerbOption

DOCS = Path(__file__).resolve().parent.parent
PAGES = [*sorted(DOCS.glob("reference/*.md")), DOCS / "comparison.md"]
PART = re.compile(r"(<!-- made: (?P<name>[\w-]+) ?(?P<of>\S*) -->\n).*?(<!-- made: end -->)", re.DOTALL)
WIDTH = "80"
TABLED = ("schedule.add", "@job", "schedule.listen", "schedule.forward")
"""The places with a table of options, in the order of the page."""


def row(*cells: str) -> str:
    """Write a row of a table."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def option_table(place: str) -> Iterator[str]:
    """List the options that may be given at one place, such as `schedule.add` or `@job`; name those that an earlier
    table has.
    """
    earlier = TABLED[: TABLED.index(place)]
    of = {option: [one for one in earlier if one in option.places] for option in OPTIONS if place in option.places}
    own = [option for option, found in of.items() if not found]
    if own:
        yield from (row("keyword", "meaning", "default"), row(*["---"] * 3))
    for option in own:
        yield row(f"`{option.name}`", option.meaning, default(option))
    for other in earlier:
        if shared := ", ".join(f"`{option.name}`" for option, found in of.items() if found[:1] == [other]):
            yield f"{chr(10) * bool(own)}As for `{other}`: {shared}."


def default(option: VerbOption) -> str:
    """Write what holds without the option."""
    return option.default if " " in option.default or option.default in ("none", "any") else f"`{option.default}`"


def commands(group: click.Group = tree, above: str = "workkit") -> Iterator[tuple[str, click.Context]]:
    """Give each command below a group with the context in which it prints its help."""
    with click.Context(group, info_name=above) as parent:
        for name in group.list_commands(parent):
            command = group.get_command(parent, name)
            assert command is not None
            yield f"{above} {name}", click.Context(command, info_name=name, parent=parent)
            if isinstance(command, click.Group):
                yield from commands(command, f"{above} {name}")


def command_pages(_: str) -> Iterator[str]:
    """Show what `--help` of each command prints, in the order of the tree, and the topics of `workkit help`."""
    titles = {next(iter(group)): title for title, group in GROUPS.items()}
    for path, context in commands():
        if path.count(" ") == 1 and (title := titles.get(path.partition(" ")[2])):
            yield f"## {title}\n"
        yield f"{'#' * (path.count(' ') + 2)} {path}\n"
        yield from shown(without_common(context.command.get_help(context)))
    yield "## Topics\n"
    for name in TOPICS:
        yield f"### workkit help {name}\n"
        yield from shown(topic_page(name, int(WIDTH)))


COMMON_PARTS = re.compile(
    r"^Server \(every command that needs one\):\n(?:  .*\n)*?(?=\S|\Z)"
    r"|^  workkit help server .*\n(?: {20}.*\n)*"
    r"|^  -v, --verbose {11}show tracebacks of errors\n"
    r"|^  --by NAME {15}who does so.*\n(?: {20}.*\n)*",
    re.MULTILINE,
)
"""The lines of a help that many commands share: the page has them once."""


def without_common(page: str) -> str:
    """Leave out of a help the options of the server, `-v` and `--by`, which the page explains once."""
    page = COMMON_PARTS.sub("", f"{page}\n")
    return re.sub(r"^More options:\n(?!  workkit help )", "", page, flags=re.MULTILINE).rstrip()


def shown(page: str) -> Iterator[str]:
    """Write a page of the command line as a block."""
    yield f"<!-- not run: a help -->\n```text\n{page}\n```\n"


def variable_table(_: str) -> Iterator[str]:
    """List the environment variables that are the value of an option of the command line."""
    yield from (row("variable", "sets", "of"), row(*["---"] * 3))
    found: dict[tuple[str, str], list[str]] = {}
    for path, context in commands():
        for one in context.command.params:
            if isinstance(one.envvar, str):
                found.setdefault((one.envvar, max(one.opts, key=len)), []).append(path.partition(" ")[2])
    for (variable, option), paths in sorted(found.items()):
        names = "every command that needs it" if len(paths) > 6 else ", ".join(f"`{path}`" for path in paths)
        yield row(f"`{variable}`", f"`{option}`", names)


def event_list(_: str) -> Iterator[str]:
    """List the events and their fields from the docstring of `workkit.events`, and the level of each in the log."""
    lines = (events.__doc__ or "").splitlines()
    block = "\n".join(line.removeprefix("    ") for line in lines if line.startswith("    "))
    yield f"<!-- not run: a list -->\n```text\n{block}\n```\n"
    names = {"ERROR": events.ERROR, "WARNING": events.WARNING, "DEBUG": events.DEBUG}
    yield from (row("level", "events"), row("---", "---"))
    for name, level in names.items():
        yield row(name, ", ".join(f"`{event}`" for event, is_at in events.LEVELS.items() if is_at == level))
    yield row("INFO", "all others")


def layout_matrix(_: str) -> Iterator[str]:
    """Say what works on which layout."""
    all_of_them = layouts()
    yield from (row("", *(f"`{one.name}`" for one in all_of_them)), row(*["---"] * (len(all_of_them) + 1)))
    yield row("a schedule is", *(one.title or "a schedule of workkit" for one in all_of_them))
    yield row("URLs", *(" ".join(f"`{scheme}`" for scheme in one.schemes) for one in all_of_them))
    yield row("names of jobs", *map(job_names, all_of_them))
    for option in (*COMMON, *own_options()):
        yield row(f"`{option}=` of `create`", *(taken(one, option) for one in all_of_them))
    for feature in Keeps:
        yield row(feature, *(kept(one, feature) for one in all_of_them))
    yield row("`wire` shows", *(one.wire or "-" for one in all_of_them))
    yield row("an orphan, for the doctor, after", *(one.patience for one in all_of_them))


def job_names(layout: Layout) -> str:
    """Write how a job is named."""
    if not layout.has_job_names:
        return "functions"
    return "any text" if layout.has_any_name else "words" + (", patterns" if layout.has_patterns else "")


def taken(layout: Layout, option: str) -> str:
    """Write whether `create` takes an option."""
    refusal = layout.refuses.get(option)
    return "yes" if layout.takes(option) else f"beside `{refusal.unless}`" if refusal and refusal.unless else "-"


def kept(layout: Layout, feature: Keeps) -> str:
    """Write whether a layout keeps something."""
    return "yes" if feature in layout.keeps else "with a Redis" if feature in layout.keeps_beside else "-"


FINDINGS = {
    "server": kinds_of(doctor, redis_server),
    "listeners": kinds_of(our_keys),
    "native": native.KINDS,
    "gocraft": gocraft.KINDS,
    "hutch": hutch.KINDS,
    "beside": beside.KINDS,
}
"""The kinds of findings, by the section of the page that lists them; the first two are shared by others."""
SHARED = ("server", "listeners")


def findings(section: str) -> list[Kind]:
    """Give the kinds of one section, without those of a shared one before it."""
    before = [FINDINGS[name] for name in SHARED if list(FINDINGS).index(name) < list(FINDINGS).index(section)]
    return [kind for kind in FINDINGS[section] if not any(kind in kinds for kinds in before)]


def finding_table(section: str) -> Iterator[str]:
    """List the kinds of findings of the doctor in one section."""
    yield from (row("finding", "severity", "what is wrong", "why it matters", "`--fix`"), row(*["---"] * 5))
    for kind in findings(section):
        means = f"{kind.means} (wire)" if kind.of_wire else kind.means
        yield row(f"`{kind.name}`", kind.severity, means, kind.why, kind.repair or "-")


COMPARED = {"workkit": "workkit", "celery": "Celery", "rq": "RQ", "dramatiq": "Dramatiq", "taskiq": "Taskiq"}
TASKS = {  # with what a reader of the page must know
    "now": "",
    "later": "",
    "recurring": "Celery also needs `celery beat`, RQ `rq cron`, Taskiq `taskiq scheduler`. RQ has no zones.",
    "retry": "At most three times, after pauses that begin with a second. Taskiq counts the first run too.",
    "unique": "One waits or runs. RQ keeps an id as long as its result, 500 seconds.",
    "limit": "Two at once, over all workers.",
    "result": "",
    "cancel": "One that waits. Celery tells only workers that run. All but Dramatiq and Taskiq can stop a run too.",
    "progress": "",
    "test": "Without a worker. RQ needs a Redis there.",
}
SECTION = re.compile(r"^# (setup|" + "|".join(TASKS) + r")(: none; by hand)?\n", re.MULTILINE)


def tasks_of(system: str) -> dict[str, tuple[str, str]]:
    """Read the file of a system in examples/comparison: a remark and the code of each task, and of the setup."""
    file = DOCS.parent / "examples" / "comparison" / f"with_{system}.py"
    _, *parts = SECTION.split(file.read_text(encoding="utf-8"))
    return {name: (remark or "", shown_code(name, code)) for name, remark, code in zip(*[iter(parts)] * 3, strict=True)}


def shown_code(task: str, code: str) -> str:
    """Write the code of a task as a page shows it: of the function with its name, only the body."""
    parts = [re.sub(rf"\A(async )?def {task}\(.*\n", "", part) for part in code.strip().split("\n\n\n")]
    return re.sub(r"^return (?=.*\Z)", "", joined(map(textwrap.dedent, parts)), flags=re.MULTILINE)


def joined(parts: Iterable[str]) -> str:
    """Write parts of a program with the blank lines that `ruff format` wants."""
    text = ""
    for part in parts:
        text += ("\n\n\n" if re.search(r"^(async )?def ", text + part, re.MULTILINE) else "\n\n") + part
    return text.lstrip()


def length(code: str) -> int:
    """Count the tokens of Python: names, operators, brackets, strings and numbers."""
    kinds = (tokenize.NAME, tokenize.OP, tokenize.STRING, tokenize.NUMBER)
    return sum(token.type in kinds for token in tokenize.generate_tokens(io.StringIO(code).readline))


def task_list(_: str) -> Iterator[str]:
    """Show each task in each system."""
    all_of_them = {title: tasks_of(system) for system, title in COMPARED.items()}
    for task, note in TASKS.items():
        blocks = (f"# {title}{tasks[task][0]}\n{tasks[task][1]}" for title, tasks in all_of_them.items())
        yield f"### {task.capitalize()}\n" + (f"\n{note}\n" if note else "")
        yield "<!-- not run: examples/comparison -->\n```python\n" + joined(blocks) + "\n```\n"


def task_lengths(_: str) -> Iterator[str]:
    """List how long each task is in each system."""
    all_of_them = {system: tasks_of(system) for system in COMPARED}
    yield from (row("tokens", *COMPARED.values()), row(*["---"] * (len(COMPARED) + 1)))
    for task in ("setup", *TASKS):
        yield row(task, *(str(length(tasks[task][1])) for tasks in all_of_them.values()))


MADE: dict[str, Callable[[str], Iterable[str]]] = {
    "option-table": option_table,
    "command-pages": command_pages,
    "variable-table": variable_table,
    "event-list": event_list,
    "layout-matrix": layout_matrix,
    "finding-table": finding_table,
    "task-list": task_list,
    "task-lengths": task_lengths,
}


def made(text: str) -> str:
    """Write the parts of a page anew."""
    os.environ["COLUMNS"] = WIDTH  # of the help

    def written(found: re.Match[str]) -> str:
        return f"{found[1]}\n{chr(10).join(MADE[found['name']](found['of'])).rstrip()}\n\n{found[4]}"

    return PART.sub(written, text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(made(page.read_text(encoding="utf-8")), encoding="utf-8")
