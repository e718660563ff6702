"""Settings that both wrappers share."""

from typing import Any

import numpy as np
import pytest

from recall_signal import Baseline, Calibration, ConfigurationError, ScoreKind, Thresholds
from recall_signal._flow.values import has_settled_page, item_id
from recall_signal._steps.timeouts import CallLimits
from recall_signal._wrapper.batches import has_certain_order
from recall_signal._wrapper.model_calls import Model, missing_model
from recall_signal._wrapper.settings import RetrieverSettings, SignalSettings
from recall_signal.errors import CalibrationError
from recall_signal.reranking import RerankerOptions, Reranking
from recall_signal.selection import SelectionOptions


def flow_settings(settings: SignalSettings, encodes: bool = False) -> Any:
    return settings.flow_settings(
        id_of=str, text_of=str, read_text_of=str, content_of=str, encodes=encodes, embed_limit=5
    )


def calibration() -> Calibration:
    return Calibration.fit(lambda query: [len(query) % 50 / 50, 0.0], encoder="a")


class Unprintable:
    """A value that cannot be written down."""

    def __str__(self) -> str:
        raise RuntimeError("no name")


def test_an_id_comes_from_the_metadata_where_it_has_one() -> None:
    assert item_id({"key": 7}, "key", "own") == "7"
    assert item_id({}, "key", "own") == "own"
    assert item_id({"key": 7}, None, "own") == "own"


def test_an_id_that_cannot_be_written_down_is_none() -> None:
    assert item_id({"key": Unprintable()}, "key", "own") == "own"


def test_both_what_belongs_to_an_encoder_and_what_does_not_are_checked() -> None:
    bound, free = Thresholds(encoder="a"), Thresholds()
    SignalSettings(thresholds=bound).check_encoder("a")
    SignalSettings(thresholds=bound).check_encoder(None)
    SignalSettings(thresholds=free).check_encoder("b")
    with pytest.raises(ConfigurationError, match="'a' and cannot be used with 'b'"):
        SignalSettings(thresholds=bound).check_encoder("b")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"k": 0}, "k: input should be greater than or equal to 1, got 0"),
    ({"pool_size": "a secret"}, "pool_size: input should be a valid integer, got str"),
    ({"colour": 1}, "colour: there is no such setting$"),
    ({"pool_sise": 1}, "there is no such setting; did you mean pool_size?"),
    ({"top_k": 1}, "top_k: there is no such setting; did you mean k?"),
    ({"similarity_top_k": 1}, "there is no such setting; did you mean k?"),
    ({"score_kind": "cosin"}, "cosin"),
    ({"thresholds": {"prominence_high": True}}, "thresholds must be a Thresholds or None, got"),
    ({"calibration": {"mode": "null"}}, 'calibration must be "auto", an .* got dict'),
    ({"metadata_key": "score"}, "metadata_key 'score' has a meaning of its own"),
    ({"score_key": "s"}, "score_key='s' needs score_kind=, .* got 'auto'"),
    ({"score_key": "", "score_kind": "cosine"}, "score_key: .*at least 1 character"),
    ({"score_key": 3, "score_kind": "cosine"}, "score_key: .*a valid string, got int"),
    ({"use_rerank": "yes"}, "use_rerank: input should be a valid boolean, got str"),
    ({"reorder": 0}, "reorder: input should be a valid boolean, got 0"),
    ({"k": -(10**400)}, "k: input should be greater than or equal to 1, got int"),
    (
        {"score_key": "recall", "score_kind": "cosine"},
        "score_key and metadata_key are both 'recall'",
    ),
    ({"id_key": "recall"}, "id_key and metadata_key are both 'recall'"),
    ({"id_key": "a", "metadata_key": "a"}, "id_key and metadata_key are both 'a'"),
]


