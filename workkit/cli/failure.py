"""The failure of a command: one line for the user, a caret under the fault, and the exit status. Also words that people
type in place of a command or an option, with their meanings here.
"""

from __future__ import annotations

import re
import signal
import sys
import traceback
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import click

from workkit import errors
from workkit.brokers.redis_server.address import without_passwords
from workkit.cli import terminal
from workkit.cli.spelling import Unquoted, in_flags
from workkit.contract.producer import Tally
from workkit.jobs.elsewhere import WORDS
from workkit.text import wording
from workkit.text.cells import cells, shorten
from workkit.text.nearest import NEGATIONS, is_slip, nearest_words, slips
from workkit.text.wording import listed

USAGE, MISSING, REFUSED, SERVER, BUG, RETRYING = 2, 3, 4, 69, 70, 75
STATUS: tuple[tuple[type[BaseException], int], ...] = (
    (errors.Invalid, USAGE),
    (errors.CannotRun, USAGE),
    (errors.NotFound, MISSING),
    (errors.ServerError, SERVER),
    (errors.EmbeddedError, REFUSED),
    (errors.Unsupported, REFUSED),
    (errors.ListenerStopped, REFUSED),
    (errors.ResultPending, REFUSED),
    (errors.WorkkitError, 1),
    (click.UsageError, USAGE),
    (click.FileError, MISSING),
    (click.ClickException, USAGE),
)


def status_of(error: BaseException) -> int:
    """Return the exit status of an error; 70 for one that no user could have caused."""
    return next((status for kind, status in STATUS if isinstance(error, kind)), BUG)


def status_after(tally: Tally) -> int:
    """Return the exit status of a stopped listener: 1 if jobs that ended here run again, 75 if a retry waits."""
    return 1 if tally.unstored else RETRYING if tally.retrying else 0


def report(error: BaseException, *, verbose: bool = False) -> int:
    """Print `error` for the user, and return the exit status."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1 if error.code else 0
    if isinstance(error, KeyboardInterrupt | click.Abort):
        terminal.talk("")
        return 128 + signal.SIGINT
    if isinstance(error, BrokenPipeError):  # the reader of this output has ended
        terminal.hush(sys.stdout)
        terminal.hush(sys.stderr)
        return 128 + signal.SIGPIPE
    status = status_of(error)
    if verbose and not isinstance(error, click.ClickException):
        terminal.talk("".join(traceback.format_exception(error)).rstrip())
    show_error(error)
    return status


def show_error(error: BaseException) -> None:
    """Print an error on stderr: `error: ` and its line, then the invalid text with a caret under the fault."""
    terminal.talk("\n".join(lines(error)))


def lines(error: BaseException) -> list[str]:
    """Write an error as `show_error` prints it."""
    text = without_passwords(sentence(error))
    return [f"{terminal.paint('error:', 'red', sys.stderr)} {wording.printable(text)}", *caret(error)]


def sentence(error: BaseException) -> str:
    """Put an error into one line."""
    if isinstance(error, click.UsageError):
        return usage(error)
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, errors.WorkkitError):
        context = click.get_current_context(silent=True)
        return in_flags(str(error), context.command if context else None)
    return bug(error)


def bug(error: BaseException) -> str:
    """Describe a failure of workkit itself, and the data to attach to a report."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    text = " ".join(str(error).split())
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"workkit itself failed: {what}{where}. Run it again with -v, and report what it prints with this command."


def usage(error: click.UsageError) -> str:
    """Describe the fault that click found in a command line: the typed word, the nearest one, and where to look."""
    command = error.ctx.command_path if error.ctx else "workkit"
    look = f"Try: {command} --help."
    match error:
        case Unquoted():
            return error.message
        case click.NoSuchOption():
            if error.option_name[1:2].isdigit():
                return (
                    f"{error.option_name} looks like an option. Put -- before it: {command} ... -- {error.option_name}."
                )
            return f"{command} has no option {error.option_name}. {_did_you_mean(error, look)}"
        case click.MissingParameter() if error.param is not None:
            return f"{command} needs {_missing(error.param, error.ctx)}. {look}"
        case click.BadParameter() if error.param is not None:
            return f"{_name(error.param)}: {error.message}"
        case click.BadOptionUsage():
            return f"{error.message.rstrip('.')}. {look}"
    return error.message if error.message.endswith((".", "?")) else f"{error.message}. {look}"


def _missing(parameter: click.Parameter, ctx: click.Context | None) -> str:
    """Name the missing argument, and those before it: any of them may be the one that was forgotten."""
    arguments = [one for one in ctx.command.params if isinstance(one, click.Argument)] if ctx else []
    before = arguments[: arguments.index(parameter)] if parameter in arguments else []
    name, *others = (_name(one).strip("[].") for one in (parameter, *before))
    return f"{name}, after {listed(others)}" if others else name


def _name(parameter: click.Parameter) -> str:
    return max(parameter.opts, key=len) if isinstance(parameter, click.Option) else parameter.human_readable_name


