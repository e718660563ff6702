"""The demo memories and questions are complete, well formed and refer to each other correctly."""

import json
import re
import unicodedata
from collections import Counter
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from recall_signal.encoders import DemoEncoder

MEMORY_FIELDS = ["id", "topic", "kind", "lang", "text"]
QUESTION_FIELDS = ["id", "kind", "section", "lang", "text", "answers"]
SECTIONS = {"main": 24, "hard": 8}
"""Questions of each kind."""
MEMORY_KINDS = {"decision", "person", "incident", "preference", "procedure", "fact"}
QUESTION_KINDS = {"stored", "near_miss", "off_topic"}
LANGUAGES = {"de", "en", "es", "fr", "ja", "pt"}


def load(name: str) -> list[dict[str, Any]]:
    text = (files("recall_signal") / "demo" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def normalise(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.findall(r"\w+", folded))


@pytest.fixture(scope="module")
def memories() -> list[dict[str, Any]]:
    return load("memories.jsonl")


@pytest.fixture(scope="module")
def questions() -> list[dict[str, Any]]:
    return load("questions.jsonl")


def test_counts(memories: list[dict[str, Any]], questions: list[dict[str, Any]]) -> None:
    assert len(memories) == 200
    assert Counter((question["section"], question["kind"]) for question in questions) == {
        (section, kind): count for section, count in SECTIONS.items() for kind in QUESTION_KINDS
    }


def test_ids_are_unique_and_in_order(
    memories: list[dict[str, Any]], questions: list[dict[str, Any]]
) -> None:
    assert [memory["id"] for memory in memories] == [f"m{n:03d}" for n in range(1, 201)]
    assert [question["id"] for question in questions] == [f"q{n:02d}" for n in range(1, 97)]


def test_memory_fields(memories: list[dict[str, Any]]) -> None:
    for memory in memories:
        assert list(memory) == MEMORY_FIELDS, memory["id"]
        assert all(isinstance(value, str) and value for value in memory.values()), memory["id"]


def test_question_fields(questions: list[dict[str, Any]]) -> None:
    for question in questions:
        extra = ["about"] if question["kind"] == "near_miss" else []
        assert list(question) == QUESTION_FIELDS + extra, question["id"]
        assert question["text"].strip(), question["id"]


def test_memory_lengths(memories: list[dict[str, Any]]) -> None:
    outside = [memory["id"] for memory in memories if not 60 <= len(memory["text"]) <= 300]
    assert outside == []


def test_memory_topics(memories: list[dict[str, Any]]) -> None:
    topics = Counter(memory["topic"] for memory in memories)
    assert 8 <= len(topics) <= 12
    assert sum(count >= 12 for count in topics.values()) >= 8
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", topic) for topic in topics)


def test_memory_kinds(memories: list[dict[str, Any]]) -> None:
    kinds = Counter(memory["kind"] for memory in memories)
    assert set(kinds) == MEMORY_KINDS
    assert min(kinds.values()) >= 20


def test_memory_languages(memories: list[dict[str, Any]]) -> None:
    languages = Counter(memory["lang"] for memory in memories)
    assert set(languages) == LANGUAGES
    assert len(memories) - languages["en"] >= 20


@pytest.mark.parametrize("kind", sorted(QUESTION_KINDS))
@pytest.mark.parametrize("section", SECTIONS)
def test_question_languages(questions: list[dict[str, Any]], section: str, kind: str) -> None:
    chosen = [q for q in questions if (q["section"], q["kind"]) == (section, kind)]
    languages = [question["lang"] for question in chosen]
    assert set(languages) <= LANGUAGES
    assert 3 <= sum(language != "en" for language in languages) <= 5


def test_answers_and_about_point_to_memories(
    memories: list[dict[str, Any]], questions: list[dict[str, Any]]
) -> None:
    known = {memory["id"] for memory in memories}
    for question in questions:
        answers, about = question["answers"], question.get("about", [])
        assert bool(answers) == (question["kind"] == "stored"), question["id"]
        assert len(about) in ({1, 2, 3} if question["kind"] == "near_miss" else {0}), question["id"]
        assert set(answers) | set(about) <= known, question["id"]
        assert len(set(answers)) == len(answers), question["id"]
        assert len(set(about)) == len(about), question["id"]


def test_no_text_occurs_twice(
    memories: list[dict[str, Any]], questions: list[dict[str, Any]]
) -> None:
    stored = [normalise(memory["text"]) for memory in memories]
    asked = [normalise(question["text"]) for question in questions]
    assert len(set(stored)) == len(stored)
    assert len(set(asked)) == len(asked)
    assert set(stored).isdisjoint(asked)


def test_no_contact_data(memories: list[dict[str, Any]], questions: list[dict[str, Any]]) -> None:
    for entry in memories + questions:
        assert "@" not in entry["text"], entry["id"]
        assert "http" not in entry["text"].lower(), entry["id"]
        assert not re.search(r"\d{7,}", entry["text"]), entry["id"]


def test_some_memories_are_near_duplicates(memories: list[dict[str, Any]]) -> None:
    """Told twice in other words, some of them in another language."""
    vectors = np.array(DemoEncoder().embed_documents([memory["text"] for memory in memories]))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors.T
    close = np.argwhere(np.triu(cosines, 1) > 0.6)
    assert len(close) >= 8
    assert any(memories[one]["lang"] != memories[other]["lang"] for one, other in close)
    assert np.median(cosines) < 0.2
