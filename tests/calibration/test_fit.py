"""A fit: what it asks, what it makes of the answers, and how it goes on after a failure."""

import asyncio
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from recall_signal import (
    Calibration,
    CalibrationError,
    ConfigurationError,
    InvalidInputError,
    Pool,
    assess,
)
from recall_signal.calibration import Probe, bundled_probes
from recall_signal.calibration._canaries import AGAIN, CANARIES
from recall_signal.calibration._scale import NULL_SLOPE, PAST_SLOPE, null_scale, past_scale
from tests.calibration.auto_toys import Port
from tests.calibration.toys import (
    DOCUMENTS,
    LABELLED,
    MANY_LABELLED,
    MODES,
    PAST,
    PROBES,
    Toy,
    cosines_of,
    fit,
    make_documents,
    timeless,
)

# What is asked


def test_a_bare_search_is_enough() -> None:
    toy = Toy()
    calibration = Calibration.fit(toy)
    assert (calibration.mode, calibration.status) == ("null", "ok")
    assert dict(calibration.counts)["pseudo-queries"] == 40  # one for each document
    assert len(toy.asked) == 120 + 40 + AGAIN
    assert calibration.corpus_size is None
    assert calibration.warnings == ()


def test_a_default_fit_takes_180_searches_and_repeats_six() -> None:
    toy = Toy(documents=make_documents(70))
    assert Calibration.fit(toy, documents=toy.documents).corpus_size == 70
    assert len(set(toy.asked)) == 180
    assert len(toy.asked) == 180 + AGAIN


def test_the_scale_is_made_of_the_tops() -> None:
    toy = Toy()
    calibration = fit(toy)
    probes = [max(cosines_of(toy(query))) for query in PROBES]
    pieces = toy.asked[30:70]
    beside = [sorted(cosines_of(toy(query)))[-2] for query in pieces]
    assert calibration.scale == null_scale(probes, beside)


@pytest.mark.parametrize(
    ("mode", "slope"), [("null", NULL_SLOPE), ("null+past", PAST_SLOPE), ("labelled", None)]
)
def test_modes(mode: str, slope: float | None) -> None:
    calibration = fit(Toy(), **MODES[mode])
    assert (calibration.mode, calibration.status) == (mode, "ok")
    assert slope in (calibration.platt.slope, None)
    assert calibration.venn_abers is None
    assert calibration.warnings == ()


def test_everything_at_once() -> None:
    calibration = fit(Toy(), past_queries=PAST, labelled=MANY_LABELLED, encoder="toy", prior=0.3)
    assert calibration.mode == "labelled"
    assert calibration.venn_abers is not None
    assert (calibration.encoder, calibration.prior) == ("toy", 0.3)
    assert calibration.counts == (
        ("probes", 30),
        ("pseudo-queries", 40),
        ("past queries", 40),
        ("labelled queries", 120),
    )
    assert [kind for kind, _ in calibration.quartiles] == [
        "probes",
        "pseudo_query",
        "self_retrieval",
        "past",
    ]
    assert len(calibration.answerable) == 60
    assert list(calibration.answerable) == sorted(calibration.answerable)


def test_generators_serve_as_well() -> None:
    lists: dict[str, Any] = {
        "documents": DOCUMENTS,
        "past_queries": PAST,
        "labelled": LABELLED,
        "probes": PROBES,
    }
    iterators = {name: iter(items) for name, items in lists.items()}
    assert timeless(Calibration.fit(Toy(), **iterators)) == timeless(
        Calibration.fit(Toy(), **lists)
    )


def test_own_probes_instead_and_in_addition() -> None:
    own: list[str | Probe] = [Probe("general own", "topic", "style", "en"), *PROBES]
    assert dict(Calibration.fit(Toy(), probes=own).counts)["probes"] == 31
    both = Calibration.fit(Toy(), probes=[*bundled_probes(), *PROBES])
    assert dict(both.counts)["probes"] == 270


@pytest.mark.parametrize("mode", MODES)
def test_the_seed_decides(mode: str) -> None:
    first, again, other = (
        timeless(Calibration.fit(Toy(), documents=make_documents(90), seed=seed, **MODES[mode]))
        for seed in (3, 3, 4)
    )
    assert first == again
    assert first.quartiles != other.quartiles
    assert dict(first.quartiles)["probes"] == dict(other.quartiles)["probes"]


