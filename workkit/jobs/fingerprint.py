"""Fingerprints that group equal errors: type, place, and the message without its varying parts. Pure.

This is the only rule for it. It works on jobs as they are read: no fingerprint is stored with a job. Varying parts
(spec/lifecycle.md 6): UUIDs, quoted texts, paths, numbers, hexadecimal numbers, and words with four digits or more.
`Fingerprint` has the spans that vary, so that a page can show them in grey. Secrets are masked before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha1
from typing import Final

from workkit.jobs.job import Job
from workkit.jobs.outcome import Failure
from workkit.text.cells import brief_repr
from workkit.text.masked_text import without_secrets

LONGEST = 1000  # characters of a message that count
_UNIT: Final = r"(?: [num]?s | secs? | mins? | [mh] | hours? | days? | [kmgt]?(?:i?b|hz) | bytes? | px )"

# The first alternative that fits at a place wins. Each is linear: no two repetitions share a character. A word ends at
# an underscore, so that `order_0001ab` is two words.
_VARYING: Final = re.compile(
    r"""
      (?P<uuid> (?<![0-9a-z]) [0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12} (?![0-9a-z]) )
    | (?P<text> "[^"\n]{0,400}" | `[^`\n]{0,400}` | “[^”\n]{0,400}” | (?<!\w) '[^'\n]{0,400}' (?!\w) )
    | (?P<path> (?<![\w/.~:\\]) (?: [a-z][a-z0-9+.\-]{1,20}:// | ~?/ | \.{1,2}/ | [a-z]:\\ )
                [^\s"'`,;()<>\[\]{}]{1,400} )
    | (?P<hex>  (?<![0-9a-z]) (?: 0x[0-9a-f]+ | (?=[0-9]*[a-f]) (?: [0-9a-f]{8,} | (?=[a-f]*[0-9]) [0-9a-f]{6,} ) )
                (?![0-9a-z]) )
    | (?P<measured> (?<![0-9a-z_]) (?> [0-9]+ (?: [.,:_][0-9]+ )* ) (?= UNIT? (?![0-9a-z]) ) )  # 1500ms as 30ms
    | (?P<id>   (?<![0-9a-z]) (?: [a-z]*[0-9] ){4} [0-9a-z]* )
    | (?P<word> [a-z][a-z0-9]* | (?<=_) [0-9][0-9a-z]* )  # does not vary, with the digits in it: sha256, column_7
    | (?P<number> [0-9]+ (?: [.,:_][0-9]+ )* )
    """.replace("UNIT", _UNIT),
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_SIGNS: Final = {"uuid": "<uuid>", "text": "<text>", "path": "<path>"}  # any other: <n>
_LONG_NUMBER: Final = re.compile(r"(?<![0-9a-z])[0-9]{13,}(?![0-9a-z])", re.IGNORECASE | re.ASCII)
_TRAILING = ".:!?"  # of a path: the end of the sentence, not of the path


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """The fingerprint of an error. `print` is a SHA-1 in 40 hex digits; `message` is masked; `varying` are its spans
    (from, to) that do not count.
    """

    print: str
    type: str
    where: str | None
    message: str
    varying: tuple[tuple[int, int], ...] = ()

    __repr__ = brief_repr

    @property
    def parts(self) -> tuple[tuple[str, bool], ...]:
        """The message in pieces, each with whether it varies."""
        found: list[tuple[str, bool]] = []
        last = 0
        for start, end in self.varying:
            found += [(self.message[last:start], False), (self.message[start:end], True)]
            last = end
        found.append((self.message[last:], False))
        return tuple((text, varies) for text, varies in found if text)


def fingerprint(failure: Failure) -> Fingerprint:
    """Return the fingerprint of an error. Two errors have the same one if they have one type and one place, and if
    their messages differ only in varying parts.
    """
    message = without_secrets(failure.message)
    spans, _ = _pattern(message[:LONGEST])
    text = "\n".join((failure.type, failure.where or "", message_pattern(failure.message)))
    return Fingerprint(
        print=sha1(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest(),
        type=failure.type,
        where=failure.where,
        message=message,
        varying=spans,
    )


def print_of(job: Job) -> Fingerprint:
    """Return the fingerprint of the error of a dead job. If only one line of the error is kept, it has no type and no
    place.
    """
    return fingerprint(job.failure or Failure(type="", message=job.error or ""))


def message_pattern(message: str) -> str:
    """Write a message with a sign in place of each varying part: ``invoice <n> has no lines``. A long number varies,
    also if it is masked as a possible card number.
    """
    no_card = _LONG_NUMBER.sub(lambda found: f"{10 ** (len(found[0]) - 1)}", message)
    return _pattern(without_secrets(no_card)[:LONGEST])[1]


def _pattern(message: str) -> tuple[tuple[tuple[int, int], ...], str]:
    spans: list[tuple[int, int]] = []
    said: list[str] = []
    last = at = 0
    while (found := _VARYING.search(message, at)) is not None:
        kind = found.lastgroup or "number"
        start, end = found.span()
        if kind == "path":
            end = start + len(found.group().rstrip(_TRAILING))
        at = max(end, start + 1)
        if kind == "word" or (kind == "path" and not _is_path(message[start:end])):
            continue
        said += [message[last:start], _SIGNS.get(kind, "<n>")]
        spans.append((start, end))
        last = end
    said.append(message[last:])
    return tuple(spans), "".join(said)


def _is_path(text: str) -> bool:
    """Return whether a name follows the slashes."""
    return any(character.isalnum() for character in text)
