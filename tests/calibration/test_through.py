"""A wrapper calibrates through its own search, bare of everything that judges or selects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import pytest

from recall_signal import Calibration, ConfigurationError, Pool
from recall_signal._flow.values import FlowSettings
from recall_signal._steps.timeouts import CallLimits
from recall_signal._wrapper.calibration import CalibrationMixin
from recall_signal._wrapper.runtime import Runtime
from recall_signal.reranking import RerankerOptions, Reranking
from tests.calibration.toys import Toy


@dataclass
class Port:
    """The bare search of a wrapper."""

    toy: Toy
    encoder_name: str | None
    is_async_only: bool = False
    only_on_request: bool = False

    def search(self, query: str, _ahead: Sequence[str] = (), /) -> Pool:
        return self.toy(query)

    async def asearch(self, query: str, _ahead: Sequence[str] = (), /) -> Pool:
        return self.toy(query)

    def embed_texts(self, texts: Sequence[str]) -> None:
        """No encoder is reached."""

    async def aembed_texts(self, texts: Sequence[str]) -> None:
        """No encoder is reached."""


@dataclass
class Wrapper(CalibrationMixin):
    """As much of a wrapper as it takes."""

    toy: Toy = field(default_factory=Toy)
    scale: Any = None
    changed: list[dict[str, Any]] = field(default_factory=list)
    encoder: str | None = "toy"
    ports: list[bool] = field(default_factory=list)
    _watcher: None = None

    def __post_init__(self) -> None:
        options = None if self.scale is None else RerankerOptions(len, scale=self.scale)
        reranking = None if options is None else Reranking(options)
        settings = FlowSettings(
            id_of=str, text_of=str, read_text_of=str, content_of=str, reranking=reranking
        )
        self._runtime: Runtime[Any] = Runtime(
            values=(),
            store=None,
            encoder="toy",
            identity=("toy", None),
            flow=settings,
            reranking=reranking,
            selection=None,
            limits=CallLimits(),
        )

    def _port(self, *, reranked: bool) -> Port:
        self.ports.append(reranked)
        return Port(self.toy, self.encoder)

    def _replace(self, **changed: Any) -> Self:
        self.changed.append(changed)
        return replace(self)


def undated(calibration: Calibration) -> Calibration:
    return replace(calibration, created="")


async def test_both_ways_learn_the_same_without_an_argument() -> None:
    wrapper = Wrapper()
    fitted = wrapper.calibrate()
    assert undated(await wrapper.acalibrate()) == undated(fitted)
    assert (fitted.mode, fitted.encoder, fitted.decides) == ("null", "toy", True)
    assert wrapper.ports == [True, True]


def test_queries_are_named_ahead_once_each() -> None:
    """By the first search of every sixty, also where the first query was asked before."""
    named: list[list[str]] = []

    class Naming(Port):
        def search(self, query: str, ahead: Sequence[str] = (), /) -> Pool:
            if ahead:
                assert ahead[0] == query
                named.append([*ahead])
            return super().search(query)

    past = [f"past {number}" for number in range(70)]
    labels = [(query, True) for query in [past[0], *(f"label {n}" for n in range(10))]]
    Calibration.fit(Naming(Toy(), "toy"), past_queries=past, labelled=labels)
    assert [len(part) for part in named][-3:] == [60, 10, 10]
    assert named[-1] == [f"label {n}" for n in range(10)]
    every = [query for part in named for query in part]
    assert len(every) == len(set(every))


def test_what_is_given_is_used() -> None:
    fitted = Wrapper().calibrate(encoder="another", seed=3, prior=0.8)
    assert (fitted.encoder, fitted.prior) == ("another", 0.8)


@pytest.mark.parametrize("scale", [None, "logit"])
def test_the_rerankers_scale_is_known_to_the_fit(
    scale: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[dict[str, Any]] = []
    fit = Calibration.fit

    def noted(port: Any, **rest: Any) -> Calibration:
        given.append(rest)
        return fit(port)

    monkeypatch.setattr(Calibration, "fit", noted)
    Wrapper(scale=scale).calibrate()
    assert given == [{"encoder": "toy", **({} if scale is None else {"rerank_scale": scale})}]


def test_with_calibration_is_another_wrapper() -> None:
    wrapper, fitted = Wrapper(), Wrapper().calibrate()
    assert wrapper.with_calibration(fitted) is not wrapper
    assert wrapper.changed == [{"calibration": fitted}]


def test_a_path_is_no_calibration() -> None:
    wrapper = Wrapper()
    with pytest.raises(ConfigurationError, match=r"got str; .*Calibration\.load\(path\)"):
        wrapper.with_calibration("notes.json")  # type: ignore[arg-type]
    assert wrapper.with_calibration(None) is not wrapper
    assert wrapper.changed == [{"calibration": None}]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nope\.json"):
        Calibration.load(tmp_path / "nope.json")


async def test_a_fit_has_the_name_of_the_encoder_whose_cosines_came_back() -> None:
    """What the wrapper's own encoder embeds again has its scale, not that of the store's."""
    wrapper = Wrapper(encoder="another")
    assert wrapper.calibrate().encoder == (await wrapper.acalibrate()).encoder == "another"
    assert wrapper.calibrate(encoder="given").encoder == "given"


class Unreached(Port):
    """Searches, but its encoder cannot be reached for texts of one's own."""

    def embed_texts(self, texts: Sequence[str]) -> None:
        raise OSError

    async def aembed_texts(self, texts: Sequence[str]) -> None:
        raise OSError


async def test_an_encoder_that_cannot_be_reached_leaves_the_canaries() -> None:
    class Silent(Wrapper):
        def _port(self, *, reranked: bool) -> Port:
            return Unreached(self.toy, self.encoder)

    for fitted in (Silent().calibrate(), await Silent().acalibrate()):
        assert fitted.decides
        assert fitted.canaries is not None
        assert fitted.canaries.fingerprint is None