def test_a_seed_of_numpy_is_the_same_seed() -> None:
    numpys: Any = np.int64(3)
    assert timeless(fit(Toy(), seed=numpys)) == timeless(fit(Toy(), seed=3))


def test_probes_that_come_twice_count_once() -> None:
    assert dict(fit(Toy(), probes=PROBES[:12] * 3).counts)["probes"] == 12


async def test_an_asynchronous_search_is_refused_where_nothing_awaits_it() -> None:
    async def search(_: str) -> list[float]:
        return [0.5]

    kept = fit(Toy())
    for each in (search, lambda query: asyncio.ensure_future(search(query))):
        with pytest.raises(ConfigurationError, match=r"await Calibration\.afit"):
            Calibration.fit(each)  # type: ignore[arg-type]
        with pytest.raises(ConfigurationError, match="acheck"):
            kept.check(each)


async def test_a_fit_through_a_port_has_the_name_of_its_encoder() -> None:
    port = Port()
    assert port.encoder_name is not None
    for fitted in (Calibration.fit(port), await Calibration.afit(port)):
        assert fitted.encoder == port.encoder_name
    assert Calibration.fit(port, encoder="given").encoder == "given"


def test_labels_of_any_type_of_bool() -> None:
    plain = fit(Toy(), labelled=LABELLED)
    for kind in (int, float, np.bool_):
        labelled = [[query, kind(label)] for query, label in LABELLED]
        assert timeless(fit(Toy(), labelled=labelled)) == timeless(plain)


# What is not asked


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"documents": "text"}, InvalidInputError, "documents must be a sequence, .* got str"),
        ({"documents": {"d1": "text"}}, InvalidInputError, "got dict"),
        ({"documents": 7}, InvalidInputError, "got int"),
        ({"documents": [7]}, InvalidInputError, "texts or"),
        ({"past_queries": "text"}, InvalidInputError, "past_queries must be a sequence"),
        ({"past_queries": [None]}, InvalidInputError, "past_queries must hold texts"),
        ({"probes": b"text"}, InvalidInputError, "probes must be a sequence"),
        ({"probes": ["x", 3]}, InvalidInputError, "probes must hold texts"),
        ({"probes": PROBES[:9]}, CalibrationError, "of the probes 9 can be used, and at least 10"),
        ({"labelled": "text"}, InvalidInputError, "labelled must be a sequence"),
        ({"labelled": ["ab"]}, InvalidInputError, "labelled must hold"),
        ({"labelled": [("q", "no")]}, InvalidInputError, "got a pair of str and str"),
        ({"labelled": [("q", None)]}, InvalidInputError, "labelled must hold"),
        ({"labelled": [("q", True, "group")]}, InvalidInputError, "got a tuple of 3"),
        ({"labelled": [("q",)]}, InvalidInputError, "labelled must hold"),
        ({"labelled": [(" ", True)]}, InvalidInputError, "a query of which nothing can be read"),
        ({"labelled": [(3, True)]}, InvalidInputError, "labelled must hold"),
        ({"labelled": [("q", np.array([1, 2]))]}, InvalidInputError, "a pair of str and ndarray"),
        ({"probes": ["a"] * 40}, CalibrationError, "of the probes 1 can"),
        ({"seed": "x"}, ConfigurationError, "seed must be a whole number, got str"),
        ({"seed": 1.5}, ConfigurationError, "got float"),
        ({"seed": True}, ConfigurationError, "got bool"),
        ({"rerank_scale": "bogus"}, ConfigurationError, "probability, unknown; got another text"),
        ({"rerank_scale": 3}, ConfigurationError, "got int"),
        ({"progress": 3}, ConfigurationError, "progress must be a function.* got int"),
        ({"encoder": 3}, ConfigurationError, "encoder must be a name"),
        ({"prior": 1.0}, ConfigurationError, "prior"),
        ({"prior": "x"}, ConfigurationError, "prior"),
        ({"labelled": LABELLED, "max_false_none": 2}, ConfigurationError, "between 0 and 1"),
        ({"resume": "fit.jsonl"}, TypeError, "unexpected keyword argument 'resume'"),
    ],
)  # fmt: skip
def test_a_wrong_argument_costs_no_search(
    given: dict[str, Any], error: type[Exception], message: str
) -> None:
    toy = Toy()
    with pytest.raises(error, match=message):
        Calibration.fit(toy, **given)
    assert toy.asked == []


