from __future__ import annotations

from workkit.web.live.view import changed, pieces_of, tag_of


def page(inner: str, *, text: str = "", cls: str = "") -> str:
    return f'<html><main id="main"{cls} data-live><p>{text}</p>{inner}</main><p id="no">not live</p></html>'


def section(name: str, text: str) -> str:
    return f'<section class="sec" id="{name}" data-live><section>{text}</section></section>'


def test_a_page_is_cut_at_its_marks() -> None:
    found = pieces_of(page(section("a", "one") + section("b", "two")))
    assert list(found) == ["main", "a", "b"]
    assert found["a"].html == '<section class="sec" id="a" data-live><section>one</section></section>'
    assert [piece.outer for piece in found.values()] == [None, "main", "main"]


def test_only_the_smallest_piece_that_differs_is_told() -> None:
    before = pieces_of(page(section("a", "one") + section("b", "two")))
    assert changed(before, pieces_of(page(section("a", "one") + section("b", "TWO")))) == {"b": section("b", "TWO")}
    assert changed(before, before) == {}


def test_what_is_around_the_pieces_brings_them_along() -> None:
    before = pieces_of(page(section("a", "one")))
    for after in (
        page(section("a", "ONE"), text="new"),
        page(section("a", "ONE"), cls=' class="stale"'),
        page(section("a", "ONE") + section("b", "two")),
        page(""),
    ):
        assert list(changed(before, pieces_of(after))) == ["main"], after


def test_a_client_that_has_nothing_gets_the_outermost() -> None:
    pieces = pieces_of(page(section("a", "one")) + section("c", "three"))
    assert list(changed({}, pieces)) == ["main", "c"]


def time(text: str, title: str, cls: str = "cd") -> str:
    return section("a", f'<time class="{cls}" datetime="2026-11-20T10:15:30+00:00" title="{title}">{text}</time>')


def test_what_only_tells_how_late_it_is_is_no_change() -> None:
    before = pieces_of(time("30 s", "Friday, in 30 s"))
    assert changed(before, pieces_of(time("29 s", "Friday, in 29 s"))) == {}
    assert tag_of(before) == tag_of(pieces_of(time("29 s", "Friday, in 29 s")))
    late = pieces_of(time("overdue 1 s", "Friday, 1 s ago", "cd w-late"))
    assert list(changed(before, late)) == ["a"]
    assert tag_of(before) != tag_of(late)
    other = pieces_of(time("11:15", "x", "at"))
    assert list(changed(other, pieces_of(time("11:16", "x", "at")))) == ["a"]
