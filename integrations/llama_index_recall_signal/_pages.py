"""Which nodes are left of the page of a retrieval, where an engine answered from several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import is_

from llama_index.core.schema import NodeWithScore
from pydantic import BaseModel

from llama_index_recall_signal._response import RecallResponse
from recall_signal import SelectionReport

__all__ = ["with_what_is_left"]


def with_what_is_left(
    response: RecallResponse,
    nodes: list[NodeWithScore],
    selections: Sequence[SelectionReport],
    *,
    is_page: bool,
    is_only_one: bool,
) -> RecallResponse:
    """Return the response of a retrieval with what is left of its page, and the last selection.

    Args:
        response: That of one retrieval.
        nodes: What is left to answer from.
        selections: Those that were made inside.
        is_page: Whether all nodes come from one retriever; otherwise there may be those of other
            retrievals, and answers to parts of the question.
        is_only_one: Whether there was no other retrieval.
    """
    left = nodes if is_page else _those_of(response, nodes)
    if not response.nodes:  # others' nodes do not fill an empty page
        left = []
    if is_page and is_only_one:
        covering = list(selections)
    elif left:
        carried = [_carried(item, "selection") for item in left]
        covering = [one for one in selections if all(_is_among(one, each) for each in carried)]
    else:
        covering = list(selections) if is_only_one and len(selections) == 1 else []
    selection = covering[-1] if covering else response.selection
    is_same = len(left) == len(response.nodes) and all(map(is_, left, response.nodes))
    if is_same and selection == response.selection:
        return response
    return replace(response, nodes=left, selection=selection)


def _those_of(response: RecallResponse, nodes: Iterable[NodeWithScore]) -> list[NodeWithScore]:
    """Return the nodes of a response: by object, by the signal they carry, else by id.

    Copies may have another id, and two stores the same ids.
    """
    objects = {id(item.node) for item in response.nodes}
    ids = {item.node_id for item in response.nodes}

    def is_of(item: NodeWithScore) -> bool:
        if id(item.node) in objects:
            return True
        carried = _carried(item, "confidence")
        return _is_among(response.confidence, carried) if carried else item.node_id in ids

    return [item for item in nodes if is_of(item)]


def _carried(item: NodeWithScore, name: str) -> list[object]:
    """Return the reports of this name in the entries of a node's metadata."""
    entries = (value for value in item.metadata.values() if type(value) is dict)
    return [entry[name] for entry in entries if type(entry.get(name)) is dict]


def _is_among(report: BaseModel, carried: list[object]) -> bool:
    """Return whether a report is among those that a node carries."""
    try:
        return report.model_dump(mode="json") in carried
    except Exception:  # somebody else's values, which cannot be compared
        return False
