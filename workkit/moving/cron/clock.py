"""What Vixie's cron does where the clock changes (cron(8)), and where workkit does otherwise.

Lines whose minute or hour begins with a star go by the clock as it is shown: what a gap skips is left out, what comes
twice runs twice. Of all other lines, cron makes up for each skipped time at the end of the gap, and repeats nothing.
"""

from __future__ import annotations

from datetime import datetime

from workkit.moving.clock_remarks import Touched, remark, touched_by_changes
from workkit.moving.cron.fields import CronFields
from workkit.triggers.crons.cron import parse_cron


def clock_comments(fields: CronFields, *, tz: str, now: datetime) -> tuple[str, ...]:
    """Say what differs, once for gaps and once for times that come twice; nothing where both do the same."""
    cron = parse_cron(fields.rule, stored=True, rule=True)
    found = [
        (touched, trouble)
        for touched in touched_by_changes(cron, tz=tz, now=now)
        if (trouble := _difference(touched, is_wild=fields.is_wild))
    ]
    first: dict[bool, str] = {}
    for touched, trouble in found:
        first.setdefault(touched.change.skips, remark(touched, trouble))
    return tuple(first.values())


def _difference(touched: Touched, *, is_wild: bool) -> str:
    if touched.change.skips:
        if is_wild:
            return "" if touched.is_elapsed else "cron leaves out what is skipped, workkit runs it once, at its end"
        if touched.is_elapsed:
            return "cron runs what is skipped at its end, workkit leaves it out"
        several = touched.times + touched.at_end > 1
        return "cron runs each skipped time at the end of the gap, workkit runs once then" if several else ""
    if is_wild == touched.is_elapsed:
        return ""
    if is_wild:
        return "cron runs both times what comes twice, workkit the first time only"
    return "cron runs the first time only what comes twice, workkit both times"