# What a search may return


@pytest.mark.parametrize(
    "shape",
    [
        list,
        tuple,
        lambda cosines: np.array(cosines, dtype=np.float64),
        lambda cosines: Pool(np.array(cosines)),
        lambda cosines: [None, math.nan, math.inf, *cosines],
        lambda cosines: Pool(cosines, texts=["x y z"] * len(cosines)),
    ],
)
def test_shapes_of_answers(shape: Callable[[list[Any]], Any]) -> None:
    plain = fit(lambda query: list(Toy()(query).cosines), documents=[])
    assert fit(lambda query: shape(list(Toy()(query).cosines)), documents=[]).scale == plain.scale


@pytest.mark.parametrize(
    "answer",
    [None, 0.5, np.float64(0.5), "text", {0.5}, (c for c in [0.5]), ["0.5"], [[0.5]],
     np.eye(2), [b"1"], Pool(["x"])],  # type: ignore[list-item]
)  # fmt: skip
def test_other_answers_are_refused(answer: Any) -> None:
    with pytest.raises(InvalidInputError, match="search must return"):
        fit(lambda query: answer)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([], "the store is empty"),
        (Pool([]), "the store is empty"),
        ([None], "gives no cosines: .*`embeddings=`.*`embed_model=`.*`score_kind=`"),
        ([math.nan], "gives no cosines"),
        ([35.2, 12.0], r"of the probes 0 can.*returns cosines in \[-1, 1\]"),
        ([-3.0], "of the probes 0 can"),
    ],
)
def test_without_cosines_there_is_no_calibration(answer: Any, said: str) -> None:
    asked: list[str] = []

    def search(query: str) -> Any:
        asked.append(query)
        return answer

    with pytest.raises(CalibrationError, match=said):
        fit(search)
    assert asked == PROBES


def test_some_empty_pools_do_no_harm() -> None:
    toy = Toy()

    def search(query: str) -> Pool:
        return Pool([]) if Random(query).random() < 0.2 else toy(query)

    calibration = fit(search, past_queries=PAST, labelled=LABELLED)
    assert (calibration.mode, calibration.status) == ("labelled", "ok")
    assert all(
        0 < count < full
        for (_, count), full in zip(calibration.counts, (30, 40, 40, 50), strict=True)
    )


def test_bundled_probes_that_bring_nothing_back_do_no_harm() -> None:
    toy = Toy()
    calibration = Calibration.fit(lambda query: [] if len(query) % 7 == 0 else toy(query))
    assert calibration.status == "ok"
    assert 80 < dict(calibration.counts)["probes"] < 120


@pytest.mark.parametrize(
    ("search", "documents"),
    [
        (Toy(texts=False), DOCUMENTS),
        (Toy(ids=False), DOCUMENTS),
        (Toy(ids=False, texts=False), DOCUMENTS),
        (Toy(texts=False), [text for _, text in DOCUMENTS]),
        (Toy(texts=False, documents=[(int(id_[1:]), text) for id_, text in DOCUMENTS]),
         [(int(id_[1:]), text) for id_, text in DOCUMENTS]),
    ],
    ids=["ids", "texts", "neither", "ids of no use", "whole numbers"],
)  # fmt: skip
def test_the_own_document_of_a_piece_is_left_out(search: Toy, documents: Sequence[Any]) -> None:
    here = fit(search, documents=documents)
    assert here.scale == fit(Toy()).scale
    assert here.warnings == ()


def test_without_texts_or_documents_the_probes_stand_alone() -> None:
    calibration = Calibration.fit(Toy(texts=False), probes=PROBES)
    assert (calibration.status, calibration.overlap) == ("few_documents", 0.0)
    assert calibration.warnings == (
        "only 0 pieces of stored texts could be used, 5 are needed: left out",
    )