@pytest.mark.parametrize(("given", "said"), WRONG)
def test_a_wrong_setting_is_named_and_no_text_is_shown(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        RetrieverSettings(**given)
    assert str(caught.value).startswith("RetrieverSettings: ")
    assert str(caught.value).count("RetrieverSettings: ") == 1
    assert "a secret" not in str(caught.value)


@pytest.mark.parametrize(("given", "said"), WRONG)
def test_so_is_that_of_a_copy(given: dict[str, Any], said: str) -> None:
    settings = RetrieverSettings()
    with pytest.raises(ConfigurationError, match=f"^RetrieverSettings: .*{said}"):
        settings.model_copy(update=given)
    assert settings == RetrieverSettings()


def test_a_copy_has_settings_as_a_new_one_has_them() -> None:
    baseline, cuts = Baseline(), Thresholds(prominence_high=0.5)
    settings = RetrieverSettings(k=3, baseline=baseline)
    changed: dict[str, Any] = {"score_kind": "cosine", "thresholds": cuts, "score_key": "s"}
    copied = settings.model_copy(update=changed)
    assert copied == RetrieverSettings(k=3, baseline=baseline, **changed)
    assert copied.score_kind is ScoreKind.COSINE
    assert (copied.baseline, copied.thresholds) == (baseline, cuts)
    assert settings.model_copy().model_fields_set == {"k", "baseline"}
    with pytest.raises(ConfigurationError, match='no use beside calibration="auto"'):
        settings.model_copy(update={"calibration": "auto"})


@pytest.mark.parametrize("key", ["score", "ids", "numbers"])
def test_a_copy_has_keys_that_fit_each_other(key: str) -> None:
    settings = RetrieverSettings(id_key="ids", score_key="numbers", score_kind="cosine")
    assert settings.model_copy(update={"metadata_key": "other"}).metadata_key == "other"
    with pytest.raises(ConfigurationError, match="metadata_key"):
        settings.model_copy(update={"metadata_key": key})


def test_numbers_of_numpy_are_made_built_in() -> None:
    given: dict[str, Any] = {"k": np.int64(3), "pool_size": np.int32(9)}
    settings = RetrieverSettings(**given)
    assert (type(settings.k), type(settings.pool_size)) == (int, int)
    assert settings == RetrieverSettings(k=3, pool_size=9)


def test_what_is_missing_is_named() -> None:
    class Needing(SignalSettings):
        retriever: str

    with pytest.raises(ConfigurationError, match="Needing: retriever is required"):
        Needing()  # type: ignore[call-arg]


def test_a_pool_below_the_page_is_refused_only_where_it_was_chosen() -> None:
    RetrieverSettings().check_page(60)
    RetrieverSettings(pool_size=5).check_page(None)
    with pytest.raises(ConfigurationError, match="pool_size=4 is below the page's k=5"):
        RetrieverSettings(pool_size=4).check_page(5)


def test_a_declared_kind_is_known_by_its_name() -> None:
    assert SignalSettings(score_kind="cosine").declared_kind is ScoreKind.COSINE
    assert SignalSettings().declared_kind is None


def test_a_calibration_decides_and_a_baseline_beside_it_listens() -> None:
    fitted, baseline = calibration(), Baseline()

    def in_force(**given: Any) -> Any:
        return flow_settings(SignalSettings(**given)).calibration.current()

    assert in_force() is None
    assert in_force(calibration=fitted) is fitted
    assert in_force(baseline=baseline) is baseline
    both = in_force(calibration=fitted, baseline=baseline)
    assert (both.calibration, both.baseline) == (fitted, baseline)
    with pytest.raises(CalibrationError, match="fitted with the encoder 'a'"):
        SignalSettings(calibration=fitted).check_encoder("b")


def test_what_attaches_a_signal_alone_neither_reranks_nor_selects() -> None:
    made = flow_settings(SignalSettings())
    assert (made.reranking, made.selection, made.cache) == (None, None, None)
    assert flow_settings(SignalSettings(), encodes=True).cache is not None


def test_a_reranker_is_used_where_that_is_asked_for() -> None:
    options = RerankerOptions(len)
    unused = RetrieverSettings(reranker=options)
    assert flow_settings(unused).reranking is None
    assert unused.reranking == Reranking(options), "a call may ask for it"
    assert RetrieverSettings().reranking is None
    plain = RetrieverSettings(reranker=options, use_rerank=True, reorder=False).reranking
    assert plain == Reranking(options, reorder=False)
    beside = RetrieverSettings(reranker=options, use_rerank=True, calibration=calibration())
    assert beside.reranking == Reranking(options, reorder=True, learned=None, prior=0.5)
    with pytest.raises(ConfigurationError, match="use_rerank=True needs a reranker, got None"):
        RetrieverSettings(use_rerank=True).check_rerank()


def test_a_timeout_of_its_own_goes_before_that_of_the_selectors_options() -> None:
    options = SelectionOptions(timeout=9.0)
    assert flow_settings(RetrieverSettings(selector_options=options)).selection is None
    assert flow_settings(RetrieverSettings(selector=len)).selection == SelectionOptions()
    assert (
        flow_settings(RetrieverSettings(selector=len, selector_options=options)).selection
        == options
    )
    own = RetrieverSettings(selector=len, selector_options=options, selector_timeout=2.0)
    assert flow_settings(own).selection.timeout == 2.0


@pytest.mark.parametrize(
    ("scores", "size", "settled"),
    [
        ([0.9, 0.5, 0.1], 2, True),
        ([0.1, 0.5, 0.9], 2, True),
        ([0.9, 0.5, 0.5], 2, False),
        ([0.9, 0.9, 0.1], 2, False),
        ([0.9, 0.5, 0.1, 0.1], 2, True),
        ([0.5, 0.5], 2, True),
        ([0.5, 0.5, 0.5], None, True),
        ([0.9, None, 0.1], 2, False),
        ([0.9, float("nan"), 0.1], 2, False),
    ],
)
def test_a_page_is_settled_where_no_scores_tie(scores: Any, size: Any, settled: bool) -> None:
    assert has_settled_page(scores, size) is settled


@pytest.mark.parametrize(
    ("scores", "size", "certain"),
    [
        ([0.9, 0.5, 0.1], 2, True),
        ([0.1, 0.5, 0.9], 2, True),
        ([0.9, 0.5, 0.5 - 1e-7], 2, False),
        ([0.9, 0.5, 0.1, 0.1], 2, True),
        ([0.5, 0.5], None, False),
        ([0.1, 0.1 + 1e-7], 2, False),
        ([0.1, 0.1 + 4e-6], 2, True),
        ([200.0, 100.0 + 1e-4, 100.0], 2, False),
        ([0.9, None, 0.1], 2, False),
        ([0.9, float("nan"), 0.1], 2, False),
        ([None], 1, True),
        ([], 2, True),
    ],
)
def test_an_order_is_certain_where_no_scores_are_near_each_other(
    scores: Any, size: Any, certain: bool
) -> None:
    assert has_certain_order(scores, size) is certain


def test_a_model_that_is_not_there_says_so() -> None:
    selector: Model[object, None, object] = missing_model("selector")
    with pytest.raises(ConfigurationError, match="this wrapper has no selector"):
        selector.within(CallLimits(), None, object(), None)
