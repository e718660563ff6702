"""Settings, pages, reports and errors of a `RecallRetriever`, the same in both frameworks."""

import asyncio
import json
from functools import partial
from typing import Any

import numpy as np
import pytest

from recall_signal import ConfigurationError, ScoreKind, Thresholds, assess
from tests.frameworks import QUERY, STRONG, Framework

MANY = [0.9, 0.5, 0.45, *np.linspace(0.4, 0.1, 61).tolist()]


def ids(framework: Framework, response: Any) -> list[str]:
    return [item.id for item in framework.page(response)]


async def test_one_wider_search_and_the_same_page(framework: Framework, way: str) -> None:
    response = await framework.recall(framework.over(MANY, 3), way)
    assert ids(framework, response) == ["id0", "id1", "id2"]
    assert response.pool.cosines == pytest.approx(MANY[:50], abs=1e-6)
    assert response.pool.ids[:4] == ["id0", "id1", "id2", "id3"]
    assert response.confidence == assess(response.pool.cosines)
    assert (response.confidence.level, response.cosine_source) == ("high", "store")
    assert "recall" not in framework.page(response)[0].text
    assert response._repr_html_()


async def test_every_result_carries_the_reports_as_plain_json(
    framework: Framework, way: str
) -> None:
    response = await framework.recall(framework.over(), way)
    for rank, item in enumerate(framework.page(response)):
        assert item.entry == {**response.to_dict(), "rank": rank, "cosine": item.entry["cosine"]}
        assert set(item.entry) == {
            "v", "confidence", "selection", "cosine_source", "advice", "rank", "cosine",
        }  # fmt: skip
        assert item.entry["cosine"] == pytest.approx(STRONG[rank], abs=1e-6)
        assert json.loads(json.dumps(item.entry, allow_nan=False)) == item.entry
    assert response.selection.model_dump() == {"applied": False, "reason": "not_configured"}


async def test_the_page_size_of_the_call_wins(framework: Framework, way: str) -> None:
    def recall(k: int | None = None, **settings: Any) -> Any:
        retriever = framework.over(MANY, 3, **settings)
        given = {} if k is None else {"k": k}
        if way == "sync":
            return asyncio.to_thread(retriever.recall, QUERY, **given)
        return retriever.arecall(QUERY, **given)

    for k, page, pool in ((None, 3, 50), (1, 1, 50), (7, 7, 50), (60, 60, 60)):
        response = await recall(k)
        assert (len(framework.page(response)), len(response.pool)) == (page, pool)
    response = await recall(pool_size=3)
    assert len(response.pool) == len(framework.page(response)) == 3


async def test_a_page_without_a_search_of_ours_is_cut(framework: Framework, way: str) -> None:
    retriever = framework.around(lambda: ["a", "b", "c", "d", "e"], k=2)
    response = await framework.recall(retriever, way)
    assert [item.text for item in framework.page(response)] == ["a", "b"]
    assert len(response.pool) == 5


async def test_a_page_size_of_numpy(framework: Framework, way: str) -> None:
    for retriever in (framework.over(), framework.around(lambda: ["a", "b", "c"])):
        response = await framework.recall(retriever, way, k=np.int64(2))
        assert len(framework.page(response)) == 2
    retriever = framework.around(lambda: ["a", "b", "c"], k=np.int64(2), pool_size=np.int64(3))
    assert len(framework.page(await framework.recall(retriever, way))) == 2


async def test_nothing_stored(framework: Framework, way: str) -> None:
    response = await framework.recall(framework.over([]), way)
    assert framework.page(response) == []
    assert (response.confidence.level, response.confidence.result_count) == ("none", 0)
    assert response.selection.reason == "not_configured"


async def test_thresholds_and_keys(framework: Framework, way: str) -> None:
    strict = Thresholds(prominence_high=9.0, prominence_moderate=8.0, prominence_low=7.0)
    settings: Any = {"thresholds": strict, "metadata_key": "mine", "id_key": "n"}
    retriever = framework.over(annotate="first", **settings)
    response = await framework.recall(retriever, way)
    assert response.confidence.level == "moderate"  # a near-duplicate
    carriers = ["mine" in item.metadata for item in framework.page(response)]
    assert carriers == [True, False, False, False]
    assert not any("recall" in item.metadata for item in framework.page(response))
    assert response.pool.ids == ["0", "1", "2", "3"]