def test_texts_that_are_none_are_no_documents() -> None:
    def search(query: str) -> Pool:
        return Pool([0.3 + Random(query).random() / 10, 0.2], texts=["", None])

    assert dict(Calibration.fit(search).counts)["pseudo-queries"] == 0


@pytest.mark.parametrize("language", ["ru", "ko"])
def test_probes_are_asked_in_the_scripts_of_the_corpus(language: str) -> None:
    own = {probe.text for probe in bundled_probes() if probe.lang == language}
    other = {probe.text for probe in bundled_probes() if probe.lang == "en"}
    toy = Toy()
    calibration = Calibration.fit(toy, documents=sorted(own))
    assert len(own & set(toy.asked[:120])) == 12
    assert 20 < len(other & set(toy.asked)) < 40
    assert dict(calibration.counts)["probes"] == 12


@pytest.mark.parametrize("documents", [[], ["αβγδε ζηθικ"], ["1 2 3"]])
def test_a_script_without_probes_gets_all(documents: list[str]) -> None:
    assert dict(Calibration.fit(Toy(), documents=documents).counts)["probes"] == 120


# What is reported


def warnings(calibration: Calibration) -> str:
    return "\n".join(calibration.warnings)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "only 0 pieces"), (4, "only 4 pieces .* left out"), (5, "steadier"), (19, "steadier")],
)
def test_too_few_documents(count: int, text: str) -> None:
    documents = make_documents(count)
    toy = Toy(documents=[*documents, *make_documents(5, seed=1)])
    calibration = fit(toy, documents=documents)
    assert (calibration.status, calibration.decides) == ("few_documents", True)
    assert re.search(text, warnings(calibration))
    confidence = assess([0.9, 0.1], calibration=calibration)
    assert (confidence.level, confidence.basis) == ("high", "calibration")
    assert "(mode null, few documents)" in confidence.rationale


def test_twenty_documents_are_enough() -> None:
    documents = make_documents(20)
    calibration = fit(Toy(documents=documents), documents=documents)
    assert (calibration.status, calibration.warnings) == ("ok", ())


def test_labels_need_no_documents() -> None:
    calibration = fit(Toy(), documents=[], labelled=LABELLED)
    assert (calibration.mode, calibration.status) == ("labelled", "ok")


def test_near_duplicates() -> None:
    def search(query: str) -> list[float]:
        return [0.8, 0.8] if query not in PROBES else [0.3 + PROBES.index(query) / 500, 0.2]

    assert "near-duplicate" in warnings(fit(search))
    assert "near-duplicate" not in warnings(fit(Toy()))


def test_pieces_below_the_probes_are_no_near_duplicates() -> None:
    general = {probe: 0.5 + n / 60 for n, probe in enumerate(PROBES)}
    calibration = fit(
        lambda query: [general.get(query, 0.6), 0.599 if query not in general else 0.1]
    )
    assert calibration.scale.usable
    assert "near-duplicate" not in warnings(calibration)
    assert "score no higher" in warnings(calibration)


def test_probes_that_score_like_a_hit() -> None:
    def search(query: str) -> Any:
        return [0.95, 0.1] if query in PROBES[:3] else Toy()(query)

    calibration = fit(search)
    assert calibration.status == "ok"
    assert calibration.overlap == pytest.approx(0.1)
    assert "3 of 30 probes score like a typical piece of a stored text" in warnings(calibration)


def alike(query: str) -> list[float]:
    """No query scores higher than another but by chance, a labelled answerable one excepted."""
    top = 0.5 + Random(query).random() / 9
    return [top + 0.1 * dict(LABELLED).get(query, False), top - 0.001]


def test_anchors_that_do_not_separate() -> None:
    calibration = fit(alike)
    assert calibration.status == "no_valid_threshold"
    assert calibration.overlap > 0.3
    assert "pieces of stored texts score no higher" in warnings(calibration)


def random_encoder(size: int, salt: int = 0) -> Callable[[str], np.ndarray]:
    """Every text at random, but the same text always alike."""

    def embed(text: str) -> np.ndarray:
        seed = Random(f"{salt} {text}").randrange(2**32)
        vector = np.random.default_rng(seed).standard_normal(size)
        return vector / np.linalg.norm(vector)

    return embed


