"""Secrets in texts: values behind a key that names a secret, and values that look like a secret under any name. Pure.

A scanner makes one pass over the text, instead of one large pattern: its time is linear in the length of any text. An
unclosed value (texts are cut) is masked to the end of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

MASK: Final = "••••••"
SECRET: Final = r"pass(word)?|secret|token|api[_-]?key|auth|card|iban|ssn|cookie"  # in the name of a secret
MOST_TEXT: Final = 65_536  # characters of one text to show; the rest is cut

_KEY: Final = re.compile(
    r"""\\{0,8}(?P<quote>["'])(?P<quoted>[^"'\\\n]{1,200})\\{0,8}(?P=quote)|(?P<bare>\w[\w.\-]*)"""
)
_OPERATOR: Final = re.compile(
    r"""[ \t]{0,40}(?:\\{0,8}["'])?[ \t]{0,40}\]?[ \t]{0,40}(=>|:=|[!=]?={1,2}|:)(?!//)[ \t]{0,40}"""
)
_ANNOTATED: Final = re.compile(  # the rest of an annotation and its equals sign: str[int] | None = "x"
    r"(?:\[[\w ,.|\[\]]{0,60}\])?(?:[ ]{0,3}\|[ ]{0,3}[\w.\[\]]{1,40}){0,5}[ \t]{0,3}=(?!=)[ \t]{0,40}"
)
_BARE: Final = re.compile(r"""[^\s,;&)\]}"'>\\]+""")
_JOINT: Final = re.compile(r"[ \t]{0,3}(?:\+|\bor\b)[ \t]{0,3}(?=[^\s,;])")
_CALL: Final = re.compile(r"[\w.]{1,200}[(\[{]")
_OPENING: Final = re.compile(r"""(?:[bBuUrRfF]{1,2}(?=["']))?\\{0,16}(?:\"{3}|'{3}|["'])""")
_SCHEME: Final = re.compile(r"(?:bearer|basic|digest|negotiate|token|apikey)$", re.IGNORECASE)
_HEADER: Final = re.compile(r"cookie|authorization", re.IGNORECASE)  # the value is the rest of the line
_ERROR: Final = re.compile(r"(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Warning|Failure|Timeout)$")  # in front of its message
_LOGIN: Final = re.compile(r"""(?<=://)([^\s/@:"']{0,100}):([^\s/@"']{1,300})@""")
_FLAG_GAP: Final = re.compile(r"""(?:\\{0,8}["'],)?[ \t]{1,4}(?=[^\s\-])""")
_CLOSING: Final = {"{": "}", "[": "]", "(": ")"}
GLIMPSE: Final = 200  # characters of a value in a text that a program's function gets

_SECRET: Final = re.compile(SECRET, re.IGNORECASE)

Names = Callable[[str, object], bool]
"""A function that returns whether the value under a key is masked. Of a value in a text it gets the beginning, up to
the end of the line.
"""


def without_secrets(text: str) -> str:
    """Mask the values behind the usual names of secrets, for callers without a mask of the program. Never raises."""
    if has_no_secret_name(text) and len(text) <= MOST_TEXT:
        return masked_looks(text)
    return masked_text(text, lambda key, _: _SECRET.search(key) is not None)


def has_no_secret_name(text: str) -> bool:
    """Return whether a text has no login in a URL, and no key with the usual name of a secret."""
    return "://" not in text and _SECRET.search(text) is None


def masked_text(text: str, names: Names, *, most: int = MOST_TEXT, looks: bool = True) -> str:
    """Mask values behind a key that `names` a secret: ``key=value``, ``"key": value``, ``--key value``, ``<key>value``,
    and the password of a URL; and values that look like a secret (`masked_looks`). Never raises.
    """
    cut = _LOGIN.sub(lambda found: f"{found[1]}:{MASK}@", masked_looks(text[:most]) if looks else text[:most])
    said: list[str] = []
    last = at = 0
    while (found := _KEY.search(cut, at)) is not None:
        key = found["quoted"] or found["bare"]
        start = _start_of_value(cut, found, key)
        if start is None or not names(key, cut[start : start + GLIMPSE].partition("\n")[0]):
            at = found.end() if found["bare"] else found.start("quoted")  # a quoted text may contain keys
            continue
        end = _end_of_value(cut, start, until=_until(cut, found, start, key))
        while end > start and (joint := _JOINT.match(cut, end)):  # prefix + "x"
            end = max(joint.end(), _end_of_value(cut, joint.end()))
        said += [cut[last:start], MASK if end > start else ""]
        last = at = max(end, found.end())
        said.append(cut[end:last])
        is_annotated = found["bare"] and end > start and ":" in cut[found.end() : start]
        if is_annotated and (default := _ANNOTATED.match(cut, end)):  # token: str = "x"
            said += [cut[end : default.end()], MASK]
            last = at = _end_of_value(cut, default.end())
    said.append(cut[last:])
    return "".join(said) + ("…" if len(text) > most else "")


def _start_of_value(text: str, found: re.Match[str], key: str) -> int | None:
    """Return where the value of a key begins; None if the text is no key."""
    name = "bare" if found["bare"] is not None else "quoted"
    first, behind = found.span(name)
    operator = _OPERATOR.match(text, found.end())
    if operator is None:
        if text[first - 1 : first] == "<" and text[behind : behind + 1] == ">":
            return behind + 1
        is_flag = text[max(0, first - 1) : first + 1].find("-") >= 0
        gap = _FLAG_GAP.match(text, behind) if is_flag else None
        return gap.end() if gap else None
    if name == "bare" and operator[1] == ":" and _ERROR.match(key):
        return None
    start = operator.end()
    if name == "quoted" or operator.group().lstrip()[:1] in "\"'\\":
        while start < len(text) and text[start] in " \t\r\n":  # JSON over several lines
            start += 1
    return start


def _until(text: str, found: re.Match[str], start: int, key: str) -> str | None:
    """Return the end mark of a value that may have blanks: of an XML element, or of a header, ``Cookie: a=b; c=d``."""
    between = text[found.end() : start]
    if found["bare"] is not None and between == ">":
        return "<"
    is_header = found["bare"] is not None and ":" in between and _HEADER.search(key) is not None
    return "\n" if is_header and not _OPENING.match(text, start) else None


def _end_of_value(text: str, start: int, *, until: str | None = None) -> int:
    if until is not None:
        end = text.find(until, start)
        return len(text) if end < 0 else end
    if opening := _OPENING.match(text, start):
        return _end_of_quoted(text, opening)
    if text[start : start + 1] in _CLOSING:
        return _end_of_bracket(text, start)
    if (bare := _BARE.match(text, start)) is None:
        return start
    if _SCHEME.match(bare.group()):  # Authorization=Bearer abc
        after = bare.end()
        while text[after : after + 1] in (" ", "\t"):
            after += 1
        if more := _BARE.match(text, after):
            return more.end()
    if call := _CALL.match(text, start):  # SecretStr('x')
        return _end_of_bracket(text, call.end() - 1)
    return bare.end()


def _end_of_quoted(text: str, opening: re.Match[str]) -> int:
    """Return the end of a quoted text. The closing quote has as many backslashes as the opening one."""
    mark = opening.group().lstrip("bBuUrRfF")
    quote = mark.lstrip("\\")
    depth = len(mark) - len(quote)
    at = opening.end()
    while (at := text.find(quote, at)) >= 0:
        slashes = at
        while slashes > opening.end() and text[slashes - 1] == "\\":
            slashes -= 1
        count = at - slashes
        if count == depth if depth else count % 2 == 0:
            return at + len(quote)
        at += 1
    return len(text)


def _end_of_bracket(text: str, start: int) -> int:
    """Return the end of a list, object or call; brackets in quoted texts do not count."""
    wanted: list[str] = []
    at = start
    while at < len(text):
        character = text[at]
        if character in _CLOSING:
            wanted.append(_CLOSING[character])
        elif wanted and character == wanted[-1]:
            wanted.pop()
            if not wanted:
                return at + 1
        elif character in "\"'" and (opening := _OPENING.match(text, at)):
            at = _end_of_quoted(text, opening)
            continue
        at += 1
    return len(text)


_ISSUED: Final = re.compile(  # prefixes of keys and tokens that services issue
    r"""(?<![A-Za-z0-9])(?:
    -----BEGIN[ ][\s\S]*?(?:-----END[ ][^\n-]{0,100}-----|\Z)
    |(?:[sr]k_(?:live|test)_|whsec_|gh[pousr]_|github_pat_|glpat-|xox[a-z]-|xapp-|npm_|shpat_|dop_v1_|sk-(?:ant|proj)-
      |pypi-AgE|ya29\.|hvs\.)[A-Za-z0-9_\-.]{3,}
    |sk-[A-Za-z0-9]{20,}|hf_[A-Za-z0-9]{20,}|SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}
    |(?:AKIA|ASIA)[A-Z0-9]{12,}(?![A-Za-z0-9])|AIza[A-Za-z0-9_\-]{30,}
    |eyJ[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_=\-]*){0,4}
    )""",
    re.VERBOSE,
)
_CARD: Final = re.compile(
    r"(?<![\w.\-])(?:\d{13,19}|\d{4}([ -])\d{4}\1\d{4}\1\d{1,4}(?:\1\d{1,3})?|\d{4}([ -])\d{6}\2\d{4,5})(?![\w\-]|\.\d)"
)
_ISSUER: Final = re.compile(r"4|5[0-8]|3[0-9]|6|222[1-9]|22[3-9]|2[3-6]|27[01]|2720")
_TOKEN: Final = re.compile(r"(?<![A-Za-z0-9+/_\-])[A-Za-z0-9+/_\-]{32,}={0,2}(?![A-Za-z0-9])")
_ID: Final = re.compile(  # a UUID, the SHA-1 that is the id of a job, or a ULID
    r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
    r"|(?<![a-z0-9])(?:[0-9a-f]{12}[1-8][0-9a-f]{3}[89ab][0-9a-f]{15}|[0-9a-f]{40}|[0-7][0-9a-hjkmnp-tv-z]{25})(?![a-z0-9])",
    re.IGNORECASE,
)
_PIECE: Final = re.compile(r"[^\W_]+")
_RUN: Final = re.compile(r"[A-Z]?[a-z]{3,}|[0-9]{4,}")
_HEX: Final = re.compile(r"[0-9a-fA-F]+")
_WORD: Final = re.compile(r"(?:[^aeiouy]{0,3}[aeiouy])+[^aeiouy]{0,3}|[0-9]+", re.IGNORECASE)
CARDS: Final = range(10**12, 10**19)  # numbers of 13-19 digits
LEAST_TOKEN: Final = 32
LEAST_DISTINCT: Final = 10  # distinct characters of a random token, at least
LEAST_PLAIN: Final = 0.6  # share of characters in words and numbers; a token with less is random


def masked_looks(text: str) -> str:
    """Mask secrets of known kinds: keys and tokens that services issue, JWTs, PEM blocks and card numbers."""
    return _CARD.sub(lambda found: MASK if is_card(found[0]) else found[0], _ISSUED.sub(MASK, text))


def masked_tokens(text: str) -> str:
    """Mask long random parts of a value under any name. Ids stay: UUIDs, ULIDs, and SHA-1 as jobs have it."""
    return _TOKEN.sub(lambda found: MASK if _is_random(found[0]) else found[0], text)


def is_card(text: str) -> bool:
    """Return whether a text is a card number: 13-19 digits of a known issuer, with a correct check digit."""
    digits = [int(one) for one in text if one.isdigit()]
    if not 13 <= len(digits) <= 19 or _ISSUER.match("".join(map(str, digits))) is None:
        return False
    doubled = [sum(divmod(2 * one, 10)) if k % 2 else one for k, one in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0


def _is_random(token: str) -> bool:
    """Return whether a token is random: no id and no name in words fills it, or most of it."""
    token = _ID.sub("", token.rstrip("="))
    if len(token) < LEAST_TOKEN or len(set(token)) < LEAST_DISTINCT or token.isdigit():
        return False
    pieces = _PIECE.findall(token)
    plain = sum(map(_plain, pieces)) if len(pieces) > 1 or not _HEX.fullmatch(token) else 0
    return plain < LEAST_PLAIN * sum(map(len, pieces))


def _plain(piece: str) -> int:
    """Count the characters of a piece that belong to words and numbers."""
    if piece.isdigit() or (len(piece) <= 3 and piece.isalpha()):
        return len(piece)
    runs = _RUN.findall(piece.lower() if piece.isupper() else piece)
    return sum(len(run) for run in runs if _WORD.fullmatch(run))
