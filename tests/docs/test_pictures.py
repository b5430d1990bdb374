"""The pictures of the terminal: how they are drawn, and that those of the pages are there."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from tests.docs.make_pictures import COLOURS, COMMANDS, PICTURES, PLAIN, drawn, pieces


def test_a_line_has_the_colours_of_its_codes() -> None:
    line = "a \x1b[31mred\x1b[0m \x1b[1m\x1b[32mb\x1b[0m\x1b[K"
    assert list(pieces(line)) == [("a ", PLAIN), ("red", COLOURS["31"]), (" ", PLAIN), ("b", COLOURS["32"])]


def test_a_picture_has_every_line_and_no_markup_of_its_text() -> None:
    root = ElementTree.fromstring(drawn("\x1b[31ma < b\x1b[0m\n\n  c & d\n"))
    lines = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert lines == ["a < b", "", "  c & d"]


@pytest.mark.parametrize("name", COMMANDS)
def test_each_picture_is_there_and_shows_its_command(name: str) -> None:
    text = "".join(ElementTree.parse(PICTURES / f"{name}.svg").getroot().itertext())
    assert f"$ workkit {COMMANDS[name][0]}" in text
    assert not re.search(r"/(tmp|home|root)/", text)
