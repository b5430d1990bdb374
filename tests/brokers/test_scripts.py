"""The heads of scripts: what they declare is what the scripts use."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.brokers.script_reading import BROKERS, FOLDER, SHARED, code, source
from tests.rows import every_row
from workkit.brokers.native.keys import Keys
from workkit.brokers.redis_server.script import BadScript, load, local_name, read_script
from workkit.brokers.rehearsal import FOLDER as FOLDER_OF_PARTS

VERBS = sorted(load("native"))
PARTS = sorted(file.stem for folder in (FOLDER, SHARED) for file in (folder / "parts").glob("*.lua"))
MOST_LINES = 120


def parts(**sources: str) -> Callable[[str], str]:
    return lambda name: sources[name]


def words(line: str, text: str) -> list[str]:
    """The words of all KEYS, or all ARGV, lines of a head."""
    return [word for found in re.findall(rf"^-- {line} (.*)$", text, re.MULTILINE) for word in found.split()]


def test_a_head_gives_the_locals_and_the_list_of_keys() -> None:
    head = "-- x: y\n-- KEYS next running(listener) first(3) first(1)\n-- KEYS skip(others)...\n-- ARGV me rows...\n"
    script = read_script("x", f"{head}return 1\n", part=parts())
    assert script.text.splitlines() == [
        "-- x: y",
        "local next_, running = KEYS[1], KEYS[2]; local first = { [3] = KEYS[3], [1] = KEYS[4] }",
        "local skip_at = 5",
        "local me = ARGV[1]; local rows_at = 2",
        "return 1",
    ]
    found = script.keys(Keys("S"), listener="L", others=("M", "N"))
    assert found == ("S:next", "S:running:L", "S:first:3", "S:first:1", "S:skip:M", "S:skip:N")


@pytest.mark.parametrize("given", [{}, {"listener": "L", "token": "T"}, {"token": "T"}])
def test_keys_name_what_is_missing_or_not_known(given: dict[str, str]) -> None:
    script = read_script("x", "-- KEYS running(listener)\n", part=parts())
    with pytest.raises(TypeError, match=r"^x: its keys are named for listener=; given: "):
        script.keys(Keys("S"), **given)


def test_a_part_comes_into_a_script_once_where_it_is_named_first() -> None:
    a, b = "-- part: b\nlocal a = b", "local b = 1"
    script = read_script("x", "-- x: y\n-- part: a\n-- part: b\nreturn a\n", part=parts(a=a, b=b))
    assert script.text == "-- x: y\nlocal b = 1\nlocal a = b\nreturn a\n"


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("-- KEYS Next\n", "'Next' names no key"),
        ("-- KEYS jobs jobs\n", "two of its keys and arguments are called jobs"),
        ("-- KEYS jobs\n-- ARGV jobs\n", "two of its keys and arguments are called jobs"),
        ("-- KEYS first(1)\n-- KEYS first(2)\n", "two of its keys and arguments are called first"),
        ("-- KEYS skip(all)... next\n", "next comes after a list"),
        ("-- ARGV all... next\n", "next comes after a list"),
        ("-- ARGV first(1)\n", "the argument first is a name alone"),
        ("-- KEYS jobs\n-- part: needs\n", "its part needs uses KEYS wake; declare them"),
        ("-- KEYS wake\n-- part: needs\n", "its part needs uses ARGV now; declare them"),
        ("-- part: a\n", "the part a names itself, by way of a b"),
    ],
)
def test_a_head_that_cannot_be_read_is_refused(text: str, trouble: str) -> None:
    known = parts(needs="-- KEYS wake\n-- ARGV now", a="-- part: b", b="-- part: a")
    with pytest.raises(BadScript, match=re.escape(trouble)):
        read_script("x", text, part=known)


@every_row("verb", VERBS)
def test_a_head_describes_the_script_its_keys_its_arguments_and_its_answers(verb: str) -> None:
    lines = source(verb).splitlines()
    head = lines[: next(place for place, line in enumerate(lines) if not line.startswith("--"))]
    kinds = [found[0] for line in head if (found := re.match(r"-- (\w+:|KEYS|ARGV|->) ", line))]
    said = [kind.split()[1] for kind in kinds]
    assert said[0] == f"{verb}:"
    assert [kind for place, kind in enumerate(said) if kind not in said[:place]][:4] == [
        f"{verb}:",
        "KEYS",
        "ARGV",
        "->",
    ]


@every_row("verb", VERBS)
def test_a_script_uses_every_key_and_argument_that_it_declares(verb: str) -> None:
    script = load("native")[verb]
    used = set(re.findall(r"[A-Za-z_]\w*", code(script.text)))
    locals_ = {f"{key.name}_at" if key.is_list else local_name(key.name) for key in script.declared}
    arguments = words("ARGV", source(verb))
    locals_ |= {f"{word[:-3]}_at" if word.endswith("...") else local_name(word) for word in arguments}
    assert locals_ - used == set()


@every_row("verb", VERBS)
def test_a_script_calls_only_functions_that_it_or_its_parts_have_defined_before(verb: str) -> None:
    of_lua = {"and", "function", "if", "in", "not", "or", "return", "while"}
    of_lua |= {"ipairs", "next", "pairs", "pcall", "tonumber", "tostring", "type", "unpack"}
    body = re.sub(r"'[^']*'", "''", code(load("native")[verb].text))
    made = re.finditer(r"\bfunction (\w+)\(|\bstring\.(\w+)\b(?!\()", body)  # also `local sub = string.sub`
    defined = {found[1] or found[2]: found.start() for found in reversed([*made])}
    parameters = set(re.findall(r"\w+", " ".join(re.findall(r"function \w*\((.*?)\)", body))))
    for call in re.finditer(r"(?<![\w.])([A-Za-z_]\w*)\(", body):
        if call[1] not in of_lua | parameters:
            assert defined.get(call[1], len(body)) < call.start(), call[1]


@every_row("verb", VERBS)
def test_all_keys_of_a_call_stand_in_one_slot_of_a_cluster(verb: str) -> None:
    script = load("native")[verb]
    of: dict[str, str | tuple[str, ...]] = {
        key.of: ("L", "M") if key.is_list else "{S}:x" for key in script.declared if key.of
    }
    found = script.keys(Keys("{S}"), **of)
    assert found
    assert len(set(found)) == len(found)
    assert all(key.startswith("{S}:") for key in found)


@every_row("verb", VERBS)
def test_a_script_takes_no_key_or_argument_by_its_number(verb: str) -> None:
    body = code(load("native")[verb].text)
    assert re.findall(r"(?:KEYS|ARGV)\[\d[^\]]*\]|unpack\((?:KEYS|ARGV)(?:\)|, \d)[^)]*", body) == []
    if not any(key.is_list for key in load("native")[verb].declared):
        assert not re.search(r"\bKEYS\b", body)
    if not any(word.endswith("...") for word in words("ARGV", source(verb))):
        assert not re.search(r"\bARGV\b", body)


@every_row("name", PARTS)
def test_a_part_uses_every_key_and_argument_of_its_head_and_no_other(name: str) -> None:
    text = source(f"parts/{name}")
    assert text.startswith(f"-- {name}: ")
    used = set(re.findall(r"(?<!\.)\b[A-Za-z_]\w*", code(text)))
    declared = {local_name(word) for line in ("KEYS", "ARGV") for word in words(line, text)}
    assert declared - used == set()
    keys = {local_name(name) for name in (*vars(Keys), *vars(Keys("S"))) if not name.startswith("_")}
    asked = set(re.findall(r"redis\.p?call\('\w+', (\w+)", code(text)))
    assert (asked & keys) - declared == set()


@every_row("name", PARTS)
def test_every_part_is_used_by_a_script(name: str) -> None:
    assert any(f"\n-- {name}: " in script.text for script in load("native").values())


def test_every_exit_of_a_job_passes_the_part_that_removes_its_tags_and_ends_its_key() -> None:
    leaving = re.compile(r"'(?:HDEL|DEL|UNLINK|HSET|HSETNX|RENAME)', (?:jobs|graves)\b")
    found: dict[str, list[str]] = {}
    for file in sorted((FOLDER / "parts").glob("*.lua")) + sorted(FOLDER.glob("*.lua")):
        for call in leaving.findall(code(file.read_text(encoding="utf-8"))):
            found.setdefault(call.replace("'", ""), []).append(file.stem)
    assert found == {
        "HDEL, jobs": ["leaves", "settle"],  # settle: plain jobs and plain members, see the next test
        "HDEL, graves": ["graves"],
        "HSET, jobs": ["burial", "add", "add"],  # plain jobs, rows of a batch, and those that follow a dead one
        "HSETNX, jobs": ["members", "group", "put", "revive", "revive"],
        "HSET, graves": ["burial"],
    }


def test_every_exit_of_a_job_settles_it_in_its_groups() -> None:
    exits = re.compile(rf"(?<!function )\b({'|'.join(EXITS)})\(")
    found: dict[str, list[str]] = {}
    for file in sorted((FOLDER / "parts").glob("*.lua")) + sorted(FOLDER.glob("*.lua")):
        for call in exits.findall(code(file.read_text(encoding="utf-8"))):
            if file.stem not in found.setdefault(call, []):
                found[call].append(file.stem)
    assert found == EXITS


EXITS = {
    # Ways out of S:jobs and S:dead, and the ends of occurrences, each with who takes it. All pass `settled`. A new one
    # needs a test in `test_native_groups_exits.py`.
    "leave": ["ending", "over", "superseded", "bury", "group"],
    "end_job": ["chain", "over", "predecessor", "cancel", "repair"],
    "give_way": ["superseded", "withdraw"],
    "supersede": ["superseded"],
    "leave_dead": ["beat", "discard", "revive"],
    "end_plain": ["settle"],
    "settle_plain": ["settle"],
    "drop": ["settle"],
    "close": ["settle"],
    "miss": ["admit"],
    "settled": ["after", "chain", "groups", "leaves", "over", "group", "reschedule", "settle"],
}


@every_row("verb", VERBS)
def test_no_script_is_too_long_to_be_read(verb: str) -> None:
    assert len(source(verb).splitlines()) <= MOST_LINES


def test_every_script_takes_the_time_from_one_place() -> None:
    of_time = re.compile(r"'TIME'|XADD.*'\*'|return '\*'")  # the server makes an id * of a stream from its time
    files = [file for file in BROKERS.rglob("*.lua") if of_time.search(code(file.read_text(encoding="utf-8")))]
    assert sorted(str(file.relative_to(SHARED)) for file in files) == [
        "given_time/instant.lua", "parts/instant.lua", "test_clock/instant.lua",
    ]  # fmt: skip


@every_row("verb", VERBS)
def test_a_script_on_the_test_clock_differs_from_that_of_production_in_one_part(verb: str) -> None:
    plain, moved = load("native")[verb], load("native", clock=FOLDER_OF_PARTS)[verb]
    parts_of_time = [
        (SHARED / folder / "instant.lua").read_text(encoding="utf-8") for folder in ("parts", FOLDER_OF_PARTS)
    ]
    assert "test-clock" not in plain.text
    of_server, of_test = (text.rstrip("\n") for text in parts_of_time)
    assert moved.text == plain.text.replace(of_server, of_test)
    assert moved.declared == plain.declared
    assert ("test-clock" in moved.text) == ("'TIME'" in plain.text) == ("\n-- instant: " in plain.text)
