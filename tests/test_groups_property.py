"""Random graphs of jobs and batches do what a pure model of spec/groups.md does, and leave nothing behind.

``python -m tests.graphs 2000`` plays as many, from a new seed.
"""

from __future__ import annotations

import pytest

from tests import graphs
from tests.graph_model import Model
from tests.servers import Server

GRAPHS = 30  # on each server


def test_random_graphs_do_as_the_model_says(server: Server, name: str) -> None:
    first = 0 if "redis" in server.program else GRAPHS
    seen = graphs.play(server, range(first, first + GRAPHS), named=name)
    assert seen["graphs"] == GRAPHS
    assert all(seen[how] for how in ("done", "dead", "cancelled", "discarded", "expired", "lost"))


@pytest.mark.parametrize("broken", ["adds", "ends", "revives", "closes"])
def test_a_model_that_forgets_a_step_is_found_to_differ(
    server: Server, name: str, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison sees something: a member that the model does not settle, or a batch that it does not close."""
    monkeypatch.setattr(Model, *FORGETS[broken])
    with pytest.raises(graphs.Wrong, match="seed "):
        graphs.play(server, range(12), named=name)


def _not_closed(model: Model, name: str) -> None:
    model.batches[name].state = "running"


def _first_only(model: Model, member: str, how: str) -> None:
    for name, group in list(model.after.items())[:1]:
        if member in group.members:
            model._settles(name, group, member, how)


FORGETS = {
    "adds": ("_may_go", lambda model, job: setattr(job, "state", "ready")),
    "ends": ("_feeds", _first_only),
    "revives": ("revives", lambda model, label: None),
    "closes": ("closes", _not_closed),
}
