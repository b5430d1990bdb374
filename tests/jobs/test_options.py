"""The table of options, and everything that must agree with it: types, docstrings, flags, spec/."""

from __future__ import annotations

import inspect
import re
import types
import typing
from pathlib import Path
from typing import Any

import click
import pytest

from workkit import aio, schedule
from workkit.cli.commands.add import add_command, now_command
from workkit.cli.commands.listen import listen_command
from workkit.cli.options import OFFERED, flag
from workkit.jobs import marks
from workkit.jobs.call import AddOptions, ForwardOptions, JobOptions, ListenOptions, Row
from workkit.jobs.options import ADD, BY_NAME, FORWARD, JOB, LISTEN, OPTIONS, STORED, VerbOption, names_at
from workkit.verbs.new_job import KEYWORDS

ROOT = Path(__file__).parents[2]
TYPES = {ADD: AddOptions, JOB: JobOptions, LISTEN: ListenOptions, FORWARD: ForwardOptions}
NO_FLAG = {"listener_timeout"}  # every listener of a schedule must have the same one
OTHER_FLAGS = {"imports": "--import", "folder": "--only-imports", "consumers": "--consumer", "listener_name": "--name"}


def union(kind: Any) -> set[Any]:
    return set(typing.get_args(kind)) if typing.get_origin(kind) in (typing.Union, types.UnionType) else {kind}


def test_names_are_unique_and_shared_by_two_places_at_most() -> None:
    assert len(BY_NAME) == len(OPTIONS)
    assert {option.places for option in OPTIONS} == {(ADD,), (ADD, JOB), (JOB,), (LISTEN,), (LISTEN, FORWARD)}


@pytest.mark.parametrize("place", TYPES)
def test_types_hold_the_options_of_the_table(place: str) -> None:
    hints = typing.get_type_hints(TYPES[place])
    assert set(hints) == set(names_at(place))
    for name, hint in hints.items():
        assert union(hint) == union(BY_NAME[name].type) | {type(None)}, name


def test_a_row_holds_the_keywords_of_add() -> None:
    assert set(typing.get_type_hints(Row)) == {*names_at(ADD), *KEYWORDS}
    parameters = inspect.signature(schedule.add).parameters
    assert {*parameters} - {"s", "options"} == {*KEYWORDS}


@pytest.mark.parametrize(
    ("verb", "place"),
    [(schedule.add, ADD), (schedule.add_now, ADD), (schedule.listen, LISTEN), (schedule.listener, LISTEN),
     (schedule.drain, LISTEN), (aio.listener, LISTEN), (schedule.forward, FORWARD), (schedule.forwarder, FORWARD),
     (aio.forwarder, FORWARD), (marks.job, JOB)],
)  # fmt: skip
def test_a_verb_takes_the_options_of_its_type(verb: Any, place: str) -> None:
    (*_, typed) = (inspect.unwrap(verb), *typing.get_overloads(verb))
    parameters = inspect.signature(typed).parameters.values()
    (keywords,) = (one.annotation for one in parameters if one.kind is one.VAR_KEYWORD)
    assert keywords == f"Unpack[{TYPES[place].__name__}]"


@pytest.mark.parametrize(
    ("documented", "place"),
    [(schedule.add, ADD), (schedule.listen, LISTEN), (schedule.forward, FORWARD)],
    ids=["add", "listen", "forward"],
)
def test_a_docstring_names_the_options_with_their_defaults(documented: Any, place: str) -> None:
    said = dict(re.findall(r"\b(\w+)=(\w+\.cwd\(\)|\"\w+\"|\(\)|\w+)", documented.__doc__))
    unset = {"none": "None", "that of the schedule": "None"}
    assert said == {name: unset.get(BY_NAME[name].default, BY_NAME[name].default) for name in names_at(place)}


def test_the_docstring_of_job_names_its_options() -> None:
    said = set(re.findall(r"\b(\w+)=", marks.job.__doc__ or ""))
    assert said == set(names_at(JOB))


def flags(command: click.Command) -> dict[str, click.Option]:
    return {name: one for one in command.params if isinstance(one, click.Option) for name in one.opts}


@pytest.mark.parametrize("command", [add_command, now_command], ids=["add", "now"])
def test_add_and_now_have_a_flag_for_every_option_of_add(command: click.Command) -> None:
    named = {flag(option) for option in OFFERED}
    assert named <= set(flags(command))
    assert {option.name for option in OFFERED} == set(names_at(ADD)) - {"tz"}
    assert {"--no-unique", "--no-jitter", "--unique-key"} <= named
    assert "--tz" in flags(add_command)
    helps = {one.help for one in flags(command).values()}
    assert all(any(option.meaning.removeprefix("False: ") in (text or "") for text in helps) for option in OFFERED)


def test_listen_has_a_flag_for_every_option_of_a_listener() -> None:
    expected = {OTHER_FLAGS.get(name) or flag(BY_NAME[name]) for name in names_at(LISTEN) if name not in NO_FLAG}
    assert expected <= set(flags(listen_command))


def members(text: str, heading: str) -> list[str]:
    """The names in the first column of a table in a spec page."""
    table = text[text.index(heading) :].split("\n\n")[0].splitlines()[2:]
    return [name for row in table for name in re.findall(r"`(\w+)`", row.split("|")[1])]


def test_job_md_lists_the_stored_members_in_alphabetical_order() -> None:
    found = members((ROOT / "spec/job.md").read_text(), "| member of `opts` | type | meaning")
    assert found == sorted(STORED)


def test_features_md_lists_the_stored_terms_and_names_all_other_options() -> None:
    text = (ROOT / "spec/features.md").read_text()
    terms = [option for option in OPTIONS if option.places == (ADD,)]
    assert set(members(text, "| member of `opts` | default")) == {o.member for o in terms if o.member}
    section = text[: text.index("## 2.")]
    for option in terms:
        if option.member is None and option.name != "tz":
            assert f"`{option.name}" in section, option.name
    for name in set(names_at(JOB)) - set(names_at(ADD)) - {"retry_on", "discard_on"}:
        assert f"`{name}`" in section, name


@pytest.mark.parametrize("option", [o for o in OPTIONS if o.recurring], ids=lambda o: o.name)
def test_features_md_names_what_only_a_recurring_job_has(option: VerbOption) -> None:
    text = (ROOT / "spec/features.md").read_text()
    sentence = next(line for line in text.splitlines() if line.startswith("A job that runs once refuses "))
    assert f"`{option.name}`" in sentence
