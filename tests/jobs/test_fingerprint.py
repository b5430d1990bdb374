from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import every_row
from workkit.jobs.fingerprint import LONGEST, fingerprint, message_pattern
from workkit.jobs.outcome import Failure


def failure(message: str, type: str = "OSError", where: str | None = "export.py:31") -> Failure:
    return Failure(type=type, message=message, where=where)


@every_row(
    ("message", "pattern"),
    [
        ("", ""),
        ("disk full", "disk full"),
        ("invoice 8812 has no lines", "invoice <n> has no lines"),
        ("No space left on device: '/var/exports/7.csv'", "No space left on device: <text>"),
        ("no such file: /var/exports/7.csv", "no such file: <path>"),
        ("no such file: /var/exports/7.csv.", "no such file: <path>."),
        ("cannot open ./data/a.csv, ../b and ~/c", "cannot open <path>, <path> and <path>"),
        (r"cannot open C:\data\a.csv", "cannot open <path>"),
        ("GET https://api.example.com/v1/users/7?x=1 failed", "GET <path> failed"),
        ("GET https://a.b/c: 503", "GET <path>: <n>"),
        ("redis://db:6379/0 does not answer", "<path> does not answer"),
        ("input/output error", "input/output error"),
        ("and/or", "and/or"),
        ("1/2", "<n>/<n>"),
        ("key 'user:7' is missing", "key <text> is missing"),
        ('key "user:7" is missing', "key <text> is missing"),
        ("key `user` is missing", "key <text> is missing"),
        ("key “user” is missing", "key <text> is missing"),
        ("it's 3 o'clock, isn't it", "it's <n> o'clock, isn't it"),
        ("can't read 'a'", "can't read <text>"),
        ("job 3f2504e0-4f89-11d3-9a0c-0305e82c3301 is gone", "job <uuid> is gone"),
        ("job 3F2504E0-4F89-11D3-9A0C-0305E82C3301 is gone", "job <uuid> is gone"),
        ("<object at 0x7f3b2c1d>", "<object at <n>>"),
        ("commit deadbe1f failed", "commit <n> failed"),
        ("commit deadbeef failed", "commit <n> failed"),
        ("commit dead42 failed", "commit <n> failed"),
        ("the facade was defaced", "the facade was defaced"),
        ("id 54111adf", "id <n>"),
        ("id 5411f", "id <n>f"),
        ("at 12:30:05 on 2026-11-20", "at <n> on <n>-<n>-<n>"),
        ("took 1,204.5 ms", "took <n> ms"),
        ("-5 is negative", "-<n> is negative"),
        ("timeout after 30s", "timeout after <n>s"),
        ("utf8 and sha256 and base64", "utf8 and sha256 and base64"),
        ("HTTP/2 stream 17", "HTTP/<n> stream <n>"),
        ("column_7 of v2", "column_7 of v2"),
        ("[Errno 28] No space left", "[Errno <n>] No space left"),
        ("(1, 'a', \"b\")", "(<n>, <text>, <text>)"),
        ("unclosed 'quote", "unclosed 'quote"),
        ("''", "<text>"),
        ("a // b", "a // b"),
        ("Straße 7 für Größe", "Straße <n> für Größe"),
    ],
)
def test_what_varies_has_a_sign_in_its_place(message: str, pattern: str) -> None:
    assert message_pattern(message) == pattern


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("invoice 8812 has no lines", "invoice 3 has no lines"),
        ("user 'ann' not found", "user 'a longer one' not found"),
        ("cannot read /tmp/a", "cannot read /srv/b/c.txt"),
        ("lock 3f2504e0-4f89-11d3-9a0c-0305e82c3301 lost", "lock 00000000-0000-0000-0000-000000000000 lost"),
        ("commit 54111adf", "commit 54111adf54111adf54111adf"),
        ("commit 54111adf", "commit 54111234"),
    ],
)
def test_errors_that_differ_only_in_what_varies_are_the_same(one: str, other: str) -> None:
    assert fingerprint(failure(one)).print == fingerprint(failure(other)).print


def test_type_place_and_words_tell_errors_apart() -> None:
    prints = {
        fingerprint(one).print
        for one in (
            failure("disk full"),
            failure("disk fuller"),
            failure("disk full", type="IOError"),
            failure("disk full", where="export.py:32"),
            failure("disk full", where=None),
            failure("disk 'full'"),
        )
    }
    assert len(prints) == 6


def test_a_fingerprint_is_a_sha1_that_stays() -> None:
    """Pages link to it, and it stands in the history of changes."""
    assert fingerprint(failure("invoice 8812 has no lines")).print == "3e380ef3970b4e720cf0a9ce66bc3ade7d92c298"


def test_varying_parts_are_told() -> None:
    print_ = fingerprint(failure("invoice 8812 has no lines"))
    assert print_.varying == ((8, 12),)
    assert print_.parts == (("invoice ", False), ("8812", True), (" has no lines", False))
    assert fingerprint(failure("7")).parts == (("7", True),)
    assert fingerprint(failure("")).parts == ()


@given(st.text(max_size=300) | st.text(alphabet="ab01'\"/\\.-:x ~`“”\n", max_size=300))
def test_any_message_is_read_and_its_parts_are_the_whole(message: str) -> None:
    print_ = fingerprint(failure(message))
    assert "".join(text for text, _ in print_.parts) == message
    assert all(0 <= start < end <= len(message) for start, end in print_.varying)
    assert all(end <= start for (_, end), (start, _) in zip(print_.varying, print_.varying[1:], strict=False))


@given(st.integers(0, 10**30), st.integers(0, 10**30))
def test_no_number_tells_errors_apart(one: int, other: int) -> None:
    assert fingerprint(failure(f"row {one} of 9")).print == fingerprint(failure(f"row {other} of 9")).print


def test_only_the_first_thousand_characters_count() -> None:
    long = "x " * LONGEST
    assert fingerprint(failure(long)).print == fingerprint(failure(long + "and more")).print


@pytest.mark.parametrize("piece", ["'", "0-", "a/", "1.", "./", "a:", "f", "\\", "”“", "x://", "0x", "'a"])
def test_a_hostile_message_is_read(piece: str) -> None:
    """A pattern that tries all ways to read such a text would not end."""
    assert message_pattern(piece * LONGEST) == message_pattern(piece * 2 * LONGEST)
