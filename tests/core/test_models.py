"""Models made without validation are those that pydantic itself makes.

These fail loudly where a release of pydantic keeps its models in another way.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any, Self

import pytest
from langchain_core.documents import Document
from llama_index.core.schema import NodeWithScore, TextNode
from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError

from recall_signal import RecallConfidence, assess
from recall_signal._pydantic import copy_with

UNSET = ("probability", "term_coverage", "reason", "rerank_score", "match")


class Hidden(BaseModel):
    text: str
    _seen: list[int] = PrivateAttr(default_factory=lambda: [1])


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    text: str


class Counted(Document):
    copies: int = 0

    def __copy__(self) -> Self:
        copied = super().__copy__()
        copied.copies += 1
        return copied


def assert_alike(one: BaseModel, other: BaseModel) -> None:
    assert type(one) is type(other)
    assert one == other
    assert repr(one) == repr(other)
    assert one.model_dump() == other.model_dump()
    assert one.model_dump_json() == other.model_dump_json()
    assert one.model_fields_set == other.model_fields_set
    assert one.model_extra == other.model_extra
    assert one.__getstate__() == other.__getstate__()
    assert list(vars(one)) == list(vars(other))


def measured() -> RecallConfidence:
    return assess([0.9, 0.4, 0.2])


class TestMeasured:
    def test_it_is_what_the_constructor_makes(self) -> None:
        signal = measured()
        figures = {name: getattr(signal, name) for name in signal.model_fields_set}
        assert signal.model_fields_set == set(vars(signal)) - {*UNSET}
        assert_alike(signal, RecallConfidence(**figures))

    def test_it_goes_the_ways_of_any_model(self) -> None:
        signal = measured()
        for other in (
            pickle.loads(pickle.dumps(signal)),
            copy.copy(signal),
            copy.deepcopy(signal),
            RecallConfidence.model_validate_json(signal.model_dump_json()),
        ):
            assert other == signal
        assert signal.model_copy(update={"level": "low"}).level == "low"

    def test_it_is_frozen(self) -> None:
        with pytest.raises(ValidationError, match="frozen"):
            measured().level = "low"  # type: ignore[misc]

    def test_two_share_nothing(self) -> None:
        one, other = measured(), measured()
        assert vars(one) is not vars(other)
        assert one.model_fields_set is not other.model_fields_set


@pytest.mark.parametrize(
    ("model", "update"),
    [
        (Document(page_content="t", metadata={"a": 1}, id="7"), {"metadata": {"b": 2}}),
        (Document(page_content="t"), {"metadata": {"b": 2}}),
        (TextNode(text="t", metadata={"a": 1}), {"metadata": {"b": 2}}),
        (NodeWithScore(node=TextNode(text="t"), score=0.5), {"score": 0.7}),
        (Open(text="t", more=[1]), {"text": "u"}),
        (Hidden(text="t"), {"text": "u"}),
        (Counted(page_content="t"), {"metadata": {"b": 2}}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_copy_is_what_model_copy_makes(model: BaseModel, update: dict[str, Any]) -> None:
    before = copy.deepcopy(model)
    copied = copy_with(model, update)
    assert_alike(copied, model.model_copy(update=update))
    assert vars(copied) is not vars(model)
    assert copied.model_fields_set is not model.model_fields_set
    assert_alike(model, before)


def test_a_copy_has_private_values_and_extras_of_its_own() -> None:
    hidden, extra = Hidden(text="t"), Open(text="t", more=1)
    copy_with(hidden, {"text": "u"})._seen = []
    copy_with(extra, {"text": "u"}).more = 2  # type: ignore[attr-defined]
    assert hidden._seen == [1]
    assert extra.model_extra == {"more": 1}
