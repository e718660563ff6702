"""A calibration on two witnesses: the top cosine and the words of the candidates."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_signal import (
    Baseline,
    Calibration,
    CalibrationError,
    ConfigurationError,
    InvalidInputError,
    Pool,
    assess,
)
from recall_signal.calibration._baseline import CalibrationWithBaseline
from recall_signal.calibration._corpus_size import estimate_size
from recall_signal.calibration._lines import MIN_TRAFFIC
from recall_signal.calibration._word_scale import (
    WitnessPair,
    WordLine,
    WordScale,
    label_line,
    null_word_scale,
    past_cut,
    traffic_cut,
)
from tests.calibration.toys import PROBES, UNHURRIED, WORDS, calibration, cosines_of, timeless

THINGS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haven", "inlet", "jetty"]


def sentence(random: Random, things: list[str]) -> str:
    one, two, three = things
    return f"The {one} is kept with the {two} and the {three} in hall {random.random():.3f}."


def corpus(count: int = 60) -> list[tuple[str, str]]:
    random = Random(5)
    rows = []
    for n in range(count):
        things = [f"{thing}{n}s" for thing in random.sample(THINGS, 3)]
        rows.append((f"d{n}", f"{sentence(random, things)} {sentence(random, things)}"))
    return rows


DOCUMENTS = corpus()


class Texts:
    """A search whose cosines hardly separate, over texts that share their words with questions."""

    def __init__(self, a: float = 0.0, b: float = 1.0, size: int = 20, query: bool = True) -> None:
        self.a, self.b, self.size, self.query = a, b, size, query
        self.asked: list[str] = []

    def __call__(self, query: str) -> Pool:
        self.asked.append(query)
        random = Random(query)
        names = [word for word in query.split() if not word.isalpha()]
        holds = [sum(name in text for name in names) for _, text in DOCUMENTS]
        best = max(range(len(DOCUMENTS)), key=lambda at: (holds[at], random.random()))
        top = random.gauss(0.30 + 0.05 * min(holds[best], 3), 0.05)
        order = [best, *(at for at in range(len(DOCUMENTS)) if at != best)][: self.size]
        cosines = [max(top - 0.004 * n, -1.0) for n in range(len(order))]
        return Pool(
            [self.a + self.b * cosine for cosine in cosines],
            ids=[DOCUMENTS[at][0] for at in order],
            texts=[DOCUMENTS[at][1] for at in order],
            query=query if self.query else None,
        )


def ask(n: int, present: bool) -> str:
    _, text = DOCUMENTS[n % len(DOCUMENTS)]
    words = text.split() if present else ["x", f"quartz{n}", "x", "x", "x", "x", f"onyx{n}"]
    return f"where is the {words[1]} and what is the {words[6]} in the hall"


PAST = [ask(n, n % 2 > 0) for n in range(40)]
LABELLED = [(ask(n, n % 2 > 0), n % 2 > 0) for n in range(50)]
MODES: dict[str, dict[str, Any]] = {
    "null": {},
    "null+past": {"past_queries": PAST},
    "labelled": {"labelled": LABELLED},
}


def fit(search: Any = None, **given: Any) -> Calibration:
    return Calibration.fit(search or Texts(), documents=DOCUMENTS, probes=PROBES, **given)


FITTED = {mode: fit(**given) for mode, given in MODES.items()}


@pytest.mark.parametrize("mode", MODES)
def test_words_tell_what_the_cosine_does_not(mode: str) -> None:
    fitted = FITTED[mode]
    assert (fitted.mode, fitted.decides, fitted.reads_words) == (mode, True, True)
    search = Texts()
    right: list[bool] = []
    alone: list[bool] = []
    for n in range(100, 160):
        pool = search(ask(n, n % 2 > 0))
        for found, judged in ((right, pool), (alone, replace(pool, query=None))):
            level = assess(judged, calibration=fitted).level
            found.append((level in ("moderate", "high")) == (n % 2 > 0))
    assert sum(right) >= 55
    assert sum(right) >= sum(alone)


@pytest.mark.parametrize("mode", MODES)
def test_the_rationale_says_what_was_used(mode: str) -> None:
    fitted, pool = FITTED[mode], Texts()(ask(1, True))
    both = assess(pool, calibration=fitted)
    assert both.term_coverage == 1.0
    cut = fitted.cut_at(1.0)
    assert (
        f"and term coverage 1.00 against a cut of {cut:.2f} at that coverage learned by"
        in both.rationale
    )
    for other in (replace(pool, query=None), replace(pool, texts=None), list(pool.cosines)):
        alone = assess(other, calibration=fitted)
        assert alone.term_coverage is None
        assert f" alone against a cut of {fitted.cut_at():.2f} learned by" in alone.rationale
        assert alone == assess(list(pool.cosines), calibration=replace(fitted)).model_copy()
    assert f"with words: cut {fitted.cut_at(0.0):.3f} at term coverage 0" in str(fitted)


@pytest.mark.parametrize("prior", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("coverage", [0.0, 0.3, 1.0])
def test_the_cut_at_a_coverage_has_an_even_probability(prior: float, coverage: float) -> None:
    made = calibration(words=WORDS, prior=prior)
    cut = made.cut_at(coverage)
    assert cut is not None
    for shift, level in ((-1e-6, "low"), (1e-6, "moderate")):
        signal = assess([cut + shift, 0.1], calibration=made, term_coverage=coverage)
        assert (signal.level, signal.probability) == (level, 0.5)


def test_a_given_coverage_stands_for_the_words() -> None:
    made = calibration(words=WORDS)
    levels = [
        assess([0.5, 0.1], calibration=made, term_coverage=share).level
        for share in (0, 0.4, 0.7, 1)
    ]
    assert levels == ["none", "low", "high", "high"]
    pool = Pool([0.5, 0.1], texts=["the kiln", "x"], query="what is the kiln")
    assert assess(pool, calibration=made).level == "high"
    assert assess(pool, calibration=made, term_coverage=0.0).level == "none"


@pytest.mark.parametrize(
    ("query", "text", "words"),
    [
        ("what is the griffin", "the kiln", True),  # the corpus' own language: missing words count
        ("¿cuándo se abre el griffin?", "the kiln", False),  # another one: they do not
        ("¿cuándo se abre el griffin?", "the griffin", True),  # but found ones help
        ("griffin", "the kiln", False),  # cannot be told, and nothing found
        ("griffin", "the griffin", True),
        ("what is it", "the kiln", False),  # nothing informative
    ],
)
def test_words_that_are_no_witness_neither_help_nor_harm(
    query: str, text: str, words: bool
) -> None:
    made = calibration(words=WORDS)
    for top in (0.3, 0.45, 0.5, 0.55, 0.7):
        signal = assess(Pool([top, 0.1], texts=[text, "x"], query=query), calibration=made)
        alone = assess([top, 0.1], calibration=made)
        assert ("term coverage" in signal.rationale) == words
        if not words:
            assert (signal.level, signal.probability) == (alone.level, alone.probability)


affine = st.sampled_from([(0.3, 0.5), (-0.2, 1.0), (0.85, 0.1), (0.0, 0.05)])


@UNHURRIED
@given(st.sampled_from(sorted(MODES)), affine, st.integers(0, 500))
def test_an_affine_map_moves_nothing(mode: str, line: tuple[float, float], n: int) -> None:
    a, b = line
    there = MAPPED.setdefault((mode, line), fit(Texts(a, b), **MODES[mode]))
    pool, moved = Texts()(ask(n, n % 2 > 0)), Texts(a, b)(ask(n, n % 2 > 0))
    here_signal, there_signal = (
        assess(pool, calibration=FITTED[mode]),
        assess(moved, calibration=there),
    )
    assert there_signal.level == here_signal.level
    assert there_signal.probability == pytest.approx(here_signal.probability, abs=1.01e-4)
    assert there_signal.term_coverage == pytest.approx(here_signal.term_coverage, abs=1.01e-3)


MAPPED: dict[Any, Calibration] = {}


def test_a_search_need_not_name_its_query() -> None:
    assert timeless(fit(Texts(query=False))) == timeless(FITTED["null"])


def test_pools_without_texts_leave_the_cosine_line() -> None:
    fitted = fit(lambda query: list(Texts()(query).cosines))
    assert (fitted.words, fitted.reads_words, fitted.estimated_size) == (None, False, 60)
    pool = Texts()(ask(1, True))
    signal = assess(pool, calibration=fitted)
    assert "alone" not in signal.rationale
    assert signal.term_coverage == 1.0  # measured all the same, and without effect
    assert signal.level == assess(list(pool.cosines), calibration=fitted).level


def test_labels_can_separate_by_words_alone() -> None:
    """The cosine says nothing of these queries, so labels leave its line as it was."""

    def search(query: str) -> Pool:
        pool = Texts()(query)
        flat = Random(query).gauss(0.45, 0.02)
        return replace(pool, cosines=[flat - 0.004 * n for n in range(len(pool))])

    def mixed(query: str) -> Pool:
        return search(query) if query in dict(LABELLED) else Texts()(query)

    labelled = fit(mixed, labelled=LABELLED)
    plain = fit(mixed)
    assert (labelled.mode, labelled.status) == ("labelled", "ok")
    assert (labelled.scale, labelled.platt) == (plain.scale, plain.platt)
    assert labelled.words != plain.words


# The seed's floor


def test_a_text_as_close_as_a_stored_one_never_reads_below_moderate() -> None:
    made = calibration(words=WORDS, floor=0.45)
    raised = assess([0.46, 0.1], calibration=made, term_coverage=0.0)
    assert (raised.level, raised.probability) == ("moderate", 0.0502)
    assert "as close as stored texts are" in raised.rationale
    assert assess([0.449, 0.1], calibration=made, term_coverage=0.0).level == "none"
    assert assess([0.9, 0.1], calibration=made, term_coverage=0.0).level == "high"
    bounded = replace(made, answerable=tuple(0.7 + n / 100 for n in range(20))).with_risk(0.1)
    assert assess([0.46, 0.1], calibration=bounded, term_coverage=0.0).level == "moderate"


def test_the_floor_is_the_median_of_self_retrieval_unless_pieces_are_whole_texts() -> None:
    fitted = FITTED["null"]
    assert fitted.floor == pytest.approx(dict(fitted.quartiles)["self_retrieval"][1], abs=1e-4)

    def whole(query: str) -> list[float]:
        top = 0.3 + Random(query).random() / 10
        return [top if query in PROBES else 1.0, top]

    assert fit(whole).floor is None


# Traffic

u = st.lists(st.floats(0.0, 12.0), min_size=MIN_TRAFFIC, max_size=60)
SCALE = WORDS.scale


@UNHURRIED
@given(u)
def test_no_stream_moves_the_cut_out_of_its_bounds(queries: list[float]) -> None:
    moved = traffic_cut(SCALE, queries)
    assert SCALE.cut - 0.25 * SCALE.spread - 1e-9 <= moved <= SCALE.cut + 0.3 * SCALE.spread + 1e-9
    assert SCALE.low <= moved <= SCALE.high
    assert SCALE.low <= past_cut(SCALE, queries) <= SCALE.high


def test_traffic_moves_both_lines_from_thirty_queries_on() -> None:
    fitted = FITTED["null"]
    pool = [Texts()(query) for query in PAST]
    window = [(max(cosines_of(p)), assess(p, calibration=fitted).term_coverage) for p in pool]
    assert fitted.with_traffic(window[:29]) == fitted
    moved = fitted.with_traffic(window)
    assert moved.words != fitted.words
    assert moved.scale != fitted.scale
    bare = fitted.with_traffic([(top, None) for top, _ in window])
    assert bare.words == fitted.words
    assert bare.scale == moved.scale
    assert FITTED["labelled"].with_traffic(window) == FITTED["labelled"]
    wrong: Any
    for wrong in ([(None, None)] * 40, [("a", "b")] * 40, [(0.5,)] * 40, [0.5] * 40, 3):
        with pytest.raises(InvalidInputError, match="window must be a list of pairs"):
            fitted.with_traffic(wrong)
    undecided = replace(fitted, status="no_valid_threshold")
    assert undecided.with_traffic(window) == undecided
    old = replace(fitted, bounds=None)
    assert old.with_traffic([(top, None) for top, _ in window]) == old


@pytest.mark.parametrize("top", [-1.0, 0.0, 0.3, 0.99])
def test_one_text_sent_again_and_again_hardly_moves_anything(top: float) -> None:
    fitted = FITTED["null"]
    moved = fitted.with_traffic([(top, 1.0)] * 50)
    assert moved.decides
    for coverage in (None, 0.0, 1.0):
        before, after = fitted.cut_at(coverage), moved.cut_at(coverage)
        assert before is not None
        assert after is not None
        assert abs(before - after) < 0.08


# Scales by hand


def test_a_scale_by_hand() -> None:
    probes = [WitnessPair(n / 100, ((0.0, 0.0),), False) for n in range(100)]
    scale = null_word_scale(probes, [], 50.0, None)
    assert scale is not None
    tail = sum(range(94, 100)) / 600
    assert scale.step == pytest.approx(tail - 0.495)
    assert scale.weight == 1.5
    assert scale.cut == pytest.approx(tail / scale.step)
    assert scale.spread == pytest.approx(1.0)
    assert scale.high == pytest.approx(scale.cut + scale.spread)
    large = null_word_scale(probes, [], 50.0, 10**9)
    assert large is not None
    assert large.cut == pytest.approx(sum(range(75, 100)) / 2500 / scale.step)


@pytest.mark.parametrize(
    ("probes", "pseudo"),
    [
        ([WitnessPair(0.5, ((0.0, 0.0),))] * 20, []),
        ([WitnessPair(n / 20) for n in range(20)], []),
        ([WitnessPair(n / 20, ((0.0, 0.0),)) for n in range(20)], [WitnessPair(-60.0)] * 20),
    ],
    ids=["all alike", "no texts", "pieces far below"],
)
def test_where_there_is_no_scale(probes: list[WitnessPair], pseudo: list[WitnessPair]) -> None:
    assert null_word_scale(probes, pseudo, 100.0, 100) is None


def test_probes_in_other_languages_are_left_out_where_there_are_enough() -> None:
    own = [WitnessPair(n / 100, ((0.0, 0.0),), False) for n in range(40)]
    foreign = [WitnessPair(0.39, ((0.0, 1.0),), True)] * 3
    here, there = (null_word_scale(probes, [], 90.0, None) for probes in (own, own + foreign))
    assert here is not None
    assert there is not None
    assert there.cut * there.step < here.cut * here.step + 0.02


def test_labels_that_run_the_other_way_make_no_line() -> None:
    rows = [(WitnessPair(0.4 + n / 100, ((0.0, 0.5),), False), n < 20) for n in range(40)] * 20
    assert label_line(SCALE, rows) is None


def test_coverage_that_runs_the_other_way_counts_for_nothing_beyond_the_statistic() -> None:
    random = Random(0)
    rows = []
    for n in range(400):
        relevant = n % 2 > 0
        covered = random.random() * (0.2 if relevant else 1.0)
        top = random.gauss(0.75 if relevant else 0.45, 0.03)
        rows.append((WitnessPair(top, ((0.0, covered),), False), relevant))
    line = label_line(SCALE, rows)
    assert line is not None
    assert line.per_cosine > 0.0
    assert line.per_coverage >= 0.0


@pytest.mark.parametrize(
    ("pools", "known", "size"),
    [
        ([], 0, 0),
        ([["a", "b"], ["a", "b"]], 0, 2),
        ([["a", "b"], ["c", "d"]], 0, 4 + 6),
        ([["a", "a"], ["b"]], 0, 2 + 1),
        ([["a", "b"]], 7, 7),
        ([["a", "b"], ["c", "d"]], 3, 10),
    ],
)
def test_the_size_of_a_corpus(pools: list[list[str]], known: int, size: int) -> None:
    assert estimate_size(pools, known) == size


def test_a_bare_search_estimates_the_size() -> None:
    fitted = Calibration.fit(Texts(size=60), probes=PROBES)
    assert (fitted.corpus_size, fitted.estimated_size) == (None, 60)
    assert "about 60 documents" in str(fitted)
    assert fitted.staleness(100) is None
    assert "had about 60 at the fit" in (fitted.staleness(600) or "")


# Saved and loaded


@pytest.mark.parametrize("mode", MODES)
def test_a_loaded_fit_says_the_same(mode: str, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    FITTED[mode].save(path)
    loaded = Calibration.load(path)
    assert loaded == FITTED[mode]
    pool = Texts()(ask(3, True))
    assert assess(pool, calibration=loaded) == assess(pool, calibration=FITTED[mode])
    kept = path.read_text()
    words = {word for _, text in DOCUMENTS for word in text.split() if len(word) > 4}
    assert not any(word in kept for word in words)


def test_two_fits_are_the_same() -> None:
    assert timeless(fit()) == timeless(FITTED["null"])
    assert len({timeless(fit()), timeless(FITTED["null"])}) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda w: w["line"].update(per_cosine=0.0),
        lambda w: w["line"].update(per_cosine=-1.0),
        lambda w: w["line"].update(per_coverage=-0.1),
        lambda w: w["line"].update(intercept="NaN"),
        lambda w: w["line"].update(intercept=1e300),
        lambda w: w["scale"].update(step=0.0),
        lambda w: w["scale"].update(spread=-1.0),
        lambda w: w["scale"].update(weight=-1.0),
        lambda w: w["scale"].update(low=99.0),
        lambda w: w["scale"].update(cut=True),
        lambda w: w["vocabulary"].update(length=-1.0),
        lambda w: w["vocabulary"].update(shares=[[1, 7.0]]),
        lambda w: w["vocabulary"].update(words=["text"]),
        lambda w: w.pop("line"),
        lambda w: w["line"].update(intercept=1e6),
    ],
)
def test_other_files_are_refused(tmp_path: Path, change: Callable[[Any], Any]) -> None:
    path = tmp_path / "c.json"
    values = json.loads(json.dumps({"v": 2, **asdict(calibration(words=WORDS))}))
    path.write_text(json.dumps(values))
    assert Calibration.load(path) == calibration(words=WORDS)
    change(values["words"])
    path.write_text(json.dumps(values))
    with pytest.raises(CalibrationError, match=r"c\.json"):
        Calibration.load(path)


@pytest.mark.parametrize(
    "make",
    [
        lambda: WordLine(0.0, 0.0, 1.0),
        lambda: WordLine(float("nan"), 1.0, 1.0),
        lambda: WordScale(1.0, 1.0, 1.0, 1.0, 2.0, 3.0),
        lambda: WordScale(1.0, 3.1, 2.0, 1.0, 1.0, 3.0),
    ],
)
def test_figures_that_could_not_be_applied_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(ConfigurationError):
        make()


def test_a_pool_without_a_cosine_is_left_alone() -> None:
    plain = assess([None, None])
    baseline = Baseline()
    for judge in (
        calibration(words=WORDS),
        baseline,
        CalibrationWithBaseline(calibration(), baseline),
    ):
        assert judge.apply(plain, Pool([None, 7.0])) == plain
    assert len(baseline) == 0


def test_a_baseline_beside_a_calibration_leaves_it_the_words() -> None:
    both = CalibrationWithBaseline(calibration(words=WORDS), Baseline())
    assert both.reads_words
    assert not CalibrationWithBaseline(calibration(), Baseline()).reads_words
    pool = Pool([0.5, 0.1], texts=["the kiln", "x"], query="what is the kiln")
    assert assess(pool, calibration=both) == assess(pool, calibration=both.calibration)
    stream = Baseline([n / 60 for n in range(60)])
    assert assess(pool, calibration=stream).term_coverage == 1.0  # without effect
    assert assess(pool, calibration=stream, term_coverage=0.25).term_coverage == 0.25


def test_a_file_whose_cut_no_traffic_could_move_is_refused(tmp_path: Path) -> None:
    """B5: it would judge the first thirty queries, and fail at every one after them."""
    words = replace(WORDS, scale=replace(WORDS.scale, step=1e-6, spread=1e-6, high=1e9))
    calibration(words=words).save(tmp_path / "c.json")
    with pytest.raises(CalibrationError, match="once queries move its cuts"):
        Calibration.load(tmp_path / "c.json")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "change",
    [
        lambda v: (v["platt"].update(slope=1e-12), v.update(venn_abers=None)),
        lambda v: v["words"]["line"].update(per_cosine=1e-12),
    ],
)
def test_levels_that_do_not_follow_the_cosine_are_refused(
    tmp_path: Path, mode: str, change: Callable[[dict[str, Any]], Any]
) -> None:
    FITTED[mode].save(tmp_path / "c.json")
    assert Calibration.load(tmp_path / "c.json").words is not None
    values = json.loads((tmp_path / "c.json").read_text())
    change(values)
    (tmp_path / "c.json").write_text(json.dumps(values))
    with pytest.raises(CalibrationError, match=r"not follow the cosine|gives no query"):
        Calibration.load(tmp_path / "c.json")


@pytest.mark.parametrize("mode", MODES)
def test_words_that_were_left_out_are_said_to_be(mode: str) -> None:
    fitted, pool = FITTED[mode], Texts()(ask(1, True))
    foreign = replace(pool, query="\u4f55\u66dc\u65e5 \u304b\u307e")
    signal = assess(foreign, calibration=fitted)
    assert signal.term_coverage is not None
    judged = fitted.judge("low", max(cosines_of(foreign)), signal.term_coverage, witness=False)
    assert not judged.by_words
    assert " alone, without the words, against a cut of" in signal.rationale
