"""What an unknown command or option may mean: the words that people bring from other programs, and near spellings.

A near spelling is suggested only where it means the same: never the contrary of what was typed
(`is_contrary`), and only where slips of the fingers explain it (`is_slip`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import click

from workkit.text.nearest import NEGATIONS, is_slip, nearest_words, slips
from workkit.text.wording import listed

LONG = 4  # letters of a word in which one slip leaves the meaning clear
POSITIVE = ("enable-", "with-", "use-")
OF_JOBS = re.compile("-?(jobs?|tasks?)$")  # `add-job`, `list-jobs`
TIMES = ("--at", "--in", "--every", "--cron", "--when", "--eta", "--countdown", "--delay", "--on", "--date", "--time")
COMMANDS: Mapping[str, str] = {  # what a command of another program is called here; the first ones that exist are shown
    "cancel": "rm del delete remove kill abort revoke terminate drop unschedule unregister",
    "pause": "disable hold suspend freeze halt off",
    "resume": "unpause enable unhold unsuspend unfreeze continue on",
    "listeners list": "ps",
    "listeners": "workers consumers active who top",
    "listen": "worker work start serve server consume consumer process beat daemon boot up",
    "list": "ls ll dir jobs tasks queue pending ready inspect-jobs queued entries",
    "show": "get describe inspect cat view info details",
    "stats": "status count counts size summary overview",
    "doctor": "check health diagnose verify ping lint",
    "runs": "logs log history tail events executions",
    "changes": "audit blame",
    "dead": "failed failures failure errors dlq morgue dead-letters deadletters",
    "web": "ui dashboard monitor flower gui browser",
    "add now": "enqueue push submit send publish create new insert put call apply delay",
    "add": "at cron every in after schedule register set",
    "add-many": "bulk batch load bulk-add",
    "run": "trigger fire execute force run-now exec",
    "retry run": "rerun redo repeat again restart",
    "retry": "requeue reprocess revive resurrect replay unkill undead undiscard",
    "discard cancel": "purge clear flush empty clean prune",
    "reschedule add": "edit update modify change move postpone replace",
    "sync": "plan deploy migrate",
    "import": "convert crontab",
    "next": "when preview upcoming test",
    "explain": "describe-cron translate",
    "help": "man usage docs commands",
    "demo": "try tour example quickstart",
    "forward": "bridge relay shovel",
}
SENTENCES: Mapping[str, str] = {  # words that no command answers
    "stop": "Did you mean cancel or pause? A listener stops with Ctrl-C or TERM.",
    "unskip": "A skip cannot be taken back. workkit run runs the job once now.",
    "undelete": "A cancelled job does not come back. Add it again: workkit add.",
    "uncancel": "A cancelled job does not come back. Add it again: workkit add.",
    "unremove": "A cancelled job does not come back. Add it again: workkit add.",
    "restore": "A cancelled job does not come back. Add it again: workkit add.",
    "unretry": "A retry cannot be taken back. workkit cancel cancels the job.",
    "unadd": "Did you mean cancel?",
    "unlisten": "A listener stops with Ctrl-C or TERM.",
    "undo": "workkit changes lists what was changed.",
    "version": "Write workkit --version.",
    "init": "Nothing needs to be set up. Start with: workkit demo",
    "install": "Nothing needs to be set up. Start with: workkit demo",
}
OPTIONS: Mapping[str, str] = {  # likewise of options
    "--threads": "--concurrency --workers --parallel --slots",
    "--redis": "--url --host --server --broker --connection --redis-url",
    "--tz": "--timezone --zone --time-zone",
    "--retries": "--max-retries --retry --attempts --tries --max-attempts",
    "--timeout": "--time-limit --max-time",
    "--priority": "--prio",
    "--unique-key": "--key --dedupe --dedupe-key --lock",
    "--kwarg": "--kwargs --param --params",
    "--name": "--label --title",
    "--where": "--filter --grep --search --query --match",
    "--limit": "--max --head --top --rows --number",
    "--json": "--format --output --out",
    "--yes": "--force --assume-yes",
    "--dry-run": "--check --plan --preview --simulate --what-if",
    "--import": "--module --include --app --modules --load",
    "--deadline": "--grace --stop-timeout --shutdown-timeout",
    "--reload": "--autoreload",
    "--watch": "--follow --live --refresh",
    "--verbose": "--debug --trace --loglevel",
    "--quiet": "--silent",
    "--prune": "--delete --remove",
    "--reason": "--why --message --because",
}

WORDS = {word: names.split() for names, words in COMMANDS.items() for word in words.split()}


def command_hint(word: str, known: Collection[str]) -> str:
    """Say which command was meant, as a sentence; nothing where none is known to mean the same."""
    plain = re.sub(r"[_\s]+", "-", word.lower())
    for typed in (plain, plain.replace("-", ""), OF_JOBS.sub("", plain)):
        if typed in known:
            return _did_you_mean([typed])
        if typed in SENTENCES:
            return SENTENCES[typed]
        if typed in WORDS:
            return _did_you_mean([name for name in WORDS[typed] if name in known])
    near = [name for name in nearest_words(plain, known, most=len(known)) if is_slip(plain, name)]
    others = [word for word in nearest_words(plain, WORDS, most=len(WORDS)) if is_slip(plain, word)]
    return _did_you_mean(near[:1] or [name for word in others[:1] for name in WORDS[word] if name in known])


def option_hint(option: str, command: click.Command) -> str:
    """Say which option of a command was meant, as a sentence; nothing where none is known to mean the same."""
    if not option.startswith("--"):
        return ""
    typed = option.lower().replace("_", "-")
    if typed in TIMES and any(one.name in ("when", "words") for one in command.params):
        return "The time is the argument WHEN: workkit help times."
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    known = {name: one for one in options for name in one.opts if name.startswith("--")}
    meant = [name for name, words in OPTIONS.items() if typed in words.split() and name in known]
    if typed in known or meant:
        return _did_you_mean([typed] if typed in known else meant[:1])
    if (said := _contrary(typed, known)) is not None:
        return said
    near = nearest_words(typed, known, most=len(known)) if known else []
    return _did_you_mean([name for name in near if is_slip(typed[2:], name[2:])][:1])


def _contrary(typed: str, known: Mapping[str, click.Option]) -> str | None:
    """Answer the contrary of an option: which way holds without it. None where `typed` is no contrary."""
    name = typed.removeprefix("--")
    for prefix in (*NEGATIONS, "no"):
        stem = name.removeprefix(prefix)
        if stem == name:
            continue
        if (on := _spelled(stem, known, off=False)) is not None:
            what = "is off unless it is given" if known[on].is_flag else "holds only where it is given"
            return f"{on} {what}. Leave it out."
        if (off := _spelled(stem, known, off=True)) is not None:
            return _did_you_mean([off])
    stem = next((name.removeprefix(prefix) for prefix in POSITIVE if name.startswith(prefix)), name)
    if (off := _spelled(stem, known, off=True)) is not None:
        return f"That is the default; {off} turns it off."
    return None


def _spelled(stem: str, known: Iterable[str], *, off: bool) -> str | None:
    """Find the option that turns something on, or off, one slip aside."""
    for option in known:
        name = option.removeprefix("--no-") if off else option.removeprefix("--")
        if off is option.startswith("--no-") and (name == stem or (len(stem) >= LONG and slips(stem, name) <= 1)):
            return option
    return None


def _did_you_mean(names: Sequence[str]) -> str:
    return f"Did you mean {listed(names, 'or')}?" if names else ""
