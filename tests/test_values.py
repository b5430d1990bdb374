"""The dataclasses of this package behave as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import typing
from dataclasses import KW_ONLY
from typing import Any

import pytest

from tests.processes import ROOT
from workkit import values


@values.dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """A frozen one."""

    name: str
    size: int = 1
    parts: list[int] = values.field(default_factory=list)
    note: str = values.field(default="", compare=False, repr=False)


@values.dataclass(slots=True)
class Open:
    """One that changes."""

    first: int
    second: int = values.field(default=2, init=False)
    _: KW_ONLY
    third: list[int] = values.field(default_factory=list, init=False)
    fourth: int = 4

    def __post_init__(self) -> None:
        self.third.append(self.first)


@values.dataclass(frozen=True)
class Nested(Frozen):
    """A subclass, without slots."""

    inner: Any = None


@values.dataclass(slots=True, eq=False)
class Same:
    """One that equals itself only."""

    first: int


@values.dataclass
class Empty:
    """One without fields."""

    def __repr__(self) -> str:
        return "nothing"


class TwinSource:
    """The same classes by the standard decorator; each must do the same."""

    @staticmethod
    def of(cls: type) -> type:
        """Make the class again, from its own text."""
        source = inspect.getsource(cls).replace("values.", "dataclasses.")
        found = dict(globals())
        exec(f"from __future__ import annotations\n{source}", found)
        return found[cls.__name__]  # type: ignore[no-any-return]


@pytest.mark.parametrize("cls", [Frozen, Open, Same, Empty])
def test_a_dataclass_has_the_signature_fields_and_text_of_a_standard_one(cls: type) -> None:
    twin = TwinSource.of(cls)
    assert str(inspect.signature(cls)) == str(inspect.signature(twin))
    assert [(f.name, f.init, f.kw_only) for f in dataclasses.fields(cls)] == [
        (f.name, f.init, f.kw_only) for f in dataclasses.fields(twin)
    ]
    assert typing.get_type_hints(vars(cls)["__init__"]) == typing.get_type_hints(vars(twin)["__init__"])
    given = {name: 7 for name in inspect.signature(cls).parameters if name not in ("parts", "note")}
    ours, theirs = cls(**given), twin(**given)
    assert (repr(ours), ours == cls(**given), ours == theirs) == (repr(theirs), theirs == twin(**given), False)
    assert (cls.__hash__ is None) == (twin.__hash__ is None)
    assert cls.__match_args__ == twin.__match_args__  # type: ignore[attr-defined]
    assert getattr(cls, "__slots__", None) == getattr(twin, "__slots__", None)
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        cls(**given, other=1)


def test_a_frozen_one_is_equal_and_hashed_by_its_compared_fields_and_refuses_changes() -> None:
    one = Frozen(name="a", note="x")
    assert one == Frozen(name="a", note="y")
    assert one != Frozen(name="a", size=2)
    assert len({Nested(name="a", parts=(), inner=1), Nested(name="a", parts=(), inner=1)}) == 1  # type: ignore[arg-type]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'name'"):
        one.name = "b"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'name'"):
        del one.name
    assert one.parts is not Frozen(name="b").parts


def test_a_value_is_copied_replaced_and_pickled() -> None:
    for one in (Frozen(name="a", parts=[1]), Open(1), Nested(name="a", inner=2)):
        assert pickle.loads(pickle.dumps(one)) == one
        assert copy.deepcopy(one) == one
    assert values.replace(Frozen(name="a"), size=3) == Frozen(name="a", size=3)
    assert (Open(5).second, Open(5).third) == (2, [5])


def test_one_that_holds_itself_has_a_text() -> None:
    one = Nested(name="a")
    one.parts.append(one)  # type: ignore[arg-type]
    assert repr(one) == "Nested(name='a', size=1, parts=[...], inner=None)"


def test_every_module_takes_this_decorator() -> None:
    slow = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "workkit").rglob("*.py")
        if path.name != "values.py" and "dataclasses import dataclass" in path.read_text(encoding="utf-8")
    ]
    assert not slow, "import dataclass from workkit.values: a process starts faster"
