"""Views share the state of an object, and differ from it in a few names."""

import copy
import pickle
from functools import cached_property
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, PrivateAttr

from recall_signal._wrapper.views import original_of, replaced, seen_by, shares_state, view_of


class Plain:
    """An object of one's own."""

    def __init__(self, part: Any = None) -> None:
        self.part, self.count = part, 0

    def add(self) -> None:
        self.count += 1

    @cached_property
    def lock(self) -> object:
        return object()


class Model(BaseModel):
    """A pydantic model."""

    model_config = ConfigDict(extra="allow")

    part: Any = None
    count: int = 0
    _hidden: Any = PrivateAttr(default=None)
    _count: int = PrivateAttr(default=0)

    def add(self) -> None:
        self.count += 1
        self._count += 1
        self.more = self.count

    @cached_property
    def lock(self) -> object:
        return object()


EITHER = pytest.mark.parametrize("made", [Plain, Model])


@EITHER
def test_a_view_looks_like_its_original(made: Any) -> None:
    original = made(part=1)
    view = replaced(original, {"part": 2})
    assert isinstance(view, made)
    assert view.__class__ is made
    assert (type(view).__name__, type(view).__module__) == (made.__name__, made.__module__)
    assert (view.part, original.part) == (2, 1)
    assert original_of(view) is original
    assert original_of(original) is original


@EITHER
def test_state_is_one(made: Any) -> None:
    original = made()
    views = [replaced(original, {"part": n}) for n in range(3)]
    for view in views:
        view.add()
    assert {one.count for one in (original, *views)} == {3}
    assert {one.lock for one in (original, *views)} == {original.lock}
    del views[0].lock
    assert "lock" not in vars(original)
    if made is Model:
        assert {(one._count, one.more) for one in (original, *views)} == {(3, 3)}


@EITHER
def test_what_is_assigned_counts(made: Any) -> None:
    original = made(part="old")
    first, second = replaced(original, {"part": "a"}), replaced(original, {"part": "b"})
    first.part = "new"
    assert (first.part, second.part, original.part) == ("new",) * 3
    object.__setattr__(replaced(original, {"part": "c"}), "part", first)
    assert original.part is original


def test_a_private_attribute_of_a_model() -> None:
    original = Model()
    original._hidden = "old"
    view = replaced(original, {"_hidden": "seen"})
    assert view._hidden == "seen"
    view._hidden = "new"
    assert (view._hidden, original._hidden) == ("new", "new")


def test_a_method_may_be_replaced() -> None:
    view = replaced(Plain(), {"add": lambda: 7})
    assert view.add() == 7  # type: ignore[func-returns-value]


@EITHER
def test_copies_and_whatever_a_view_makes_of_its_kind_are_no_views(made: Any) -> None:
    original = made(part=[1])
    view = replaced(original, {"part": 2})
    for other in (copy.copy(view), copy.deepcopy(view), pickle.loads(pickle.dumps(view))):
        assert type(other) is made
        assert other is not original
        assert other.part == [1]
    for kind in (view.__class__, type(view)):
        other = kind(part=3)
        assert type(other) is made
        assert other.part == 3


def test_a_view_of_a_view() -> None:
    original = Plain(part=1)
    inner = view_of(replaced(original, {"part": 2}), lambda _: {}, "text")
    outer = replaced(inner, {"count": 5})
    assert (outer.part, outer.count) == (2, 5)
    assert seen_by(outer, str) == "text"
    assert original_of(outer) is original
    with pytest.raises(LookupError, match="made with a int"):
        seen_by(outer, int)


def test_what_cannot_be_shared_has_no_view() -> None:
    class Slotted:
        __slots__ = ("__dict__", "value")

    class Validating(BaseModel):
        model_config = ConfigDict(validate_assignment=True)

    class Odd:
        model_config = "none of pydantic's"

    for part in (Slotted(), Validating(), 1, object()):
        assert not shares_state(part)
        with pytest.raises(TypeError, match="no other state"):
            view_of(part, lambda _: {}, None)
    assert shares_state(Odd())
