"""What a web search may return."""

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage

from langchain_recall_signal.web_results import as_documents, as_text
from recall_signal import InvalidResultError

PAGE = Document("a", metadata={"n": 1})


@pytest.mark.parametrize(
    ("found", "texts"),
    [
        ("a", ["a"]),
        ("", []),
        (PAGE, ["a"]),
        ([PAGE, "b"], ["a", "b"]),
        ((text for text in "ab"), ["a", "b"]),
        ({"content": "a"}, ["a"]),
        ({"results": [{"content": "a"}, {"snippet": "b"}], "query": "q"}, ["a", "b"]),
        ({"results": "a"}, ["a"]),
        ([{"page_content": "a", "text": "other"}], ["a"]),
        ([], []),
    ],
)
def test_forms(found: Any, texts: list[str]) -> None:
    assert [document.page_content for document in as_documents(found)] == texts


def test_the_rest_of_a_mapping_becomes_metadata() -> None:
    hit = {"content": "a", "url": "u", "metadata": {"n": 1}}
    assert as_documents([hit])[0].metadata == {"url": "u", "n": 1}
    assert as_documents([{"content": "a", "metadata": 5}])[0].metadata == {}


@pytest.mark.parametrize("found", [None, 5, [None], {"url": "u"}, [{"content": 5}], {"results": 5}])
def test_anything_else_is_refused_without_its_content(found: Any) -> None:
    with pytest.raises(InvalidResultError, match="a web search must return"):
        as_documents(found)


def test_texts_of_answers() -> None:
    assert as_text("a") == "a"
    assert as_text(AIMessage([{"type": "text", "text": "a"}])) == "a"
    with pytest.raises(InvalidResultError, match="got int"):
        as_text(5)