def searching(embed: Callable[[str], np.ndarray], texts: list[str]) -> Callable[[str], Pool]:
    vectors = np.array([embed(text) for text in texts])

    def search(query: str) -> Pool:
        cosines = vectors @ embed(query)
        best = np.argsort(-cosines)[:20]
        return Pool(cosines[best].tolist(), texts=[texts[place] for place in best])

    return search


SHORT_NOTES = [f"Note {n} says that {text[:7]} is in room {n}." for n, (_, text) in
               enumerate(DOCUMENTS)]  # fmt: skip


@pytest.mark.parametrize("size", [64, 256, 768])
@pytest.mark.parametrize("salt", range(3))
def test_a_random_encoder_finds_whole_notes_and_is_still_no_encoder(size: int, salt: int) -> None:
    search = searching(random_encoder(size, salt), SHORT_NOTES)
    calibration = Calibration.fit(search, documents=SHORT_NOTES)
    assert dict(calibration.quartiles)["self_retrieval"] == (1.0, 1.0, 1.0)
    assert calibration.status == "no_valid_threshold"
    assert "whole texts, which any encoder finds, and without" in warnings(calibration)
    half_the_scale = fit(
        lambda query: [0.2 + 0.5 * (cosine or 0.0) for cosine in search(query).cosines],
        documents=SHORT_NOTES,
    )
    assert half_the_scale.status == "no_valid_threshold"


@pytest.mark.parametrize(
    ("count", "said"), [(40, "checked on the other documents alone"), (4, "could not be checked")]
)
def test_whole_notes_of_an_encoder_that_tells_their_topic(count: int, said: str) -> None:
    toy = Toy(documents=DOCUMENTS[:count])

    def search(query: str) -> Pool:
        pool = toy(query)
        own = [query in (text or "") for text in pool.texts or ()]
        return replace(
            pool, cosines=[1.0 if o else c for c, o in zip(pool.cosines, own, strict=True)]
        )

    calibration = fit(search, documents=DOCUMENTS[:count])
    assert calibration.decides
    assert said in warnings(calibration)


def test_labels_whose_line_falls_are_left_out() -> None:
    """Most pairs are in the right order, but the few others lie far off."""
    tops = {f"no {n}": 0.99 if n < 3 else 0.40 for n in range(13)}
    tops |= {f"yes {n}": 0.45 for n in range(13)}
    calibration = fit(
        lambda query: [tops[query], 0.0] if query in tops else Toy()(query),
        labelled=[(query, query.startswith("yes")) for query in tops],
    )
    assert (calibration.mode, calibration.status) == ("null", "labels_do_not_separate")
    assert "no higher" in warnings(calibration)


def test_labels_can_separate_what_anchors_do_not() -> None:
    assert fit(alike, labelled=LABELLED).status == "ok"


def test_labels_make_a_scale_where_anchors_make_none() -> None:
    def search(query: str) -> list[float]:
        top, _ = alike(query)
        return [top, top if query in PROBES else 0.0]

    assert not fit(search).scale.usable
    calibration = fit(search, labelled=LABELLED)
    assert (calibration.mode, calibration.status) == ("labelled", "ok")
    assert assess([0.5, 0.1], calibration=calibration).level == "none"
    assert assess([0.7, 0.1], calibration=calibration).level == "high"


def test_an_encoder_that_tells_only_the_language() -> None:
    languages = {probe.text: probe.lang for probe in bundled_probes()}

    def search(query: str) -> list[float]:
        top = 0.7 if languages.get(query, "ko") == "ko" else 0.2
        top += Random(query).random() / 50
        return [top, top - 0.001]

    korean = sorted(text for text, lang in languages.items() if lang == "ko")
    calibration = Calibration.fit(search, documents=korean)
    assert calibration.status == "no_valid_threshold"
    assert "the corpus' own language" in warnings(calibration)


@pytest.mark.parametrize("noise", [0.0, 1e-9])
def test_one_score_for_everything(noise: float) -> None:
    calibration = fit(
        lambda query: [0.5 + noise * Random(query).random(), 0.1],
        past_queries=PAST,
        labelled=LABELLED,
    )
    assert (calibration.mode, calibration.status) == ("null", "no_valid_threshold")
    assert not calibration.decides
    assert "score all alike" in warnings(calibration)
    assert "labelled answerable queries score no higher" in warnings(calibration)


