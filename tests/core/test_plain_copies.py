"""What `without_report` takes, in both frameworks."""

from typing import Any

import pytest

from recall_signal import InvalidInputError
from tests.frameworks import QUERY, Framework


def found(framework: Framework) -> list[Any]:
    response = framework.over().recall(QUERY)
    return list(response.documents if framework.name == "langchain" else response.nodes)


def test_any_iterable_of_items_is_copied(framework: Framework) -> None:
    bare, page = framework.package.without_report, found(framework)
    assert len(bare(page)) == len(bare(tuple(page))) == len(bare(iter(page))) == 4
    assert bare([]) == []


@pytest.mark.parametrize("wrong", ["one", "text", "dict", "None", "number", "mixed"])
def test_anything_else_is_refused(framework: Framework, wrong: str) -> None:
    page = found(framework)
    given: Any = {
        "one": page[0],
        "text": "a text that is kept out of the message",
        "dict": {"a": page[0]},
        "None": None,
        "number": 3,
        "mixed": [page[0], "b"],
    }[wrong]
    with pytest.raises(InvalidInputError, match="without_report needs a list of") as caught:
        framework.package.without_report(given)
    assert ("put it into a list" in str(caught.value)) == (wrong == "one")
    assert "kept out" not in str(caught.value)


def test_a_response_is_refused_with_what_to_pass(framework: Framework) -> None:
    noun = "documents" if framework.name == "langchain" else "nodes"
    response = framework.over().recall(QUERY)
    with pytest.raises(InvalidInputError, match=rf"got RecallResponse; pass response\.{noun}$"):
        framework.package.without_report(response)
