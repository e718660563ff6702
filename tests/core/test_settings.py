"""Settings that both wrappers share."""

from typing import Any

import pytest

from recall_signal import Baseline, Calibration, ConfigurationError, ScoreKind, Thresholds
from recall_signal.errors import CalibrationError
from recall_signal.items import id_in
from recall_signal.reranking import RerankerOptions, Reranking
from recall_signal.selection import SelectionOptions
from recall_signal.settings import SignalFields, WrapperFields


def flow_settings(settings: SignalFields, encodes: bool = False) -> Any:
    return settings.flow_settings(
        id_of=str, text_of=str, read_text_of=str, encodes=encodes, embed_limit=5
    )


def calibration() -> Calibration:
    return Calibration.fit(lambda query: [len(query) % 50 / 50, 0.0], encoder="a")


class Unprintable:
    """A value that cannot be written down."""

    def __str__(self) -> str:
        raise RuntimeError("no name")


def test_an_id_comes_from_the_metadata_where_it_has_one() -> None:
    assert id_in({"key": 7}, "key", "own") == "7"
    assert id_in({}, "key", "own") == "own"
    assert id_in({"key": 7}, None, "own") == "own"


def test_an_id_that_cannot_be_written_down_is_none() -> None:
    assert id_in({"key": Unprintable()}, "key", "own") == "own"


def test_both_what_belongs_to_an_encoder_and_what_does_not_are_checked() -> None:
    bound, free = Thresholds(encoder="a"), Thresholds()
    SignalFields(thresholds=bound).check_encoder("a")
    SignalFields(thresholds=bound).check_encoder(None)
    SignalFields(thresholds=free).check_encoder("b")
    with pytest.raises(ConfigurationError, match="'a' and cannot be used with 'b'"):
        SignalFields(thresholds=bound).check_encoder("b")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"k": 0}, "k: input should be greater than or equal to 1, got 0"),
        ({"pool_size": "a secret"}, "pool_size: input should be a valid integer, got str"),
        ({"colour": 1}, "colour: there is no such setting"),
        ({"score_kind": "cosin"}, "cosin"),
        ({"calibration": {"mode": "null"}}, "calibration must come from Calibration.fit"),
        ({"metadata_key": "score"}, "metadata_key 'score' has a meaning of its own"),
    ],
)
def test_a_wrong_setting_is_named_and_no_text_is_shown(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        WrapperFields(**given)
    assert str(caught.value).startswith("WrapperFields: ")
    assert "a secret" not in str(caught.value)


def test_what_is_missing_is_named() -> None:
    class Needing(SignalFields):
        retriever: str

    with pytest.raises(ConfigurationError, match="Needing: retriever is required"):
        Needing()


def test_a_pool_below_the_page_is_refused_only_where_it_was_chosen() -> None:
    WrapperFields().check_page(60)
    WrapperFields(pool_size=5).check_page(None)
    with pytest.raises(ConfigurationError, match="pool_size=4 is below the page's k=5"):
        WrapperFields(pool_size=4).check_page(5)


def test_a_declared_kind_is_known_by_its_name() -> None:
    assert SignalFields(score_kind="cosine").declared_kind is ScoreKind.COSINE
    assert SignalFields().declared_kind is None


def test_a_calibration_decides_and_a_baseline_beside_it_listens() -> None:
    fitted, baseline = calibration(), Baseline()
    assert flow_settings(SignalFields()).calibration is None
    assert flow_settings(SignalFields(calibration=fitted)).calibration is fitted
    assert flow_settings(SignalFields(baseline=baseline)).calibration is baseline
    both = flow_settings(SignalFields(calibration=fitted, baseline=baseline)).calibration
    assert (both.calibration, both.baseline) == (fitted, baseline)
    with pytest.raises(CalibrationError, match="fitted with the encoder 'a'"):
        SignalFields(calibration=fitted).check_encoder("b")


def test_what_attaches_a_signal_alone_neither_reranks_nor_selects() -> None:
    made = flow_settings(SignalFields())
    assert (made.reranking, made.selection, made.cache) == (None, None, None)
    assert flow_settings(SignalFields(), encodes=True).cache is not None


def test_a_reranker_is_used_where_that_is_asked_for() -> None:
    options = RerankerOptions(len)
    assert WrapperFields(reranker=options).reranking is None
    plain = WrapperFields(reranker=options, use_rerank=True, reorder=False).reranking
    assert plain == Reranking(options, reorder=False)
    beside = WrapperFields(reranker=options, use_rerank=True, calibration=calibration())
    assert beside.reranking == Reranking(options, reorder=True, learnt=None, prior=0.5)
    with pytest.raises(ConfigurationError, match="use_rerank=True needs a reranker, got None"):
        assert WrapperFields(use_rerank=True).reranking


def test_a_timeout_of_its_own_goes_before_that_of_the_selectors_options() -> None:
    options = SelectionOptions(timeout=9.0)
    assert flow_settings(WrapperFields(selector_options=options)).selection is None
    assert flow_settings(WrapperFields(selector=len)).selection == SelectionOptions()
    assert flow_settings(WrapperFields(selector=len, selector_options=options)).selection == options
    own = WrapperFields(selector=len, selector_options=options, selector_timeout=2.0)
    assert flow_settings(own).selection.timeout == 2.0
