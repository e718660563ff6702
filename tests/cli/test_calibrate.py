"""`recall-signal calibrate`: the calibration, its file and picture, and the errors."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recall_signal import Calibration
from recall_signal.calibration import bundled_probes
from recall_signal.cli import _calibrate as module
from recall_signal.cli._calibrate import verdict
from tests.cli.fakes import TOPICS, invoke

pytestmark = pytest.mark.usefixtures("embedded")


def test_from_a_folder(docs: Path, tmp_path: Path) -> None:
    for number in range(30):
        (docs / f"{number}.txt").write_text(TOPICS["boat"].format(n=number))
    result = invoke("calibrate", "--docs", docs, "--out", tmp_path / "c.json")
    assert result.exit_code == 0, result.output
    calibration = Calibration.load(tmp_path / "c.json")
    summary, _, closing = result.stdout.partition("\nIn short: ")
    assert summary.split() == str(calibration).rpartition("\n")[0].split()
    assert " ".join(closing.split()) == verdict(calibration)
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert calibration.encoder == "words"
    assert calibration.corpus_size == 32
    assert "32 files, 32 passages; 32 of them new" in result.stderr
    *_, saved, use = result.stderr.splitlines()
    assert saved == f"Saved to {tmp_path}/c.json; use it with"
    assert use == (
        f'recall-signal ask --docs {docs} --calibration {tmp_path}/c.json "your question"'
    )


def test_the_command_to_go_on_with_can_be_pasted(docs: Path, tmp_path: Path) -> None:
    out = tmp_path / "it's mine.json"
    docs = docs.rename(tmp_path / "my docs")
    for options in (("--docs", docs), ("--jsonl", tmp_path / "t.jsonl")):
        (tmp_path / "t.jsonl").write_text('{"id": "a", "text": "The kiln fires."}')
        use = invoke("calibrate", *options, "--out", out).stderr.splitlines()[-1]
        _, *rest = shlex.split(use)
        folder = str(docs) if options[0] == "--docs" else "FOLDER"
        assert rest == ["ask", "--docs", folder, "--calibration", str(out), "your question"]
    assert invoke("ask", "--docs", docs, "--calibration", out, "kiln").exit_code == 0


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"overlap": 0.001}, "use it: hardly any unrelated questions score like questions on "),
        ({"overlap": 0.04}, "use it: 4% of unrelated questions score like questions on these"),
        ({"overlap": 0.3}, "use it with care: 30% of unrelated questions score like questions"),
        ({"status": "few_documents"}, "It rests on few texts: calibrate again"),
        ({"status": "labels_do_not_separate"}, "The labels were left out"),
        ({"status": "no_valid_threshold"}, "do not rely on levels here: "),
        ({"mode": "null"}, "gets better with --past (30 real questions) or --labelled (50)."),
        ({"mode": "null+past"}, "gets better with --labelled (50 questions)."),
        ({"mode": "labelled"}, "Calibrate again when the texts or the encoder change."),
    ],
)
def test_verdicts(texts: Path, tmp_path: Path, values: dict[str, Any], text: str) -> None:
    invoke("calibrate", "--jsonl", texts, "--out", tmp_path / "c.json")
    assert text in verdict(replace(Calibration.load(tmp_path / "c.json"), **values))


def test_labelled_queries_in_the_format_of_evaluate(texts: Path, tmp_path: Path) -> None:
    """F8: `calibrate` and `evaluate` read both formats."""
    questions = [
        {"id": f"q{n}", "kind": kind, "text": text, "answers": ["kiln1"] if n % 2 else []}
        for n in range(20)
        for kind, text in [("stored", "the kiln fires") if n % 2 else ("off_topic", "giraffes")]
    ]
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(map(json.dumps, questions)))
    given = ("--jsonl", texts, "--out", tmp_path / "c.json", "--labelled", path)
    assert invoke("calibrate", *given).exit_code == 0
    calibration = Calibration.load(tmp_path / "c.json")
    assert dict(calibration.counts)["labelled queries"] == 20


def test_from_json_lines(texts: Path, embedded: list[str], tmp_path: Path) -> None:
    texts.write_text(texts.read_text() + '\n{"id": "empty", "text": " "}\n')
    result = invoke("calibrate", "--jsonl", texts, "--out", tmp_path / "c.json")
    assert result.exit_code == 0, result.output
    assert len(embedded) == 60
    assert Calibration.load(tmp_path / "c.json").corpus_size == 60
    assert "Skipped: 1 empty text\n" in result.stderr
    assert "60 texts; 60 of them new" in result.stderr


def test_past_and_labelled_queries_are_used(texts: Path, tmp_path: Path) -> None:
    past, labelled = tmp_path / "past.txt", tmp_path / "labelled.jsonl"
    past.write_bytes(b"\xef\xbb\xbf" + b"rye bread basket\n\n  high tide  \r\n" * 10)
    rows: list[dict[str, Any]] = [
        {"query": "the kiln fires stoneware glaze on monday morning", "label": "present"},
        {"text": "eleven sailors leaves harbour at high tide aboard", "label": True},
        {"query": "unrelated quantum pigeons", "label": "absent"},
        {"query": "who paints giraffes", "label": False},
    ]
    labelled.write_text("\n".join(map(json.dumps, rows * 5)))
    given = ("calibrate", "--jsonl", texts, "--out", tmp_path / "c.json", "--past", past)
    result = invoke(*given)
    assert result.exit_code == 0, result.output
    calibration = Calibration.load(tmp_path / "c.json")
    assert (calibration.mode, dict(calibration.counts)["past queries"]) == ("null+past", 20)
    result = invoke(*given, "--labelled", labelled)
    assert result.exit_code == 0, result.output
    calibration = Calibration.load(tmp_path / "c.json")
    assert (calibration.mode, dict(calibration.counts)["labelled queries"]) == ("labelled", 20)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--out", "texts.jsonl"), "--out texts.jsonl is the file of --jsonl"),
        (("--labelled", "p.txt", "--out", "link"), "--out link is the file of --labelled"),
        (("--past", "p.txt", "--out", "p.txt"), "--out p.txt is the file of --past"),
        (("--out", "c.png", "--figure", "c.png"), "--figure c.png is the file of --out"),
    ],
)
def test_no_file_is_written_over_another(
    texts: Path,
    monkeypatch: pytest.MonkeyPatch,
    embedded: list[str],
    options: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(texts.parent)
    Path("p.txt").write_text("rye bread\n")
    Path("link").symlink_to("p.txt")
    result = invoke("calibrate", "--jsonl", "texts.jsonl", "--out", "c.json", *options)
    assert result.exit_code == 2
    assert result.stderr == f"Error: {message}; give another\n"
    assert Path("p.txt").read_text() == "rye bread\n"
    assert not Path("c.json").exists()
    assert embedded == []


@pytest.mark.parametrize("framework", ["langchain", "llama-index"])
def test_hostile_texts(tmp_path: Path, framework: str) -> None:
    texts, past = tmp_path / "texts.jsonl", tmp_path / "past\x1b[31m.txt"
    rows = [
        {"id": f"{n}\x1b[2J\u202e\ud800", "text": f"\ud800 \x1b]0;t\x07 [bold]{n}[/] " + "x" * n}
        for n in range(40)
    ]
    texts.write_text("\n".join(map(json.dumps, rows)))
    past.write_text("\x1b[31mred\x1b[0m\n[bold]\n" * 10)
    given = ("--past", past, "--framework", framework)
    result = invoke("calibrate", "--jsonl", texts, "--out", tmp_path / "c", *given)
    assert result.exit_code == 0, result.output
    assert all(character.isprintable() for character in set(result.output) - {"\n"})
    assert Calibration.load(tmp_path / "c").corpus_size == 40
    assert "bold" not in (tmp_path / "c").read_text()


@pytest.mark.parametrize(("name", "start"), [("c.png", b"\x89PNG"), ("c.SVG", b"<?xml")])
def test_a_picture(texts: Path, tmp_path: Path, name: str, start: bytes) -> None:
    given = ("--jsonl", texts, "--out", tmp_path / "c.json", "--figure", tmp_path / name)
    result = invoke("calibrate", *given)
    assert result.exit_code == 0, result.output
    assert (tmp_path / name).read_bytes().startswith(start)


def test_no_threshold_is_said(tmp_path: Path) -> None:
    texts, saved = tmp_path / "probes.jsonl", tmp_path / "c.json"
    rows = [{"id": str(at), "text": probe.text} for at, probe in enumerate(bundled_probes())]
    texts.write_text("\n".join(map(json.dumps, rows)))
    result = invoke("calibrate", "--jsonl", texts, "--out", saved)
    assert result.exit_code == 0, result.output
    assert Calibration.load(saved).status == "no_valid_threshold"
    closing = " ".join(result.stdout.partition("In short: ")[2].split())
    assert closing.startswith("do not rely on levels here: 100% of unrelated questions score like")
    assert "so no threshold separates them and levels stay uncalibrated" in closing


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "give the texts either as --docs FOLDER or as --jsonl FILE"),
        (("--docs", ".", "--jsonl", "x"), "give the texts either as --docs"),
        (("--docs", "nowhere"), "--docs nowhere does not exist"),
        (("--jsonl", "nowhere.jsonl"), "nowhere.jsonl cannot be read"),
        (("--docs", ".", "--framework", "other"), "--framework must be one of"),
        (("--docs", ".", "--out", "/dev/null"), "--out /dev/null cannot be written: It is no reg"),
        (("--docs", ".", "--figure", "c.gif"), "--figure must end in .png, .svg, .pdf, got c.gif"),
        (("--docs", ".", "--figure", "no/c.png"), "--figure no/c.png is in a folder that does not"),
        (("--docs", ".", "--past", "nowhere"), "--past nowhere cannot be read"),
        (("--docs", ".", "--labelled", "nowhere"), "nowhere cannot be read"),
    ],
)
def test_wrong_options(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    embedded: list[str],
    options: tuple[object, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke("calibrate", "--out", tmp_path / "c.json", *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"Error: {message}")
    assert result.stderr.count("\n") == 1
    assert embedded == []
    assert not (tmp_path / "c.json").exists()


@pytest.mark.parametrize("out", [".", "no/c.json"])
def test_wrong_targets(
    texts: Path, monkeypatch: pytest.MonkeyPatch, embedded: list[str], out: str
) -> None:
    monkeypatch.chdir(texts.parent)
    result = invoke("calibrate", "--jsonl", texts, "--out", out)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: --out {out} is ")
    assert embedded == []


@pytest.mark.parametrize(
    ("option", "content", "message"),
    [
        ("--past", b"caf\xe9", "is not UTF-8 text"),
        ("--past", b" \n\n", "is empty; expected one query a line"),
        ("--labelled", b"", "f.txt is empty; expected one JSON object a line"),
        ("--labelled", b"[]", "f.txt, line 1: expected an object"),
        ("--labelled", b"{", "f.txt, line 1: not JSON"),
        ("--labelled", b'{"label": true}', "line 1: query is missing"),
        ("--labelled", b'{"query": " ", "label": true}', "line 1: a query must hold some text"),
        ("--labelled", b'{"query": 7, "label": true}', "line 1: query must be a text"),
        ("--labelled", b'{"query": "q"}', "line 1: no label; add label ('present' or 'absent')"),
        ("--labelled", b'\n{"query": "q", "label": 1}', "line 2: label must be 'present'"),
        ("--labelled", b'{"query": "q", "label": ["x"]}', "line 1: label must be 'present'"),
        ("--labelled", b'{"query": "q", "label": "yes"}', "line 1: label must be 'present'"),
    ],
)
def test_wrong_files(
    texts: Path, embedded: list[str], option: str, content: bytes, message: str
) -> None:
    path = texts.parent / "f.txt"
    path.write_bytes(content)
    result = invoke("calibrate", "--jsonl", texts, "--out", texts.parent / "c", option, path)
    assert result.exit_code == 2
    assert message in result.stderr
    assert embedded == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ('{"id": "a"}', "line 1: text is missing"),
        ('{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}', "line 2: an earlier line has the"),
        ('{"id": "a", "text": " "}', "has no line with some text"),
    ],
)
def test_wrong_texts(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "t.jsonl").write_text(content)
    given = ("--jsonl", tmp_path / "t.jsonl", "--out", tmp_path / "c")
    result = invoke("calibrate", *given)
    assert result.exit_code == 2
    assert message in result.stderr


def test_without_matplotlib(
    texts: Path, monkeypatch: pytest.MonkeyPatch, embedded: list[str]
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    given = ("--out", texts.parent / "c", "--figure", texts.parent / "c.png")
    result = invoke("calibrate", "--jsonl", texts, *given)
    assert result.exit_code == 2
    assert "--figure needs packages" in result.stderr
    assert "recall-signal[eval]" in result.stderr
    assert embedded == []


class Unwritable:
    """A disk that is full."""

    def __call__(self, *_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")


def test_what_cannot_be_written(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["calibrate", "--jsonl", texts, "--out", texts.parent / "c"]
    with monkeypatch.context() as patched:
        patched.setattr(Calibration, "save", Unwritable())
        result = invoke(*given)
    assert result.exit_code == 2
    assert result.stdout.startswith("Calibration (null)")
    assert f"Error: --out {texts.parent}/c cannot be written: No space left" in result.stderr


def test_both_frameworks_learn_the_same(texts: Path, tmp_path: Path) -> None:
    learned = []
    for name in ("langchain", "llama-index"):
        given = ("--jsonl", texts, "--out", tmp_path / "c.json", "--framework", name)
        assert invoke("calibrate", *given).exit_code == 0
        learned.append({**json.loads((tmp_path / "c.json").read_text()), "created": ""})
    # Single precision, another order:
    for name in ("scale", "floor", "bounds"):
        one, other = (values.pop(name) for values in learned)
        assert one == pytest.approx(other, abs=1e-6)
    seen = [values.pop("canaries")["seen"] for values in learned]
    assert [row["query"] for row in seen[0]] == [row["query"] for row in seen[1]]
    words = [values.pop("words") for values in learned]
    assert words[0]["vocabulary"] == words[1]["vocabulary"]
    for name in ("scale", "line"):
        assert words[0][name] == pytest.approx(words[1][name], rel=1e-3)
    assert learned[0] == learned[1]
