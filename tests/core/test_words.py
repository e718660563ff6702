"""Term coverage: the informative terms of a query, and how much of them the candidates hold."""

from math import log
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_signal import ConfigurationError
from recall_signal._words import (
    QueryTerms,
    Vocabulary,
    best_coverage,
    coverage_front,
    is_witness,
    learn_vocabulary,
    query_terms,
    term_coverage,
)
from recall_signal._words._coverage import DROP, MAX_CANDIDATES, MAX_TRIES
from recall_signal._words._terms import MAX_TERMS
from recall_signal._words._text import MAX_CHARACTERS, fold
from recall_signal._words._vocabulary import RARE, is_stuffed
from tests.calibration.toys import UNHURRIED

KILN = "The new kiln cools for fourteen hours after a glaze firing at the studio in Łódź."


def terms(query: str, vocabulary: Vocabulary | None = None) -> QueryTerms:
    found = query_terms(query, vocabulary)
    assert found is not None
    return found


def names(query: str) -> set[str]:
    return {term for term, _, _ in terms(query).terms}


# Terms


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("How long does the kiln cool?", {"long", "kiln", "cool"}),
        ("kilns, KILNS and Kilns", {"kilns"}),
        ("firings at 1280 degrees", {"firing", "1280", "degree"}),
        ("snake_case names", {"snake", "case", "names"}),
        ("東京の人口", {"東京", "京の", "の人", "人口"}),
        ("tokyo東京", {"tokyo", "東京"}),
        ("भारत की राजधानी", {"भारत", "राजधान"}),
        ("Straße und STRASSE", {"strass"}),
    ],
)
def test_terms_of_a_query(query: str, found: set[str]) -> None:
    assert names(query) == found


@pytest.mark.parametrize("query", ["", "?!", "what is it", "of the 7", "___"])
def test_a_query_without_informative_words(query: str) -> None:
    assert query_terms(query) is None
    assert term_coverage(query, [KILN]) is None


def test_a_long_query_is_cut_to_its_most_telling_terms() -> None:
    words = [f"word{n}x" for n in range(200)]
    assert len(terms(" ".join(words)).terms) == MAX_TERMS
    assert len(fold("x" * 9999)) == MAX_CHARACTERS


# Weights and language


CORPUS = [f"The kiln number {n} is fired on day {n % 7} by the keeper" for n in range(60)]
VOCABULARY = learn_vocabulary(CORPUS)


def test_a_frequent_word_weighs_less_than_a_rare_one() -> None:
    weights = {term: weight for term, weight, _ in terms("kiln griffin", VOCABULARY).terms}
    assert set(weights) == {"griffi"}  # every text has a kiln, so that word tells nothing
    assert VOCABULARY.weight_of("kiln") == 0.0
    assert VOCABULARY.weight_of("griffi") == pytest.approx(-log(RARE))


def test_the_language_is_known_by_its_function_words() -> None:
    assert terms("what is the griffin by the gate", VOCABULARY).foreign is False
    assert terms("¿cuándo se abre el horno de la escuela?", VOCABULARY).foreign is True
    assert terms("griffin gate", VOCABULARY).foreign is None
    assert terms("what is the griffin by the gate").foreign is None


@pytest.mark.parametrize(
    ("foreign", "coverage", "witness"),
    [(False, 0.0, True), (None, 0.2, True), (None, 0.0, False), (True, 0.9, False)],
)
def test_where_words_are_a_witness(foreign: bool | None, coverage: float, witness: bool) -> None:
    assert is_witness(foreign, coverage) is witness


def test_a_vocabulary_holds_no_text_and_does_not_depend_on_order() -> None:
    assert learn_vocabulary(CORPUS[::-1]) == VOCABULARY
    assert learn_vocabulary(CORPUS * 3) == VOCABULARY
    assert "kiln" not in repr(VOCABULARY)
    assert learn_vocabulary([]) == Vocabulary()


@pytest.mark.parametrize(
    "given",
    [
        {"shares": ((1, 0.0),)},
        {"shares": ((1, 1.5),)},
        {"densities": (0.0, 1.0)},
        {"length": -1.0},
    ],
)
def test_a_vocabulary_of_wrong_figures_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="a vocabulary needs"):
        Vocabulary(**given)


# Coverage


@pytest.mark.parametrize(
    ("query", "coverage"),
    [
        ("kiln cools fourteen hours", 1.0),
        ("kiln griffin", 0.5),
        ("griffin", 0.0),
        ("after studios", 1.0),
        ("łódź studio", 1.0),
        ("kil", 0.0),  # a short word is a whole one
        ("iln oo", 0.0),
    ],
)
def test_the_share_of_the_terms_that_a_text_holds(query: str, coverage: float) -> None:
    assert term_coverage(query, [KILN]) == coverage


def test_composed_and_decomposed_letters_are_the_same() -> None:
    assert term_coverage("cafés", ["Two cafe\u0301s are open"]) == 1.0
    marked = "cafe" + "\u0316\u0301" * 500  # of a length that no writing has
    assert term_coverage("kiln", [f"{marked} kiln"]) == 1.0


