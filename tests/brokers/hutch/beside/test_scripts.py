"""The heads of the scripts, and the keys beside an exchange."""

from __future__ import annotations

import re

import pytest

from tests.brokers.script_reading import BROKERS, code, source
from workkit.brokers.hutch.beside.keys import Keys
from workkit.brokers.redis_server.primaries import tag_of
from workkit.brokers.redis_server.script import load, local_name

FOLDER = BROKERS / "hutch" / "lua"
SPEC = (BROKERS.parents[1] / "spec" / "layouts" / "hutch.md").read_text(encoding="utf-8")
VERBS = sorted(load("hutch"))


@pytest.mark.parametrize("verb", VERBS)
def test_a_head_declares_what_its_script_uses(verb: str) -> None:
    text, script = source(verb, folder=FOLDER), load("hutch")[verb]
    assert re.match(rf"-- {verb}: .*\n(?:-- .*\n)*-- KEYS .*\n(?:-- .*\n)*-- ->   ", text)
    assert len(text.splitlines()) <= 120
    used = set(re.findall(r"[A-Za-z_]\w*", code(script.text)))
    arguments = [word for line in re.findall(r"^-- ARGV (.*)$", text, re.MULTILINE) for word in line.split()]
    declared = {local_name(key.name) for key in script.declared}
    declared |= {f"{word[:-3]}_at" if word.endswith("...") else local_name(word) for word in arguments}
    assert declared - used == set()


@pytest.mark.parametrize("verb", VERBS)
def test_all_keys_of_a_call_stand_in_one_slot_of_a_cluster(verb: str) -> None:
    script, keys = load("hutch")[verb], Keys("/}{", "app {x}")
    of = {key.of: keys.control if key.of == "key" else "L" for key in script.declared if key.of}
    found = script.keys(keys, **of)
    assert {tag_of(key) for key in found} == {"amqp %2F%7D%7B app%20%7Bx%7D"}
    assert len(set(found)) == len(found)


def test_keys_of_other_exchanges_hosts_and_schedules_are_others() -> None:
    made = {Keys(vhost, exchange).control for vhost in ("/", "a", "a b") for exchange in ("b", "a", "b c", "")}
    assert len(made) == 12
    assert all(" " in key.partition(":")[0] for key in made), "the name of a schedule has no blank"


def test_the_specification_names_every_key() -> None:
    section = SPEC[SPEC.index("### Keys beside") : SPEC.index("### Slots")]
    named = {name.partition(":")[0] for name in re.findall(r"^\| `([^`]+)`", section, re.MULTILINE)}
    own = {name for name in {*vars(Keys), *vars(Keys("/", "app"))} if not name.startswith("_")}
    assert named == own - {"layout", "prefix", "any_key"}
