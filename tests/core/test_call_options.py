"""The options of one call, and the arguments that may stand beside them."""

from typing import Any

import numpy as np
import pytest

from recall_signal import ConfigurationError
from recall_signal._flow.values import FlowSettings
from recall_signal._steps.timeouts import CallLimits
from recall_signal._wrapper.call_arguments import Accepted, check_arguments
from recall_signal._wrapper.call_options import CallOptions
from recall_signal._wrapper.runtime import Runtime
from recall_signal.reranking import RerankerOptions, Reranking
from recall_signal.selection import SelectionOptions

RERANKING, SELECTION = Reranking(RerankerOptions(len)), SelectionOptions()


def runtime(has_reranking: Any = None, has_selection: Any = None, **used: Any) -> Runtime[str]:
    flow: FlowSettings[str] = FlowSettings(
        id_of=str, text_of=str, read_text_of=str, content_of=str, **used
    )
    return Runtime(
        values=(),
        store=None,
        encoder=None,
        identity=(None, None),
        flow=flow,
        reranking=has_reranking,
        selection=has_selection,
        limits=CallLimits(),
    )


def test_without_an_option_the_settings_are_the_wrappers() -> None:
    wrapper = runtime(RERANKING, SELECTION, selection=SELECTION)
    assert CallOptions().resolve(wrapper) is wrapper.flow
    assert CallOptions(k=3).resolve(wrapper) is wrapper.flow


def test_a_call_switches_what_is_there_on_and_off() -> None:
    wrapper = runtime(RERANKING, SELECTION, selection=SELECTION)
    on = CallOptions(use_rerank=True, select=True).resolve(wrapper)
    assert (on.reranking, on.selection) == (RERANKING, SELECTION)
    off = CallOptions(use_rerank=False, select=False).resolve(wrapper)
    assert (off.reranking, off.selection) == (None, None)
    assert wrapper.flow.selection is SELECTION


@pytest.mark.parametrize(("option", "part"), [("use_rerank", "reranker"), ("select", "selector")])
def test_what_is_not_there_cannot_be_used(option: str, part: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{option}=True needs a {part}"):
        CallOptions(**{option: True}).resolve(runtime())
    CallOptions(**{option: False}).resolve(runtime())


@pytest.mark.parametrize("k", [np.int64(3), np.uint8(3)])
def test_a_page_size_of_numpy_is_one(k: Any) -> None:
    assert type(CallOptions(k=k).k) is int
    assert CallOptions(k=k) == CallOptions(k=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be a whole number of at least 1, got 0"),
        ({"k": True}, "k must be a whole number of at least 1, got True"),
        ({"k": "3"}, "k must be .*, got str"),
        ({"k": 2.0}, "k must be .*, got 2.0"),
        ({"k": np.int64(0)}, "k must be .*, got 0"),
        ({"k": np.bool_(True)}, "k must be .*, got bool"),
        ({"k": np.float64(2.0)}, "k must be .*, got 2.0"),
        (
            {"use_rerank": 1},
            "use_rerank must be True, False or None, got an instance of <class 'int'>",
        ),
        ({"select": "yes"}, "select must be True, False or None, got an instance of <class 'str'>"),
    ],
)
def test_wrong_values_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        CallOptions(**options)


@pytest.mark.parametrize(
    "name",
    [
        *("use_reranker", "rerank", "selector", "selects", "USE_RERANK", "use_rerankk", "selected"),
        *("kk", "K", "k_", "top_k", "topk", "Top_K"),
    ],
)
@pytest.mark.parametrize("open_ended", [True, False])
def test_a_misspelt_option_is_refused_everywhere(name: str, open_ended: bool) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} is no argument .*; did you mean"):
        check_arguments([name], Accepted(open_ended=open_ended))
    check_arguments([name], Accepted(frozenset({name})))


def test_other_arguments_are_the_wrapped_retrievers() -> None:
    check_arguments(["filter", "fetch_k"], Accepted(frozenset({"filter"}), open_ended=True))
    check_arguments(["similarity_top_k"], Accepted(open_ended=True))
    with pytest.raises(ConfigurationError, match=r"did you mean k\?"):
        check_arguments(["similarity_top_k"], Accepted())
    with pytest.raises(ConfigurationError, match=r"fetch_k is no argument .*: k, use_rerank"):
        check_arguments(["filter", "fetch_k"], Accepted(frozenset({"filter"})))
