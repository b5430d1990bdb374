from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.rows import every_row
from workkit.contract.mask import mask
from workkit.text.masked_text import MASK, MOST_TEXT, masked_text, without_secrets

MASKS = mask()


@every_row(
    ("text", "shown"),
    [
        ("password=hunter2", "password=•"),
        ("password = hunter2 for ann", "password = • for ann"),
        ("PASSWORD=hunter2, user=ann", "PASSWORD=•, user=ann"),
        ("db_password='a b c' failed", "db_password=• failed"),
        ('login(user="ann", password="x\\"y")', 'login(user="ann", password=•)'),
        ("api_key: 54111adf", "api_key: •"),
        ("apiKey => 54111adf", "apiKey => •"),
        ('{"password": "x", "n": 1}', '{"password": •, "n": 1}'),
        ('{"password":null,"n":1}', '{"password":•,"n":1}'),
        ("{'token': b'\\x00', 'n': 1}", "{'token': •, 'n': 1}"),
        ('{"auth": {"user": "ann", "x": "}"}, "n": 1}', '{"auth": •, "n": 1}'),
        ('{"cards": ["4111", "4242"], "n": 1}', '{"cards": •, "n": 1}'),
        ('{\n  "secret":\n    "x",\n  "n": 1\n}', '{\n  "secret":\n    •,\n  "n": 1\n}'),
        ('"{\\"password\\": \\"x\\", \\"n\\": 1}"', '"{\\"password\\": •, \\"n\\": 1}"'),
        ('{"user password": "x"}', '{"user password": •}'),
        ('os.environ["API_KEY"] = "x"', 'os.environ["API_KEY"] = •'),
        ("config['password']='x'", "config['password']=•"),
        ('token: str = "x"', "token: • = •"),
        ('def f(token: str | None = "x", n: int = 1)', "def f(token: • | None = •, n: int = 1)"),
        ("if password != 'x':", "if password != •:"),
        ("GET /a?token=abc&x=1", "GET /a?token=•&x=1"),
        ("login(password=SecretStr('hunter2'), user='ann')", "login(password=•, user='ann')"),
        ("{'token': Decimal('1.5'), 'n': 1}", "{'token': •, 'n': 1}"),
        ("password=b64(x['a)']) n=1", "password=• n=1"),
        ("password=ab(cd", "password=•"),
        ("password = prefix + 'hunter2' + x  # n=1", "password = •  # n=1"),
        ('token = env("A") or "abc"', "token = •"),
        ("password=a order=1", "password=• order=1"),
        ("token: abc spin=2", "token: • spin=2"),
        ("https://ann:hunter2@db/0?x=1", "https://ann:•@db/0?x=1"),
        ("redis://:hunter2@db:6379/0 does not answer", "redis://:•@db:6379/0 does not answer"),
        ("redis://db:6379/0 does not answer", "redis://db:6379/0 does not answer"),
        ("Authorization: Bearer abc.def.ghi\nHost: x", "Authorization: •\nHost: x"),
        ("Cookie: a=1; b=2\nHost: x", "Cookie: •\nHost: x"),
        ("auth=Bearer abc.def, x=1", "auth=•, x=1"),
        ("mysql --password hunter2 -h db", "mysql --password • -h db"),
        ("mysql --password=hunter2 -h db", "mysql --password=• -h db"),
        ("['mysql', '--password', 'hunter2', '-v']", "['mysql', '--password', •, '-v']"),
        ("<password>hunter2</password>", "<password>•</password>"),
        ("password='cut in the mid", "password=•"),
        ('{"token": {"a": "cut', '{"token": •'),
        ("password=", "password="),
        ("the password is wrong", "the password is wrong"),
        ("TokenError: the token is too old", "TokenError: the token is too old"),
        ("jwt.AuthException: no", "jwt.AuthException: no"),
        ("disk full: '/var/exports/7.csv'", "disk full: '/var/exports/7.csv'"),
        ("", ""),
    ],
)
def test_what_follows_a_secret_key_is_masked(text: str, shown: str) -> None:
    assert MASKS.text(text) == without_secrets(text) == shown.replace("•", MASK)


@given(
    st.sampled_from(["password", "api_key", "X-Auth-Token", "cardNumber", "iban", "ssn", "clientSecret"]),
    st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=20),
    st.sampled_from(["{}", "it failed: {}", "[1, {}]", '{{"a": {}}}']),
)
def test_no_json_shows_a_secret(key: str, value: str, around: str) -> None:
    secret = f"s3cr3t{value}t3rc3s"
    once = around.format(json.dumps({key: secret, "n": [1, 2]}))
    for text in (once, json.dumps(once), repr({key: secret}), f"{key}={secret!r}"):
        shown = MASKS.text(text)
        assert "s3cr3t" not in shown
        assert "t3rc3s" not in shown


@given(st.text(max_size=400) | st.text(alphabet="\"'\\=:{}[]()-<> \nptoken", max_size=400))
def test_any_text_is_masked_without_an_error_and_only_once(text: str) -> None:
    shown = MASKS.text(text)
    assert MASKS.text(shown) == shown


PIECES = """
password passwd= api_key api-key: X-Auth-Token cardNumber iban ssn= cookie: secret pin: PIN= => := == = : --token --pin
<password> </password> <pin> https://ann:hunter2@db redis://:x@ :// @ " ' \\" \\\\ { } [ ] ( ) , ; • ••••••
sk_live_abc123 ghp_abcdef AKIAIOSFODNN7EXAMPLE eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0 4242424242424242 4242-4242-4242-4242
-----BEGIN -----END OSError: TokenError: Bearer hunter2 disk
"""


@given(st.lists(st.sampled_from([*PIECES.split(), " ", " ", "\n"]) | st.text(max_size=9), max_size=12).map("".join))
@example("pin=4711")
def test_a_short_text_is_masked_as_a_long_one(text: str) -> None:
    """A short text without the name of a secret is not searched for keys."""
    for one in (MASKS, mask("^pin$"), mask(decide=lambda key, _: True if key == "pin" else None), mask(looks=False)):
        assert one.text(text) == masked_text(text, one.names_secret, looks=one.looks)
    assert without_secrets(text) == masked_text(text, MASKS.names_secret)


@pytest.mark.parametrize(
    "piece",
    [
        "\\",
        '"',
        "'",
        "{",
        "a:{",
        "token:{",
        'token="',
        "token:",
        '"token',
        "=",
        "-",
        "://a:",
        "a.",
        " ",
        "<a>",
        "--token ",
        '\\"',
    ],
)
def test_a_hostile_text_is_masked(piece: str) -> None:
    """Time by the square of such a length would be minutes."""
    text = piece * (MOST_TEXT // len(piece))
    assert len(MASKS.text(text)) <= len(text) + len(MASK) * text.count("token")


def test_a_long_text_is_cut_behind_what_is_masked() -> None:
    shown = MASKS.text("x" * (MOST_TEXT - 12) + " token='abcdefghijkl'")
    assert shown.endswith(" token=" + MASK + "…")
    assert "abc" not in shown
