"""How a command ends badly: one line for the user, a caret under the place, and the exit status."""

from __future__ import annotations

import signal
import sys
import traceback
from pathlib import Path

import click

from workkit import errors
from workkit.brokers.redis_server.address import without_passwords
from workkit.cli.printing import terminal
from workkit.cli.quoting import Unquoted
from workkit.cli.spelling import in_flags
from workkit.cli.suggestion import option_hint
from workkit.contract.producer import Tally
from workkit.jobs.elsewhere import WORDS
from workkit.text import wording
from workkit.text.cells import cells, shorten
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
    """Find the exit status an error deserves; 70 for what no user could have caused."""
    return next((status for kind, status in STATUS if isinstance(error, kind)), BUG)


def status_after(tally: Tally) -> int:
    """Find the exit status of a listener that has stopped: 1 if jobs that ended here run again, 75 if a retry waits."""
    return 1 if tally.unstored else RETRYING if tally.retrying else 0


def report(error: BaseException, *, verbose: bool = False) -> int:
    """Print what the user should read about `error`, and return the exit status."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1 if error.code else 0
    if isinstance(error, KeyboardInterrupt | click.Abort):
        terminal.talk("")
        return 128 + signal.SIGINT
    if isinstance(error, BrokenPipeError):  # whoever read what we print has left
        terminal.hush(sys.stdout)
        terminal.hush(sys.stderr)
        return 128 + signal.SIGPIPE
    status = status_of(error)
    if verbose and not isinstance(error, click.ClickException):
        terminal.talk("".join(traceback.format_exception(error)).rstrip())
    show_error(error)
    return status


def show_error(error: BaseException) -> None:
    """Print an error on stderr: `error: ` and its line, then the given text with a caret under the place."""
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
    """Describe a failure of workkit itself, and what to attach to a report."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    text = " ".join(str(error).split())
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"workkit itself failed: {what}{where}. Run it again with -v, and report what it prints with this command."


def usage(error: click.UsageError) -> str:
    """Word what click found wrong with a command line: what was given, the nearest, where to look."""
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
    """Name what was not given, and the arguments before it: any of them may be the one that was forgotten."""
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
    """Show the given text with a caret under the trouble; nothing where there is no text or no place in it."""
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
