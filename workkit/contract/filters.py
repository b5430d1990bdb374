"""Filters with qualifiers: ``fn:export late:>1s state:due,held disk full`` -> `Where`. Pure.

Words without a qualifier form one text, as typed, which matches a part of any field. ``id``, ``name``, ``job``, ``fn``,
``arg`` and ``state`` match exactly; all other texts match a part. A qualifier has no blank behind its colon; quotes
keep blanks and colons; ``-`` in front means not; ``,`` means or; ``*`` matches any text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, Literal

from workkit.contract.where import Between, Has, Term, Where
from workkit.errors import InvalidOptions, TriggerError
from workkit.jobs.job import STATES
from workkit.jobs.names import shown
from workkit.jobs.option_readers import option_error
from workkit.text.nearest import nearest_word
from workkit.text.wording import duration_text, listed

Place = Literal["jobs", "recurring", "runs", "dead"]
Kind = Literal["text", "whole", "state", "ended", "length", "ahead", "ago", "count"]
LONGEST: Final = 2_000  # characters of a filter

ENDINGS: Final = (
    "done",
    "late",
    "failed",
    "retried",
    "dead",
    "discarded",
    "cancelled",
    "missed",
    "expired",
    "left-out",
)
TROUBLES: Final = ("failing", "late", "missed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Qualifier:
    """A qualifier: the kind of value that it takes, its meaning in words, and an example."""

    kind: Kind
    says: str
    example: str


_ALL: Final[dict[str, Qualifier]] = {
    "id": Qualifier(kind="whole", says="id", example="id:54111adf"),
    "name": Qualifier(kind="whole", says="name", example="name:night*"),
    "job": Qualifier(kind="whole", says="job", example="job:nightly"),
    "fn": Qualifier(kind="whole", says="function", example="fn:app.export"),
    "tag": Qualifier(kind="whole", says="a tag", example="tag:user:7"),
    "batch": Qualifier(kind="whole", says="batch", example="batch:import"),
    "state": Qualifier(kind="state", says="state", example="state:due,held"),
    "ended": Qualifier(kind="ended", says="ending", example="ended:failed,missed"),
    "zone": Qualifier(kind="text", says="zone", example="zone:Europe"),
    "why": Qualifier(kind="text", says="reason", example="why:limit"),
    "error": Qualifier(kind="text", says="error", example='error:"disk full"'),
    "arg": Qualifier(kind="whole", says="an argument", example="arg:4218"),
    "args": Qualifier(kind="text", says="arguments", example="args:4218"),
    "on": Qualifier(kind="text", says="listener", example="on:worker-1"),
    "late": Qualifier(kind="length", says="started late by", example="late:>1s"),
    "took": Qualifier(kind="length", says="took", example="took:>1min"),
    "next": Qualifier(kind="ahead", says="next run", example="next:<1h"),
    "due": Qualifier(kind="ahead", says="due", example="due:<1h"),
    "ago": Qualifier(kind="ago", says="ended", example="ago:<1h"),
    "died": Qualifier(kind="ago", says="died", example="died:<1h"),
    "missed": Qualifier(kind="count", says="missed", example="missed:>0"),
    "attempt": Qualifier(kind="count", says="attempt", example="attempt:>2"),
}
PLACES: Final[dict[Place, tuple[str, ...]]] = {
    "jobs": ("id", "name", "fn", "tag", "batch", "state", "why", "error", "arg", "args", "due", "attempt", "zone"),
    "recurring": ("name", "fn", "tag", "state", "zone", "late", "next", "took", "missed", "id"),
    "runs": ("job", "fn", "ended", "late", "took", "ago", "on", "error", "attempt", "name", "id"),
    "dead": ("id", "name", "fn", "tag", "batch", "error", "arg", "args", "why", "died", "attempt"),
}
_QUALIFIER: Final = re.compile(r"([A-Za-z][A-Za-z_-]*):(?!//)")
_WORD: Final = re.compile(r'[^\s",]+')
_FREE: Final = re.compile(r"\S+")
_BOUND: Final = re.compile(r"(<=|>=|=|<|>)?\s*(.*)", re.DOTALL)


def read_filter(text: str, place: Place) -> Where:
    """Read a filter for a list of jobs, recurring jobs, runs or dead jobs. Raises InvalidOptions, which names the
    error, its place in the text, and what is accepted.
    """
    if len(text) > LONGEST:
        trouble = f"has {len(text):,} characters"
        raise InvalidOptions.about("the filter", trouble, f"At most {LONGEST:,} are read.", where="q", given=text)
    return _Reader(text, place).read()


def read_where(where: object, place: Place, *, names: object = None, tag: str | None = None) -> Where:
    """Read `where` and `names` of a verb: a filter, and a name in which ``*`` matches any text. `tag`: a tag that was
    read. Raises InvalidOptions.
    """
    for name, value in (("where", where), ("names", names)):
        if value is not None and not isinstance(value, str):
            example = 'where="name:nightly"' if name == "where" else 'names="u/7/*"'
            raise option_error(name, value, "is not a text", f"Write for example {example}.")
    meant = read_filter(str(where or ""), place)
    asked = {"name": names, "tag": tag}
    more = (Term(field=name, test=Has(texts=(str(one),), whole=True)) for name, one in asked.items() if one is not None)
    return replace(meant, terms=(*more, *meant.terms))


def of_runs(where: Where, *, fn: str | None, state: str | None) -> Where:
    """Add to a filter of runs that the function is `fn`, as stored, and that the run ended as `state`. Raises
    InvalidOptions.
    """
    if state is not None and state not in ENDINGS:
        raise option_error("state", state, "is no ending of a run", f"Accepted: {', '.join(ENDINGS)}.")
    asked = {"fn": fn, "ended": state}
    more = (Term(field=field, test=Has(texts=(text,), whole=True)) for field, text in asked.items() if text is not None)
    return replace(where, terms=(*where.terms, *more))


def understood(where: Where) -> str:
    """Write a filter in words: ``function has "export"; started late by more than 1 s; has "disk full"``."""
    said = [_term_text(term) for term in where.terms]
    said += [f'has "{text}"' for text in where.texts]
    said += [f'has no "{text}"' for text in where.without]
    return "; ".join(said) or "all"


def accepted(place: Place) -> str:
    """List what a filter of this place accepts, by examples."""
    return ", ".join(_ALL[name].example for name in PLACES[place])


def qualifiers(*places: Place) -> list[tuple[str, str, list[Place]]]:
    """List the qualifiers of these places: an example, its meaning in words, and the places that accept it."""
    known = ((one.example, [place for place in places if name in PLACES[place]]) for name, one in _ALL.items())
    return [(example, understood(read_filter(example, found[0])), found) for example, found in known if found]


class _Reader:
    def __init__(self, text: str, place: Place) -> None:
        self._text, self._place, self._at = text, place, 0
        self._terms: list[Term] = []
        self._texts: list[str] = []
        self._without: list[str] = []
        self._free: tuple[int, int] | None = None  # the span (from, to) of the words without a qualifier so far

    def read(self) -> Where:
        while self._skip_blanks():
            self._one()
        self._close_free()
        return Where(terms=tuple(self._terms), texts=tuple(self._texts), without=tuple(self._without))

    def _skip_blanks(self) -> bool:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        return self._at < len(self._text)

    def _close_free(self) -> None:
        if self._free is not None:
            self._texts.append(self._text[slice(*self._free)])
            self._free = None

    def _one(self) -> None:
        start = self._at
        is_negated = self._text[start] == "-" and self._text[start + 1 : start + 2].strip() != ""
        begin = start + is_negated
        if (found := _QUALIFIER.match(self._text, begin)) is not None and self._is_meant(found):
            self._close_free()
            self._at = found.end()
            self._qualified(found[1], begin, is_negated)
        elif self._text[begin] == '"':
            self._close_free()
            self._at = begin
            (self._without if is_negated else self._texts).append(self._quoted())
        elif is_negated and self._text[begin].isalpha() and self._free is None:
            word = _FREE.match(self._text, begin)
            assert word is not None
            self._without.append(word.group())
            self._at = word.end()
        else:
            word = _FREE.match(self._text, start)
            assert word is not None
            self._at = word.end()
            self._free = (start if self._free is None else self._free[0], word.end())

    def _is_meant(self, found: re.Match[str]) -> bool:
        """Return whether this is a qualifier. A colon at the end of a word is part of a text: ``OSError: disk
        full``.
        """
        behind = self._text[found.end() : found.end() + 1]
        return found[1].lower() in _ALL or (behind.strip() != "" and behind != ":")

    def _qualified(self, name: str, start: int, is_negated: bool) -> None:
        qualifier = self._known(name, start)
        is_listed = qualifier.kind in ("text", "whole", "state", "ended")
        values = [self._value(name, start)]
        while is_listed and self._text[self._at : self._at + 1] == ",":
            self._at += 1
            values.append(self._value(name, start))
        test = self._texts_test(name, values) if is_listed else self._range(name, *values[0])
        self._terms.append(Term(field=name.lower(), test=test, negated=is_negated))

    def _known(self, name: str, start: int) -> Qualifier:
        known = PLACES[self._place]
        if name.lower() in known:
            return _ALL[name.lower()]
        near = nearest_word(name.lower(), known)
        trouble = "is no qualifier here" if name.lower() in _ALL else "is no qualifier"
        word = _FREE.match(self._text, start)
        quoted = f'"{word.group()}"' if word else ""
        remedy = (f'Did you mean "{near}:"? ' if near else "") + f"Accepted: {', '.join(f'{one}:' for one in known)}."
        remedy += f" To look for this text, put it in quotes: {quoted}." if not near else ""
        raise self._refused(f'"{name}:"', trouble, remedy, name, start, suggestion=f"{near}:" if near else None)

    def _value(self, name: str, start: int) -> tuple[str, int]:
        at = self._at
        mark = re.compile("[<>]?=?").match(self._text, at)
        assert mark is not None
        if self._text[mark.end() : mark.end() + 1] == '"':
            self._at = mark.end()
            return mark.group() + self._quoted(), at
        kind = _ALL[name.lower()].kind
        pattern = _WORD if kind in ("text", "whole", "state", "ended") else _FREE
        word = pattern.match(self._text, at)
        if word is None:
            example = _ALL[name.lower()].example
            raise self._refused(f'"{name}:"', "has no value", f"Write for example {example}.", name, start)
        self._at = word.end()
        return word.group(), at

    def _quoted(self) -> str:
        start = self._at
        end = self._text.find('"', start + 1)
        if end < 0:
            trouble = "has no end"
            raise self._refused(f"the quote {self._text[start : start + 20]}", trouble, 'Close it with ".', "q", start)
        self._at = end + 1
        return self._text[start + 1 : end]

    def _texts_test(self, name: str, values: list[tuple[str, int]]) -> Has:
        kind = _ALL[name.lower()].kind
        if kind in ("state", "ended"):
            known = ENDINGS if kind == "ended" else STATES + (TROUBLES if self._place == "recurring" else ())
            for value, at in values:
                if value.lower() not in known:
                    near = nearest_word(value.lower(), known)
                    remedy = (f'Did you mean "{near}"? ' if near else "") + f"Accepted: {', '.join(known)}."
                    trouble = "is no ending" if kind == "ended" else "is no state"
                    raise self._refused(f'{name}:"{value}"', trouble, remedy, name, at, suggestion=near)
            return Has(texts=tuple(value.lower() for value, _ in values), whole=True)
        texts = tuple(value for value, _ in values)
        if name.lower() == "id":  # the beginning of an id is enough
            texts = tuple(text if text.endswith("*") else f"{text}*" for text in texts)
        return Has(texts=texts, whole=kind == "whole")

    def _range(self, name: str, value: str, at: int) -> Between:
        first, dots, last = value.partition("..")
        if dots:
            low = self._number(name, first, at) if first else None
            high = self._number(name, last, at + len(first) + 2) if last else None
            return Between(low=low, high=high)
        found = _BOUND.match(value)
        assert found is not None
        sign, number = found[1] or "", self._number(name, found[2], at + found.start(2))
        is_count = _ALL[name.lower()].kind == "count"
        match sign:
            case ">" | ">=":
                return Between(low=number, low_in=sign == ">=")
            case "<" | "<=":
                return Between(high=number, high_in=sign == "<=")
            case "=":
                return Between(low=number, high=number)
            case _ if is_count:
                return Between(low=number, high=number)
            case _ if _ALL[name.lower()].kind == "length":  # no run takes exactly this time
                return Between(low=number)
            case _:
                return Between(high=number)

    def _number(self, name: str, written: str, at: int) -> float:
        example = _ALL[name.lower()].example
        if _ALL[name.lower()].kind == "count":
            if written.isascii() and written.isdigit() and len(written) < 16:
                return float(written)
            raise self._refused(f'{name}:"{written}"', "is no number", f"Write for example {example}.", name, at)
        from workkit.triggers.english.numbers import duration  # its grammar takes a while to import

        try:
            return duration(written, name=name) / timedelta(milliseconds=1)
        except TriggerError as error:
            remedy = f"Write for example {example}."
            near = error.suggestion
            trouble = "is no length of time"
            raise self._refused(f'{name}:"{written}"', trouble, remedy, name, at, suggestion=near) from None

    def _refused(
        self, subject: str, trouble: str, remedy: str, name: str, at: int, *, suggestion: str | None = None
    ) -> InvalidOptions:
        """Return the error. Columns count from 1 in words, from 0 in `position`."""
        return InvalidOptions.about(
            f"{subject} (column {at + 1})",
            trouble,
            remedy,
            where=name.lower(),
            given=self._text,
            position=at,
            accepted=accepted(self._place),
            suggestion=suggestion,
        )


def _term_text(term: Term) -> str:
    qualifier = _ALL[term.field]
    test = term.test
    if isinstance(test, Has):
        write = {"id": lambda text: text.removesuffix("*"), "fn": shown}.get(term.field, str)
        words = listed(
            [f'"{text}"' if qualifier.kind in ("text", "whole") else text for text in map(write, test.texts)], "or"
        )
        verb = "begins with" if term.field == "id" else "is" if test.whole else "has"
        no = {"is": "is not", "has": "has no", "begins with": "does not begin with"}
        return f"{qualifier.says} {no[verb] if term.negated else verb} {words}"
    return f"{'not: ' if term.negated else ''}{qualifier.says} {_range_text(test, qualifier.kind)}"


def _range_text(test: Between, kind: Kind) -> str:
    def number(value: float) -> str:
        return f"{value:,.0f}" if kind == "count" else duration_text(value)

    if test.low is not None and test.high is not None:
        return number(test.low) if test.low == test.high else f"{number(test.low)} to {number(test.high)}"
    if kind == "ahead":
        return f"in less than {number(test.high)}" if test.high is not None else f"in more than {number(test.low or 0)}"
    behind = " ago" if kind == "ago" else ""
    if test.high is not None:
        return f"{'at most' if test.high_in else 'less than'} {number(test.high)}{behind}"
    if test.low is not None:
        return f"{'at least' if test.low_in else 'more than'} {number(test.low)}{behind}"
    return "at all"