def test_the_best_candidate_counts_and_those_below_the_top_count_less() -> None:
    texts, cosines = ["nothing", "a kiln", "the kiln cools"], [0.5, 0.45, 0.4]
    assert term_coverage("kiln cooling", texts) == 0.5
    assert term_coverage("kiln cools", texts, cosines) == 1.0
    assert term_coverage("kiln cools", texts, cosines, step=0.1) == pytest.approx(1.0 - DROP)
    assert term_coverage("kiln cools", texts, [0.5, None, None], step=0.1) == 0.0
    assert term_coverage("kiln cools", texts, cosines, step=0.01) == 0.0


def test_order_and_what_lies_beyond_the_fiftieth_do_not_count() -> None:
    cosines = [0.9 - n / 100 for n in range(60)]
    texts = [f"text {n}" for n in range(60)]
    texts[MAX_CANDIDATES] = "the griffin"
    assert term_coverage("griffin", texts, cosines) == 0.0
    assert term_coverage("griffin", texts[::-1], cosines[::-1]) == 0.0
    texts[MAX_CANDIDATES - 1] = "the griffin"
    assert term_coverage("griffin", texts[::-1], cosines[::-1]) == 1.0


def test_without_a_text_there_is_no_coverage() -> None:
    assert term_coverage("griffin", []) is None
    assert term_coverage("griffin", [None, None]) is None
    assert term_coverage("griffin", [None, "griffins"]) == 1.0
    assert term_coverage("griffin", [None, 7, "x"]) == 0.0  # type: ignore[list-item]
    assert best_coverage(()) is None


def test_a_candidate_that_is_left_out_keeps_its_place() -> None:
    front = coverage_front(
        terms("griffin"),
        ["griffins", "x", "griffin"],
        [0.9, 0.8, 0.7],
        left_out=[True, False, False],
    )
    tenth: Any = pytest.approx(0.1)
    assert front == ((0.0, 0.0), (tenth, 1.0))


texts = st.lists(st.none() | st.text(max_size=40), max_size=6)


@UNHURRIED
@given(st.text(max_size=60), texts, st.floats(1e-3, 1.0), st.data())
def test_any_text_has_a_share(query: str, found: list[Any], step: float, data: Any) -> None:
    cosine = st.none() | st.floats(-1, 1)
    cosines = data.draw(st.lists(cosine, min_size=len(found), max_size=len(found)))
    vocabulary = learn_vocabulary([text for text in found if text])
    for given_step in (None, step):
        coverage = term_coverage(query, found, cosines, vocabulary=vocabulary, step=given_step)
        assert coverage is None or 0.0 <= coverage <= 1.0
    # Nothing read ahead changes the best of all.
    wanted = query_terms(query, vocabulary)
    if wanted is not None:
        whole = coverage_front(wanted, found, cosines, vocabulary=vocabulary)
        early = coverage_front(wanted, found, cosines, vocabulary=vocabulary, step=step)
        assert best_coverage(whole, step) == best_coverage(early, step)


# Hostile texts


def test_a_text_stuffed_with_words_counts_as_nothing() -> None:
    words = [f"{a}{b}{c}ing" for a in "bdfglmnprs" for b in "aeiou" for c in "klmnprst"]
    stuffed = " ".join(words)
    assert is_stuffed(fold(stuffed), Vocabulary().densities)
    query = " ".join(words[:5])
    assert term_coverage(query, [stuffed]) == 0.0
    assert term_coverage(query, [" ".join(words[:8])]) == 1.0  # too short to be told
    assert not is_stuffed(fold(KILN * 3), Vocabulary().densities)


def test_the_densest_ordinary_texts_are_learned() -> None:
    dense = [" ".join(f"w{n}x{m}" for m in range(60)) for n in range(25)]
    learned = learn_vocabulary(dense)
    assert learned.densities[0] > Vocabulary().densities[0]
    assert not any(is_stuffed(fold(text), learned.densities) for text in dense)
    unspaced = [
        "".join(chr(0x4E00 + (n * 97 + m * 7) % 2000) for m in range(150)) for n in range(25)
    ]
    assert learn_vocabulary(unspaced).densities[1] != Vocabulary().densities[1]


@pytest.mark.timing
def test_time_is_bounded() -> None:
    false_starts = "xgriffin " * 300
    started = process_time()
    for _ in range(5):
        assert term_coverage("griffin", [false_starts] * 50) == 0.0
        term_coverage("griffin " * 5000, ["x" * 100_000] * 50)
    assert process_time() - started < 1.0
    once = "xgriffin " * (MAX_TRIES - 1) + "griffin"
    assert term_coverage("griffin", [once]) == 1.0
    assert term_coverage("griffin", ["xgriffin " + once]) == 0.0


@pytest.mark.parametrize("text", ["\ud800 kiln", "kiln\x00", "🔥kiln", "\u202ekiln"])
def test_strange_characters_do_no_harm(text: str) -> None:
    assert term_coverage("kiln", [text]) == 1.0
    assert term_coverage(text, ["a kiln"]) == 1.0
    learn_vocabulary([text])


def test_a_word_inside_others_is_looked_for_further_on_and_a_bounded_number_of_times() -> None:
    held = term_coverage("glaze kiln", ["unkiln unglaze glaze kiln", ""])
    assert held == 1.0
    assert term_coverage("kiln", ["unkiln"]) == 0.0
    assert term_coverage("kiln", ["unkiln " * (MAX_TRIES + 2) + "kiln"]) == 0.0
