"""The protocol's model, searched: every small plan holds, and every rule that is switched off is missed at once.

The larger plans take minutes: `python -m tests.model --all`.
"""

from __future__ import annotations

import pytest

from tests.model.model import Model
from tests.model.plans import BUGS, LARGE, SMALL
from tests.model.search import TooMany, explore


@pytest.mark.parametrize("name", SMALL)
def test_a_plan_holds(name: str) -> None:
    found = explore(Model(SMALL[name]))
    assert found.violation is None, "\n".join([f"{found.violation}, by:", *found.trace])
    assert found.good > 0


@pytest.mark.parametrize(("bug", "name", "violation"), BUGS)
def test_a_rule_switched_off_is_missed(bug: str, name: str, violation: str) -> None:
    found = explore(Model(SMALL[name]._replace(bugs=frozenset([bug]))))
    assert found.violation is not None, f"{found.states} states without {bug} being noticed"
    assert found.violation.startswith(f"{violation}:"), found.violation
    assert found.trace or violation == "lost_or_stuck"  # without a step: no way leads from the start to a good end


def test_no_plan_is_searched_in_part_and_called_good() -> None:
    with pytest.raises(TooMany):
        explore(Model(SMALL["one-shot"]), most=100)


def test_the_plans_have_names_of_their_own() -> None:
    assert not SMALL.keys() & LARGE.keys()
