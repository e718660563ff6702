"""The calibration probes are complete, well formed, varied and free of near-duplicates."""

import json
import re
import unicodedata
from collections import Counter, defaultdict
from importlib.resources import files
from itertools import combinations

import pytest

FIELDS = ["id", "topic", "style", "lang", "text"]
STYLES = {"keyword", "question", "statement", "chat", "imperative"}
MIN_PER_STYLE = 44
MIN_PER_LANGUAGE = {
    "en": 110,
    **dict.fromkeys(("de", "es", "fr", "it", "ja", "ko", "pt", "ru", "zh"), 12),
    **dict.fromkeys(("ar", "tr"), 6),
}
BY_CHARACTER = {"ja", "ko", "zh"}
UNSPACED = {"ja", "zh"}
MAX_SIMILARITY = 0.6
MAX_SAME_OPENING = 4

Probe = dict[str, str]


def source() -> str:
    path = files("recall_signal") / "calibration" / "probes.jsonl"
    return path.read_text(encoding="utf-8")


def normalise(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.findall(r"\w+", folded))


def units(probe: Probe) -> set[str]:
    """Words, or character trigrams where words are not what spaces divide."""
    text = normalise(probe["text"])
    if probe["lang"] not in BY_CHARACTER:
        return set(text.split())
    joined = text.replace(" ", "")
    return {joined[i : i + 3] for i in range(max(1, len(joined) - 2))}


def opening(probe: Probe) -> tuple[str, str]:
    text = normalise(probe["text"])
    if probe["lang"] in UNSPACED:
        return probe["lang"], text[:3]
    return probe["lang"], " ".join(text.split()[:2])


def jaccard(left: set[str], right: set[str]) -> float:
    return len(left & right) / len(left | right)


@pytest.fixture(scope="module")
def probes() -> list[Probe]:
    return [json.loads(line) for line in source().splitlines()]


def test_count_and_ids(probes: list[Probe]) -> None:
    assert [probe["id"] for probe in probes] == [f"p{n:03d}" for n in range(1, 241)]


def test_lines_are_written_plainly(probes: list[Probe]) -> None:
    lines = [json.dumps(probe, ensure_ascii=False) for probe in probes]
    assert source() == "\n".join(lines) + "\n"


def test_fields(probes: list[Probe]) -> None:
    for probe in probes:
        assert list(probe) == FIELDS
        assert all(isinstance(value, str) and value for value in probe.values()), probe["id"]
        assert probe["text"] == unicodedata.normalize("NFC", probe["text"]).strip(), probe["id"]
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", probe["topic"]), probe["id"]


def test_texts_are_unique(probes: list[Probe]) -> None:
    counts = Counter(normalise(probe["text"]) for probe in probes)
    assert [text for text, count in counts.items() if count > 1] == []


def test_styles(probes: list[Probe]) -> None:
    counts = Counter(probe["style"] for probe in probes)
    assert set(counts) == STYLES
    assert min(counts.values()) >= MIN_PER_STYLE


def test_languages(probes: list[Probe]) -> None:
    counts = Counter(probe["lang"] for probe in probes)
    assert set(counts) == set(MIN_PER_LANGUAGE)
    assert {lang for lang, least in MIN_PER_LANGUAGE.items() if counts[lang] < least} == set()
    assert counts["en"] <= 130


def test_every_language_has_every_style(probes: list[Probe]) -> None:
    styles: defaultdict[str, set[str]] = defaultdict(set)
    for probe in probes:
        styles[probe["lang"]].add(probe["style"])
    assert {lang for lang, found in styles.items() if found != STYLES} == set()


def test_topics(probes: list[Probe]) -> None:
    styles: defaultdict[str, set[str]] = defaultdict(set)
    for probe in probes:
        styles[probe["topic"]].add(probe["style"])
    assert len(styles) >= 60
    assert {topic for topic, found in styles.items() if len(found) < 2} == set()
    assert max(Counter(probe["topic"] for probe in probes).values()) <= 3


def test_no_near_duplicates(probes: list[Probe]) -> None:
    close = [
        (left["id"], right["id"])
        for left, right in combinations(probes, 2)
        if left["lang"] == right["lang"] and jaccard(units(left), units(right)) >= MAX_SIMILARITY
    ]
    assert close == []


def test_openings_vary(probes: list[Probe]) -> None:
    counts = Counter(opening(probe) for probe in probes)
    assert {start for start, count in counts.items() if count > MAX_SAME_OPENING} == set()


def test_no_contact_details_or_addresses(probes: list[Probe]) -> None:
    pattern = re.compile(r"@|http|\d{7}", re.IGNORECASE)
    assert [probe["id"] for probe in probes if pattern.search(probe["text"])] == []


def test_keywords_are_short(probes: list[Probe]) -> None:
    texts = [probe["text"] for probe in probes if probe["style"] == "keyword"]
    assert [text for text in texts if not 2 <= len(text.split()) <= 5] == []
