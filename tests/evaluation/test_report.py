"""What is shown: a table that fits a terminal, and one HTML file that holds all."""

import json
import re
import subprocess
import sys
from base64 import b64decode
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from recall_signal import ConfigurationError, MissingDependencyError
from recall_signal.evaluation import (
    Evaluation,
    evaluate,
    html_report,
    print_report,
    write_html,
    write_json,
)
from recall_signal.evaluation._report import MODES_LEGEND, OPINIONS, verdict
from recall_signal.evaluation._result import MODES
from tests.evaluation.fakes import World


def printed(evaluation: Evaluation) -> str:
    out = StringIO()
    print_report(evaluation, Console(file=out, width=80))
    return out.getvalue()


def test_table_fits_eighty_columns(evaluation: Evaluation) -> None:
    text = printed(evaluation)
    assert "…" not in text
    for part in ("present against off topic", "AUGRC", "z-score, own background", *MODES):
        assert part in text
    assert "fake <b>$x$</b> over 80 documents" in text
    assert "40 present, 20 near miss, 20 off topic" in " ".join(text.split())
    assert re.search(r"top cosine +\d\.\d{3} \d\.\d\d-\d\.\d\d +\d\.\d{3} +\d\.\d{3} +- ", text)
    assert "null general questions and pieces of stored texts, no labels;" in " ".join(text.split())
    assert "us uncalibrated and" in " ".join(text.split())
    assert "ms without its searches" in " ".join(text.split())
    assert "goes to dev or test by a hash of its id" in " ".join(text.split())
    assert "figures say little" not in text


def test_prints_to_standard_output(
    evaluation: Evaluation, capsys: pytest.CaptureFixture[str]
) -> None:
    print_report(evaluation)
    assert "present against off topic" in capsys.readouterr().out


def test_notes_and_no_latency() -> None:
    world = World()
    found = evaluate(world.corpus, world.queries, world.encoder, sample=8)
    text = printed(replace(found, latency=None))
    said = " ".join(text.split())
    assert "stream: only 8 queries were seen, 30 are needed: as uncalibrated" in said
    assert "auto: only 8 queries were seen, 30 are needed: as null" in said
    assert "us uncalibrated" not in text
    assert "only 8 queries were fitted on: with fewer than 20" in said
    small = evaluate(world.corpus, world.queries[:40], world.encoder)
    said = " ".join(printed(small).split())
    assert "only 10 present and 5 near miss and 5 off topic queries are reported" in said


def test_it_closes_with_a_plain_verdict(evaluation: Evaluation) -> None:
    lines = verdict(evaluation)
    assert re.fullmatch(
        r"In short: calibrated without labels or past queries, \d+% of the present queries are "
        r"read, and \d+% of the near miss ones \([a-z ]+\) and \d+% of the off topic ones "
        r"\(reliable\) are sent away\.",
        lines[0],
    )
    assert lines[1].startswith("Uncalibrated, ")
    assert " ".join(printed(evaluation).split()).endswith(" ".join(lines))
    assert all(line in html_report(evaluation) for line in lines)


def test_the_verdict_recommends_what_is_better(evaluation: Evaluation) -> None:
    present = evaluation.present
    better = [
        replace(m, predicted_present=present if m.name == "labelled" else ~present)
        for m in evaluation.methods
    ]
    first, uncalibrated, last = verdict(replace(evaluation, methods=tuple(better)))
    assert "0% of the present queries are read" in first
    assert uncalibrated.endswith("(hardly better than a coin) are sent away.")
    assert last == (
        "Better here, with labels (recall-signal calibrate --labelled FILE): 100% of the present "
        "queries are read, and 100% of the near miss ones (reliable) and 100% of the off topic "
        "ones (reliable) are sent away (balanced accuracy 1.00 against 0.00)."
    )


def test_a_verdict_on_few_queries_says_so() -> None:
    world = World()
    few = evaluate(world.corpus, world.queries[:40], world.encoder)
    lines = verdict(few)
    assert lines[2].startswith("An opinion needs 20 present queries and 20 of the other kind, and ")
    assert lines[2].endswith(" off topic: take it as a first impression.")
    assert lines[0].count("(too few to say)") == 2
    assert not any(opinion in " ".join(lines) for _, opinion in OPINIONS)


