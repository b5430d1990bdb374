from __future__ import annotations

import pytest
from hypothesis import example, given
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
        ("id 5411f", "id <n>"),
        ("id 541f", "id <n>f"),
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
        ("job_48213 failed", "job_<n> failed"),
        ("job_482 failed", "job_482 failed"),
        ("order_0001ab is unknown", "order_<n> is unknown"),
        ("order_0001abc9x is unknown", "order_<n> is unknown"),
        ("order-0001xyz is unknown", "order-<n> is unknown"),
        ("orders/0001xyz/lines", "orders/<n>/lines"),
        ("orders.0001xyz.lines", "orders.<n>.lines"),
        ("order_01ARZ3NDEKTSV4RRFFQ69G5FAV", "order_<n>"),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "<n>"),
        ("user48213 and u4s8x2d1", "<n> and <n>"),
        ("u4s8x2 is a word", "u4s8x2 is a word"),
        ("job_54111adf_lines", "job_<n>_lines"),
        ("54111adf_lines", "<n>_lines"),
        ("job_54111adf54111adf54111adf54111adf54111adf", "job_<n>"),
        ("object_at_0x7f3b2c1d", "object_at_<n>"),
        ("job_3f2504e0-4f89-11d3-9a0c-0305e82c3301.json", "job_<uuid>.json"),
        ("invoice_20261120_093000.csv", "invoice_<n>_<n>.csv"),
        ("a_48213_7", "a_<n>_7"),
        ("_48213 and __48213__", "_<n> and __<n>__"),
        ("7_lines and 1_000_000 lines", "<n>_lines and <n> lines"),
        ("20261120_093000", "<n>"),
        ("took 1500ms, then 900ms", "took <n>ms, then <n>ms"),
        ("wrote 12345678.5 kB and 123456KiB", "wrote <n> kB and <n>KiB"),
        ("at 2026-11-20T10:15:30Z", "at <n>-<n>-<n>:<n>Z"),
        ("of 2026-11-20T10:15:30.123456+00:00", "of <n>-<n>-<n>:<n>+<n>"),
        ("10.0.0.1:6379 and db-3:5432", "<n> and db-<n>"),
        ("python3.11 and libssl1.1", "python3.<n> and libssl1.<n>"),
        ("md5, x509, ipv6, s3, h2_2", "md5, x509, ipv6, s3, h2_2"),
        ("password=hunter2 is wrong", "password=•••••• is wrong"),
        ('{"api_key": "a", "n": 12}', "{<text>: ••••••, <text>: <n>}"),
        ("cannot reach redis://ann:hunter2@db:6379/0", "cannot reach <path>"),
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
        ("job_48213 failed", "job_1234567 failed"),
        ("job_48213 failed", "job_54111adf failed"),
        ("order_0001ab is lost", "order_77f2910c3e is lost"),
        ("order_0001xy is lost", "order_ab12cd34zz is lost"),
        ("lock:tenant-00017x is held", "lock:tenant-9x9x9x9 is held"),
        ("orders/2026A17 is closed", "orders/1B2C3D4E5F is closed"),
        ("report.v20261120.csv is empty", "report.v20261121.csv is empty"),
        ("cus_Nf0f7GhB3m2K9x has no card", "cus_9s6XKzkNRiz8i3 has no card"),
        ("took 1500ms", "took 30ms"),
        ("at 2026-11-20T10:15:30Z", "at 2026-11-21T23:00:01Z"),
        ("token=abc is refused", "token='d e f' is refused"),
        ("login(password='a', n=3)", "login(password='other', n=4)"),
        ("https://ann:a@shop.example/x", "https://bob:b@shop.example/y"),
    ],
)
def test_errors_that_differ_only_in_what_varies_are_the_same(one: str, other: str) -> None:
    assert fingerprint(failure(one)).print == fingerprint(failure(other)).print


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("job_48213 failed", "order_48213 failed"),
        ("job_48213 failed", "job_48213 was cut off"),
        ("job_48213_lines failed", "job_48213_totals failed"),
        ("column_7 is missing", "column_8 is missing"),
        ("sha256 differs", "sha512 differs"),
        ("s3 does not answer", "h3 does not answer"),
        ("took 1500ms", "took 1500kb"),
        ("tenant-48213 is closed", "tenant is closed"),
        ("orders/48213 is closed", "lines/48213 is closed"),
        ("facade_of is missing", "decade_of is missing"),
        ("password=a is wrong", "passport=a is wrong"),
        ("step_1 failed", "step_2 failed"),
        ("v1_users is gone", "v2_users is gone"),
    ],
)
def test_errors_that_differ_in_a_word_stay_apart(one: str, other: str) -> None:
    assert fingerprint(failure(one)).print != fingerprint(failure(other)).print


def test_a_secret_is_in_no_message_of_a_fingerprint() -> None:
    print_ = fingerprint(failure("password=hunter2 for job_48213"))
    assert print_.message == "password=•••••• for job_48213"
    assert [text for text, varies in print_.parts if varies] == ["48213"]


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
@example(1, 4111111111111111)  # it looks like the number of a card, and is masked
def test_no_number_tells_errors_apart(one: int, other: int) -> None:
    assert fingerprint(failure(f"row {one} of 9")).print == fingerprint(failure(f"row {other} of 9")).print


def test_only_the_first_thousand_characters_count() -> None:
    long = "x " * LONGEST
    assert fingerprint(failure(long)).print == fingerprint(failure(long + "and more")).print


@pytest.mark.parametrize(
    "piece", ["'", "0-", "a/", "1.", "./", "a:", "f", "\\", "”“", "x://", "0x", "'a", "_1", "1a", "a1", "0_", "f1_"]
)
def test_a_hostile_message_is_read(piece: str) -> None:
    """A pattern that tries all ways to read such a text would not end."""
    assert message_pattern(piece * LONGEST) == message_pattern(piece * 2 * LONGEST)
