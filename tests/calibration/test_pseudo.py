"""Pieces of stored texts, and which candidates are the document they come from."""

from typing import Any

import numpy as np
import pytest

from recall_signal import InvalidInputError, Pool
from recall_signal.calibration._observation import _is_source as is_source
from recall_signal.calibration._pseudo_queries import (
    PseudoQuery,
    as_pair,
    cut_pseudo_queries,
    writing_systems_of,
)

DOCUMENTS = [(f"d{n}", f"Document number {n} says something long. And more.") for n in range(30)]


def test_pieces_are_cut_from_distinct_documents() -> None:
    pieces = cut_pseudo_queries(DOCUMENTS, 20, 0)
    assert len({piece.source_id for piece in pieces}) == 20
    texts = dict(DOCUMENTS)
    assert all(piece.text in texts[piece.source_id or ""] for piece in pieces)


def test_the_seed_decides() -> None:
    assert cut_pseudo_queries(DOCUMENTS, 9, 1) == cut_pseudo_queries(iter(DOCUMENTS), 9, 1)
    assert cut_pseudo_queries(DOCUMENTS, 9, 1) != cut_pseudo_queries(DOCUMENTS, 9, 2)


def test_there_are_no_more_pieces_than_texts() -> None:
    repeated = ["the same text here", "the same text here", "   ", ""]
    assert cut_pseudo_queries(repeated, 9, 0) == [PseudoQuery("the same text here", None)]


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("one two three", "one two three"),
        (" ".join(map(str, range(100, 120))), " ".join(map(str, range(100, 112)))),
        ("short", "short"),
        ("Version 3.14.15 of recall_signal.py came", "Version 3.14.15 of recall_signal.py came"),
        ("Hi.\nYo.\nThis sentence is long enough.", "This sentence is long enough."),
        ("猫は毎日庭で遊んでいるのが好きです。犬。", "猫は毎日庭で遊んでいるのが好きです。"),
        ("長" * 50, "長" * 30),
    ],
)
def test_a_piece_is_the_beginning_of_a_sentence(text: str, piece: str) -> None:
    assert cut_pseudo_queries([text], 1, 0) == [PseudoQuery(piece, None)]


@pytest.mark.parametrize("document", [3, None, ("id",), ("id", 3), ("id", "text", "more")])
def test_what_is_no_document_is_refused(document: Any) -> None:
    with pytest.raises(InvalidInputError, match="texts or"):
        as_pair(document)


def test_ids_become_texts() -> None:
    assert as_pair((3, "text")) == ("3", "text")
    assert as_pair([None, "text"]) == (None, "text")


# The piece's own document


@pytest.mark.parametrize("ids", [["3", "4", None], [3, 4, None], np.array([3, 4, 5])])
def test_a_source_is_known_by_its_id_of_whatever_type(ids: Any) -> None:
    assert is_source(Pool([0.9, 0.5, 0.4], ids=ids), PseudoQuery("x", "3")) == [True, False, False]


def test_a_source_is_known_by_its_id_whatever_its_text() -> None:
    pool = Pool([0.9, 0.5], ids=["a", "b"], texts=["an extract", "with the piece"])
    assert is_source(pool, PseudoQuery("piece", "a")) == [True, True]


@pytest.mark.parametrize("kind", [list, np.array])
def test_a_source_is_known_by_its_words(kind: Any) -> None:
    pool = Pool([0.9, 0.5], texts=kind(["It  is a\nPIECE of it", "something else"]))
    assert is_source(pool, PseudoQuery("a piece of", None)) == [True, False]


def test_a_candidate_without_a_text_is_another() -> None:
    pool = Pool([0.9, 0.5], ids=["a", "b"], texts=["", None])
    assert is_source(pool, PseudoQuery("piece", "c")) == [False, False]


# Scripts


@pytest.mark.parametrize(
    ("texts", "scripts"),
    [
        (["plain words"], {"latin"}),
        (["слова"], {"cyrillic"}),
        (["漢字とかなカナ"], {"cjk"}),
        (["한국어"], {"hangul"}),
        (["كلمات", "words words"], {"arabic", "latin"}),
        (["a long English text with one letter я in it"], {"latin"}),
        (["αβγ"], {"greek"}),
        (["123 !?", ""], set()),
        ([], set()),
    ],
)
def test_scripts(texts: list[str], scripts: set[str]) -> None:
    assert writing_systems_of(texts) == scripts


def test_a_large_corpus_is_looked_at_all_over() -> None:
    assert writing_systems_of(["слова"] * 50_000 + ["words"] * 50_000) == {"cyrillic", "latin"}