def test_past_queries() -> None:
    few = fit(Toy(), past_queries=PAST[:9])
    assert (few.mode, warnings(few)[:20]) == ("null", "only 9 past queries ")
    assert few.scale == fit(Toy()).scale
    assert fit(Toy(), past_queries=[]).mode == "null"

    def search(query: str) -> Any:
        return [0.0] if query in PAST else Toy()(query)

    low = fit(search, past_queries=PAST)
    assert (low.mode, low.status) == ("null", "ok")
    assert "past queries score far below general questions" in warnings(low)


def test_blank_past_queries_are_left_out() -> None:
    toy = Toy()
    blank = ["", "  ", "\n", "\u200b"] * 10
    of_none = fit(toy, past_queries=blank)
    assert (of_none.mode, of_none.scale) == ("null", fit(toy).scale)
    assert of_none.warnings == ("only 0 past queries could be used, 10 are needed: left out",)
    seen = fit(toy, past_queries=[*PAST, *blank])
    assert replace(seen, created="") == replace(fit(toy, past_queries=PAST), created="")


def test_past_queries_move_the_scale() -> None:
    toy = Toy()
    tops = [max(cosines_of(toy(query))) for query in PAST]
    assert fit(toy, past_queries=PAST).scale == past_scale(fit(toy).scale, tops)


def test_too_few_labels_of_a_kind_still_carry_a_bound() -> None:
    labelled = [pair for n, pair in enumerate(LABELLED) if pair[1] or n < 8]
    calibration = fit(Toy(), labelled=labelled, max_false_none=0.1)
    assert (calibration.mode, calibration.status) == ("null", "ok")
    assert "25 are answerable and 4 are not, and 5 of each are needed" in warnings(calibration)
    assert len(calibration.answerable) == 25


@pytest.mark.parametrize("labelled", [LABELLED, MANY_LABELLED])
@pytest.mark.parametrize(("mode", "given"), [("null", {}), ("null+past", {"past_queries": PAST})])
def test_labels_that_contradict_the_scores_leave_what_was_learnt_without_them(
    labelled: list[tuple[str, bool]], mode: str, given: dict[str, Any]
) -> None:
    turned = [(query, not label) for query, label in labelled]
    calibration, without = fit(Toy(), labelled=turned, **given), fit(Toy(), **given)
    assert (calibration.mode, calibration.status) == (mode, "labels_do_not_separate")
    assert "score no higher than the others" in warnings(calibration)
    for top in (0.3, 0.42, 0.5, 0.6, 0.8):
        here, there = (assess([top, 0.1], calibration=c) for c in (calibration, without))
        assert (here.level, here.probability) == (there.level, there.probability)
        assert here.basis == "calibration"
    assert calibration.with_risk(0.1).max_false_none == 0.1


# Twenty pieces against 150


