"""Cron strings drawn at random, of every form that the grammar has."""

from __future__ import annotations

from hypothesis import strategies as st

from workkit.triggers.crons.field import DAY, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, YEAR, Spec


@st.composite
def _item(draw: st.DrawFn, spec: Spec) -> str:
    low, high = (2024, 2031) if spec is YEAR else (spec.low, spec.high)
    first, last = sorted((draw(st.integers(low, high)), draw(st.integers(low, high))))
    step = draw(st.sampled_from([2, 3, 4, 5, 6, 7, 10, 12, 15, 30]))
    forms = [f"{first}", f"{first}-{last}", f"*/{step}", f"{first}-{last}/{step}"]
    if spec is not YEAR:
        forms.append(f"{first}/{draw(st.sampled_from([2, 2, 3, 5, 9]))}")
    if spec is DAY:
        forms.append("L")
    if spec is WEEKDAY:
        forms += [f"{first}L", f"{first}#{draw(st.integers(1, 5))}"]
    return draw(st.sampled_from(forms))


def _field(spec: Spec, *usual: str) -> st.SearchStrategy[str]:
    items = st.lists(_item(spec), min_size=1, max_size=3).map(",".join)
    return st.one_of(*(st.just(text) for text in usual), _item(spec), items)


def crons() -> st.SearchStrategy[str]:
    """Draw seven fields in published order."""
    return st.tuples(
        _field(YEAR, "*", "*", "*", "*"),
        _field(MONTH, "*", "*"),
        _field(DAY, "*", "*"),
        _field(WEEKDAY, "*", "*"),
        _field(HOUR, "*", "9", "9-17"),
        _field(MINUTE, "0", "0", "*", "*/5", "30"),
        _field(SECOND, "0", "0", "0", "*/5"),
    ).map(" ".join)


def rules() -> st.SearchStrategy[str]:
    """Draw what may stand in a trigger's rules: the same, and days that must be the weekday too."""
    return st.one_of(crons(), crons().map(_joined))


def _joined(cron: str) -> str:
    year, month, day, *rest = cron.split()
    return " ".join((year, month, day if day == "*" else f"&{day}", *rest))
