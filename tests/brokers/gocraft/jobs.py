"""Jobs at random for the properties of this layout."""

from __future__ import annotations

from hypothesis import strategies as st

from workkit.brokers.gocraft.text import FIELDS, JobText

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
SECONDS = st.integers(-(2**63), 2**63 - 1)
ARGS = st.none() | st.dictionaries(
    TEXTS,
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
        lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
        max_leaves=10,
    ),
)
UNKNOWN = st.lists(
    st.tuples(
        TEXTS.filter(lambda name: name.casefold() not in FIELDS),
        st.sampled_from(["1", '"x"', "null", "[1, 2]", '{"a" :1e400}', "-0", '"\\ud800"']),
    ),
    max_size=3,
    unique_by=lambda pair: pair[0],
).map(tuple)
JOBS = st.builds(
    JobText,
    name=TEXTS,
    id=TEXTS,
    t=SECONDS,
    args=ARGS,
    unique=st.booleans(),
    unique_key=TEXTS,
    fails=SECONDS,
    err=TEXTS,
    failed_at=SECONDS,
    unknown=UNKNOWN,
)