def _did_you_mean(error: click.NoSuchOption, look: str) -> str:
    if error.ctx and (hint := option_hint(error.option_name, error.ctx.command)):
        return hint
    word = WORDS.get(error.option_name.lstrip("-").replace("-", "_"))
    return look if word is None else f"docs/moving/{word.page}.md has the counterpart. {look}"


def caret(error: BaseException) -> list[str]:
    """Show the invalid text with a caret under the fault; nothing without a text or a place in it."""
    given, position = getattr(error, "given", None), getattr(error, "position", None)
    if not isinstance(given, str) or not isinstance(position, int) or not 0 <= position <= len(given):
        return []
    if without_passwords(given) != given:
        return []
    width = max(10, (terminal.table_width(sys.stderr) or terminal.FALLBACK_WIDTH) - 4)
    start = max(0, position - width * 2 // 3) if cells(given) > width else 0
    before = wording.printable(given[start:position])
    shown = shorten(before + wording.printable(given[position:]), width)
    return [f"  {shown}", f"  {' ' * cells(before)}^"]


LONG = 4  # the fewest letters of a word that stays clear with one wrong letter
POSITIVE = ("enable-", "with-", "use-")
OF_JOBS = re.compile("-?(jobs?|tasks?)$")  # `add-job`, `list-jobs`
TIMES = ("--at", "--in", "--every", "--cron", "--when", "--eta", "--countdown", "--delay", "--on", "--date", "--time")
COMMANDS: Mapping[str, str] = {  # a command of another program -> commands here; the first ones that exist are shown
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
    "add-many": "bulk load bulk-add",
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
SENTENCES: Mapping[str, str] = {  # words that match no command
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
OPTIONS: Mapping[str, str] = {  # the same for options
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

SYNONYMS = {word: names.split() for names, words in COMMANDS.items() for word in words.split()}


def command_hint(word: str, known: Collection[str]) -> str:
    """Name the command that the user probably wanted, as a sentence; "" if none is known to mean the same."""
    plain = re.sub(r"[_\s]+", "-", word.lower())
    for typed in (plain, plain.replace("-", ""), OF_JOBS.sub("", plain)):
        if typed in known:
            return _meant([typed])
        if typed in SENTENCES:
            return SENTENCES[typed]
        if typed in SYNONYMS:
            return _meant([name for name in SYNONYMS[typed] if name in known])
    near = [name for name in nearest_words(plain, known, most=len(known)) if is_slip(plain, name)]
    others = [word for word in nearest_words(plain, SYNONYMS, most=len(SYNONYMS)) if is_slip(plain, word)]
    return _meant(near[:1] or [name for word in others[:1] for name in SYNONYMS[word] if name in known])


def option_hint(option: str, command: click.Command) -> str:
    """Name the command's option that the user probably wanted, as a sentence; "" if none is known to mean the same."""
    if not option.startswith("--"):
        return ""
    typed = option.lower().replace("_", "-")
    if typed in TIMES and any(one.name in ("when", "words") for one in command.params):
        return "The time is the argument WHEN: workkit help times."
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    known = {name: one for one in options for name in one.opts if name.startswith("--")}
    meant = [name for name, words in OPTIONS.items() if typed in words.split() and name in known]
    if typed in known or meant:
        return _meant([typed] if typed in known else meant[:1])
    if (said := _contrary(typed, known)) is not None:
        return said
    near = nearest_words(typed, known, most=len(known)) if known else []
    return _meant([name for name in near if is_slip(typed[2:], name[2:])][:1])


def _contrary(typed: str, known: Mapping[str, click.Option]) -> str | None:
    """Answer the opposite of an option: say which behaviour holds without it. None if `typed` is no opposite."""
    name = typed.removeprefix("--")
    for prefix in (*NEGATIONS, "no"):
        stem = name.removeprefix(prefix)
        if stem == name:
            continue
        if (on := _spelled(stem, known, off=False)) is not None:
            what = "is off unless it is given" if known[on].is_flag else "holds only where it is given"
            return f"{on} {what}. Leave it out."
        if (off := _spelled(stem, known, off=True)) is not None:
            return _meant([off])
    stem = next((name.removeprefix(prefix) for prefix in POSITIVE if name.startswith(prefix)), name)
    if (off := _spelled(stem, known, off=True)) is not None:
        return f"That is the default; {off} turns it off."
    return None


def _spelled(stem: str, known: Iterable[str], *, off: bool) -> str | None:
    """Find the option that turns something on, or off, with at most one wrong letter."""
    for option in known:
        name = option.removeprefix("--no-") if off else option.removeprefix("--")
        if off is option.startswith("--no-") and (name == stem or (len(stem) >= LONG and slips(stem, name) <= 1)):
            return option
    return None


def _meant(names: Sequence[str]) -> str:
    return f"Did you mean {listed(names, 'or')}?" if names else ""
