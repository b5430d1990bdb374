from __future__ import annotations

import stat
from pathlib import Path

import pytest

from workkit.errors import InvalidOptions, NotFound
from workkit.web.auth import LOGIN_S, Signer, Who, is_password, lesser, may, password_hash
from workkit.web.login import add_token, add_user, read_users


def test_a_user_that_was_added_is_read_back_and_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "users.toml"
    add_user(path, "ada", roles="editor", password="correct horse")
    add_user(path, 'b"ob\\', roles={"app-tasks": "viewer"}, password="battery staple")
    token = add_token(path, "ci", roles="operator")
    users = read_users(path)
    assert {name: one.roles for name, one in users.users.items()} == {
        "ada": "editor",
        'b"ob\\': {"app-tasks": "viewer"},
    }
    assert is_password("correct horse", users.users["ada"].hash)
    assert not is_password("battery staple", users.users["ada"].hash)
    found = users.token(token)
    assert found is not None
    assert (found[0], found[1].roles) == ("ci", "operator")
    assert users.token("") is None
    assert "correct horse" not in path.read_text()
    assert token not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("stored", ["", "x", "scrypt$1$1$1$$", "scrypt$1073741824$8$1$AAAA$AAAA", "md5$1$1$1$a$b"])
def test_a_hash_that_cannot_be_read_lets_nobody_in(stored: str) -> None:
    assert not is_password("x", stored)


def test_two_hashes_of_one_password_differ() -> None:
    assert password_hash("correct horse") != password_hash("correct horse")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[users.ada]\nrole = "king"', 'has no valid role for "ada"'),
        ("[users]\nada = 1", 'has no valid role for "ada"'),
        ("[users", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "users.toml").write_text(text)
    with pytest.raises(InvalidOptions, match=said):
        read_users(tmp_path / "users.toml")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"does not exist\. Make it: workkit web --add-user NAME:ROLE --users"):
        read_users(tmp_path / "users.toml")


def test_a_short_password_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidOptions, match=r"the password has 5 characters\. Accepted: 8 to 1024 characters\."):
        add_user(tmp_path / "users.toml", "ada", roles="viewer", password="12345")


def test_a_cookie_ends_with_its_time_its_key_and_its_password() -> None:
    signer = Signer("key")
    cookie = signer.cookie("ada", stored="hash", now_s=1000)
    assert signer.cookie_name(cookie, now_s=1000 + LOGIN_S - 1) == "ada"
    assert signer.cookie_name(cookie, now_s=1000 + LOGIN_S) is None
    assert signer.is_cookie(cookie, stored="hash")
    assert not signer.is_cookie(cookie, stored="another")
    assert not Signer("other").is_cookie(cookie, stored="hash")
    name, until, number, mac = cookie.split(".")
    assert not signer.is_cookie(f"{name}.{int(until) + 1}.{number}.{mac}", stored="hash")
    assert signer.cookie("ada", stored="hash", now_s=1000) != cookie  # each login has its own
    assert signer.cookie_name("A.9999.x", now_s=1) is None  # no base64


def test_roles_have_an_order() -> None:
    assert lesser("editor", "viewer") == "viewer"
    assert may("editor", "operator")
    assert not may("viewer", "operator")
    who = Who(name="ada", roles={"a": "editor", "b": "viewer"}, via="login", session="")
    assert (who.role("a"), who.role("c")) == ("editor", None)
    assert who.at_most("operator").role("a") == "operator"
