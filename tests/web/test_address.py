from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workkit.web.words import read_spelled, spelled, url_path


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("app-tasks", "app-tasks"),
        ("a/b", "a~2fb"),
        ("100%?#~", "100~25~3f~23~7e"),
        ("two words", "two~20words"),
        ("report.json", "report~2ejson"),
        ("report.json.gz", "report.json.gz"),
        ("..", "~2e~2e"),
        ("näme", "näme"),
        ("a\nb", "a~0ab"),
    ],
)
def test_a_name_is_one_piece_of_a_path(name: str, written: str) -> None:
    assert spelled(name) == written
    assert read_spelled(written) == name


@given(st.text(min_size=1))
def test_every_name_reads_back_from_an_address(name: str) -> None:
    if any("\ud800" <= c <= "\udfff" for c in name):
        return
    written = spelled(name)
    assert read_spelled(written) == name
    assert not set(written) & set("/%?# ")
    assert not written.endswith(".json")
    assert url_path(written).isascii()
