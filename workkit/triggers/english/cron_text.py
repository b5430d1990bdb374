"""A cron string where words are read: seven fields are taken, the shorter dialects refused with a hint."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from workkit.errors import CronError, PhraseError
from workkit.triggers.english.grammar.words import quote
from workkit.triggers.english.meaning.here import Here
from workkit.triggers.trigger import Trigger, published

_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SEVEN: Final = "Say seven fields: year month day-of-month day-of-week hour minute second"
_HINTS: Final = {
    1: 'Say "daily" or "every hour", or give it as cron=',
    5: 'Say "every monday at 9am", or give a crontab line as cron=',
}


def seven_fields(here: Here) -> Trigger:
    """Read seven fields in published order, in UTC; raise PhraseError for other counts, and for what never fires."""
    count = len(here.text.split())
    if count != 7:
        what = "is a crontab nickname" if count == 1 else f"has {count} cron fields"
        raise here.refusal(f"{what}; here words are read, or seven fields", _HINTS.get(count, _SEVEN))
    try:
        found = published(here.text)
    except CronError as cause:
        trouble = cause.trouble or ""
        raise PhraseError(
            f"{quote(here.text)}{'' if trouble.startswith(':') else ' '}{trouble}. {cause.remedy}",
            given=here.text,
            position=cause.position,
            trouble=trouble,
            remedy=cause.remedy,
            accepted=cause.accepted,
            suggestion=cause.suggestion,
        ) from cause
    if found.next_after(here.now) is None:
        again = "" if found.next_after(_BEGINNING) is None else " again"
        raise here.refusal(f"never fires{again}: {found.why_never()}")
    return found
