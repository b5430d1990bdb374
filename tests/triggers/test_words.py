"""The vocabulary, and the cutting of phrases into tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workkit.errors import PhraseError
from workkit.triggers.english.words import MAX_LENGTH, quote, tokens


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("7pm tomorrow", "number word word"),
        ("1h30m", "number word number word"),
        ("2026-12-01T09:00:00-05:30", "date word clock offset"),
        ("2026/12/01 9:00+0200", "date clock offset"),
        ("9:00-17:00", "clock sign clock"),
        ("9:00 -17:00", "clock sign clock"),
        ("18:00 +01:00", "clock offset"),
        ("2026-12-24 18:00 -05:00", "date clock offset"),
        ("9am UTC-5", "number word offset"),
        ("9am utc - 5pm utc", "number word word sign number word word"),
        ("mon-fri", "word sign word"),
        ("01/02/2027", "slashed"),
        ("20261201T090000Z", "stamp"),
        ("PT5M P1DT2H", "period period"),
        ("@1798761600", "epoch"),
        ("9am America/New_York", "number word zone"),
        ("at :15, 1st o'clock", "word minute sign ordinal word"),
        ("7 p.m.", "number word"),
        ("now()", "word other"),
        ("", ""),
    ],
)
def test_tokens_are_cut_by_kind(text: str, kinds: str) -> None:
    assert [token.kind for token in tokens(text)] == kinds.split()


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=MAX_LENGTH))
def test_tokens_leave_nothing_out_but_blanks(text: str) -> None:
    spans = dict.fromkeys((token.start, token.end) for token in tokens(text))
    assert list(spans) == sorted(spans)
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("7pm tmrw", "7 pm tomorrow"), ("every business day", "every workday"), ("m-f", "mon - fri"),
        ("tue/thu", "tue , thu"),
        ("new year's eve 2026", "31 december 2026"), ("every month end", "every end of month"), ("19h30", "19:30"),
        ("fri @ 5pm", "fri at 5 pm"), ("1h30m", "1 h 30 m"), ("m/w/f", "mon , wed , fri"),
    ],
)  # fmt: skip
def test_synonyms_are_exchanged(text: str, meaning: str) -> None:
    found = tokens(text)
    assert [token.text for token in found] == meaning.split()
    assert all(0 <= token.start < token.end <= len(text) for token in found)


@pytest.mark.parametrize(
    ("text", "position"),
    [("5 minut\u00e9s", 7), ("in 5\u00a0minutes", 4), ("tomorrow\x00", 8), ("\uff17pm", 0), ("5 m\r", 3)],
)
def test_text_beyond_plain_ascii_is_refused(text: str, position: int) -> None:
    with pytest.raises(PhraseError) as refusal:
        tokens(text)
    assert refusal.value.position == position
    assert str(refusal.value).isascii()


def test_long_texts_are_refused() -> None:
    assert tokens("a" * MAX_LENGTH)
    with pytest.raises(PhraseError, match="has 201 characters"):
        tokens("a" * (MAX_LENGTH + 1))


@given(st.text())
def test_quote_gives_one_short_line(text: str) -> None:
    assert quote(text).isprintable()
    assert len(quote(text)) <= 85