@pytest.mark.parametrize("seed", range(5))
def test_twenty_documents_are_nearly_as_good_as_many(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recall_signal.calibration._fit.PSEUDO_QUERIES", 150)
    many = make_documents(150, seed)
    toy = Toy(documents=many)
    all_of_them, twenty = (fit(toy, documents=some) for some in (many, many[:20]))
    assert abs(all_of_them.scale.cut - twenty.scale.cut) < 0.1 * all_of_them.scale.unit


# Progress, errors, going on


@pytest.mark.parametrize("given", [{}, {"documents": []}, {"probes": PROBES, "past_queries": PAST}])
def test_progress_ends_at_its_total(given: dict[str, Any]) -> None:
    seen: list[tuple[int, int]] = []
    toy = Toy()
    Calibration.fit(toy, progress=lambda done, total: seen.append((done, total)), **given)
    canaries = CANARIES + AGAIN if "probes" in given else AGAIN  # asked after the fit
    assert sorted({done for done, _ in seen} | {0}) == list(range(len(toy.asked) - canaries + 1))
    assert all(done <= total for done, total in seen)
    assert seen[-1][0] == seen[-1][1]


def test_an_error_of_the_search_passes_unchanged() -> None:
    with pytest.raises(ConnectionError, match="the store is away"):
        fit(Toy(fails_at=40))


@pytest.mark.parametrize("fails_at", [0, 1, 29, 30, 45, 69, 75, 155])
@pytest.mark.parametrize("asynchronous", [False, True])
async def test_an_error_now_and_then_is_skipped_and_counted(
    fails_at: int, asynchronous: bool
) -> None:
    given: dict[str, Any] = {
        "documents": DOCUMENTS,
        "probes": PROBES,
        "past_queries": PAST,
        "labelled": LABELLED,
    }
    toy, searches = Toy(), iter(range(1000))

    def search(query: str) -> Pool:
        if next(searches) == fails_at:
            raise ConnectionError("the store is away")
        return toy(query)

    async def asearch(query: str) -> Pool:
        return search(query)

    calibration = await Calibration.afit(asearch, **given) if asynchronous else fit(search, **given)
    assert calibration.status == "ok"
    assert calibration.warnings == ("1 of 160 searches failed and were left out",)
    assert sum(count for _, count in calibration.counts) == 159
    assert len(toy.asked) == 159 + CANARIES + AGAIN


def test_more_than_a_fifth_of_failures_ends_the_fit() -> None:
    toy, failed = Toy(), []

    def search(query: str) -> Pool:
        if Random(query).random() < 0.5:
            failed.append(query)
            raise TimeoutError("too slow")
        return toy(query)

    with pytest.raises(TimeoutError):
        fit(search)
    assert len(failed) == 15  # of 30 probes and 40 pieces


def test_a_store_that_is_down_is_asked_three_times() -> None:
    toy = Toy(fails_at=0)
    asked: list[str] = []

    def search(query: str) -> Pool:
        asked.append(query)
        return toy(query)

    with pytest.raises(ConnectionError):
        fit(search)
    assert asked == PROBES[:3]


def test_a_query_that_comes_twice_is_asked_once() -> None:
    toy = Toy()
    fit(toy, past_queries=PAST * 2, labelled=[(query, True) for query in PAST])
    assert len(toy.asked) == 70 + 40 + CANARIES + AGAIN


def test_a_piece_that_is_a_query_too_is_asked_as_both() -> None:
    documents = [(id_, text[:30]) for id_, text in DOCUMENTS[:10]]
    toy = Toy(documents)
    calibration = fit(toy, documents=documents, probes=[*PROBES, *(text for _, text in documents)])
    assert dict(calibration.counts)["pseudo-queries"] == 10
    assert len(toy.asked) == 30 + 10 + 10 + CANARIES + AGAIN


def test_no_text_is_kept(tmp_path: Path) -> None:
    saved, toy = tmp_path / "calibration.json", Toy()
    fit(toy, past_queries=PAST, labelled=LABELLED).save(saved)
    kept = saved.read_text()
    words = {word for text in [*toy.asked, *dict(DOCUMENTS).values()] for word in text.split()}
    long = {word for word in words if len(word) > 4} - {"question"}
    assert {word for word in long if word in kept} == set()
    assert not any(query in kept for query in toy.asked)


async def test_an_asynchronous_search_gives_the_same() -> None:
    toy = Toy()

    async def search(query: str) -> Pool:
        return toy(query)

    given: dict[str, Any] = {"documents": DOCUMENTS, "probes": PROBES, "labelled": LABELLED}
    assert timeless(await Calibration.afit(search, **given)) == timeless(fit(Toy(), **given))


async def test_errors_of_an_asynchronous_search_pass_unchanged() -> None:
    toy = Toy(fails_at=3)

    async def search(query: str) -> Pool:
        return toy(query)

    with pytest.raises(ConnectionError):
        await Calibration.afit(search)


def test_a_fit_is_dated() -> None:
    assert fit(Toy()).created.endswith("+00:00")
    assert replace(fit(Toy()), created="").created == ""


def test_an_error_of_our_own_is_no_failed_search() -> None:
    def search(query: str) -> Pool:
        raise ConfigurationError("a wrong setting")

    with pytest.raises(ConfigurationError, match="a wrong setting"):
        fit(search)