def test_kinds_by_name_or_value(framework: Framework) -> None:
    for given in ("cosine", ScoreKind.COSINE):
        retriever = framework.over(score_kind=given)
        assert getattr(retriever, "settings", retriever).score_kind is ScoreKind.COSINE


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"k": 0}, "k: input should be greater than or equal to 1, got 0"),
    ({"k": True}, "k: input should be a valid integer, got True"),
    ({"k": "3"}, "k: input should be a valid integer, got str"),
    ({"k": 2.5}, "k: "),
    ({"pool_size": 0}, "pool_size: input should be greater than or equal to 1, got 0"),
    ({"pool_size": 3}, "pool_size=3 is below the page's k=4"),
    ({"pool_size": 3, "k": 5}, "pool_size=3 is below the page's k=5"),
    ({"score_kind": "cosin"}, "one of cosine, .*, got 'cosin'; did you mean cosine[?]"),
    ({"score_kind": "cosine-distance"}, "got str; did you mean cosine_distance[?]"),
    ({"skip_levels": ["high"]}, r"pass selector_options=SelectionOptions\(skip_levels=\.\.\.\)"),
    ({"score_kind": "sk-secret"}, "score_kind must be one of cosine, .*, got str$"),
    ({"annotate": "some"}, "annotate: input should be 'all', 'first' or 'none', got 'some'"),
    ({"metadata_key": ""}, "metadata_key: .*at least 1 character, got str"),
    ({"metadata_key": "score"}, "metadata_key 'score' has a meaning of its own"),
    ({"id_key": "recall"}, "id_key and metadata_key are both 'recall'"),
    ({"id_key": "doc", "metadata_key": "doc"}, "id_key and metadata_key are both 'doc'"),
    ({"thresholds": 0.5}, "thresholds must be a Thresholds or None, got float; .*from_dict"),
    ({"thresholds": {"prominence_high": "0.9"}}, "thresholds must be .*, got dict; .*from_dict"),
    ({"k": 0, "pool_size": "x"}, "k: .*; pool_size: "),
]


@pytest.mark.parametrize(("settings", "message"), WRONG)
def test_wrong_settings(framework: Framework, settings: dict[str, Any], message: str) -> None:
    make = partial(framework.around, list) if "k" in settings else framework.over
    with pytest.raises(ConfigurationError, match=message) as error:
        make(**settings)
    assert str(error.value).startswith("RecallRetriever: ")


@pytest.mark.parametrize("settings", [{}, {"k": 0}, {"score_kind": "x"}, {"thresholds": "x"}])
def test_no_message_holds_a_secret(framework: Framework, settings: dict[str, Any]) -> None:
    class Keyed:
        def __repr__(self) -> str:
            return "sk-secret"

    (name,) = framework.encoding({})[1]
    for encoder in (Keyed(), "sk-secret"):
        with pytest.raises(ConfigurationError) as error:
            framework.around(list, **{name: encoder, **settings})
        assert "sk-secret" not in f"{error.value!r} {error.value}"
        assert error.value.__cause__ is None


@pytest.mark.parametrize("error", [RuntimeError("theirs"), OSError(), KeyError("x")])
async def test_what_the_wrapped_retriever_raises_passes_as_it_is(
    framework: Framework, way: str, error: Exception
) -> None:
    def fail() -> list[str]:
        raise error

    with pytest.raises(type(error)) as raised:
        await framework.recall(framework.around(fail), way)
    assert raised.value is error


async def test_what_the_store_raises_passes_as_it_is(framework: Framework, way: str) -> None:
    failure = ConnectionError("gone")

    def fail(*_: Any) -> Any:
        raise failure

    retriever = framework.over()
    inner = retriever.retriever
    encoder = inner.vectorstore.embedding if framework.name == "langchain" else None
    (encoder or inner._embed_model.encoder).embed_query = fail
    with pytest.raises(ConnectionError) as raised:
        await framework.recall(retriever, way)
    assert raised.value is failure


async def test_cancelling_is_not_swallowed(framework: Framework) -> None:
    task = asyncio.create_task(framework.hanging().arecall(QUERY))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_an_interrupt_passes(framework: Framework) -> None:
    def interrupt() -> list[str]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        framework.around(interrupt).recall(QUERY)