def test_few_queries_of_one_kind_are_no_reason_to_doubt_the_others() -> None:
    world = World()
    near = [query for query in world.queries if query.kind == "near_miss"][4:]
    fewer = [query for query in world.queries if query not in near]
    first = verdict(evaluate(world.corpus, fewer, world.encoder))[0]
    assert re.search(r"of the near miss ones \(too few to say\)", first)
    assert re.search(r"of the off topic ones \(reliable\)", first)


def test_no_escape_sequence_reaches_the_terminal(evaluation: Evaluation) -> None:
    evil = "\x1b]0;title\x07\x1b[31mred\u202e"
    kinds = np.where(evaluation.kinds == "off_topic", evil, evaluation.kinds)
    noted = [replace(method, notes=(evil,)) for method in evaluation.methods]
    text = printed(replace(evaluation, encoder=evil, kinds=kinds, methods=tuple(noted)))
    assert all(character.isprintable() for character in set(text) - {"\n"})
    assert text.startswith("]0;title red over 80") or "red over 80" in text


@pytest.fixture(scope="module")
def report(evaluation: Evaluation) -> str:
    return html_report(evaluation)


class Elements(HTMLParser):
    """Tags, sources and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.sources: list[str] = []
        self.alts: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = dict(attrs)
        self.sources += [values[key] or "" for key in ("src", "href") if key in values]
        self.alts += [values["alt"] or ""] if "alt" in values else []

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_html_is_one_file_and_escaped(report: str) -> None:
    page = Elements(report)
    assert "script" not in page.tags
    assert "b" not in page.tags
    assert page.tags.count("img") == 8
    assert all(source.startswith("data:image/svg+xml;base64,") for source in page.sources)
    assert any("fake <b>$x$</b>" in text for text in page.texts)
    assert "Levels by kind of query" in page.texts
    assert MODES_LEGEND in page.texts
    assert "AUROC with 95 % intervals, present against off topic" in page.alts
    pictures = [b64decode(source.partition(",")[2]) for source in page.sources]
    assert all(picture.startswith(b"<?xml") and b"<script" not in picture for picture in pictures)


def test_html_is_the_same_every_time(report: str, evaluation: Evaluation, tmp_path: Path) -> None:
    write_html(evaluation, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text("utf-8") == report


def test_hostile_names_of_kinds(evaluation: Evaluation) -> None:
    evil = '"><script>alert(1)</script> $\\frac'
    kinds = np.where(evaluation.kinds == "off_topic", evil, evaluation.kinds)
    page = Elements(html_report(replace(evaluation, kinds=kinds)))
    assert "script" not in page.tags
    assert any("alert(1)" in text for text in page.texts)
    assert "alert(1)" in printed(replace(evaluation, kinds=kinds))


def test_html_without_probabilities_or_scores(evaluation: Evaluation) -> None:
    bare = [
        replace(m, scores=np.full(len(m.scores), np.nan), probabilities=None)
        for m in evaluation.methods
    ]
    page = html_report(replace(evaluation, methods=tuple(bare), latency=None))
    assert Elements(page).tags.count("img") == 8


def test_files(evaluation: Evaluation, tmp_path: Path) -> None:
    write_json(evaluation, str(tmp_path / "report.json"))
    assert json.loads((tmp_path / "report.json").read_text("utf-8"))["encoder"].startswith("fake")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_json(evaluation, tmp_path / "absent" / "report.json")


@pytest.mark.parametrize(
    ("module", "call"), [("rich.console", print_report), ("matplotlib.figure", html_report)]
)
def test_missing_packages(
    evaluation: Evaluation,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    call: Callable[[Evaluation], object],
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=r"recall-signal\[eval\]"):
        call(evaluation)


def test_importing_loads_nothing_heavy() -> None:
    code = (
        "import sys, recall_signal.evaluation, recall_signal.cli._evaluate as _;"
        "print([m for m in ('matplotlib', 'pyarrow', 'langchain_core') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "[]"
