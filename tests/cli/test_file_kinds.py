"""Files that are no plain text: where they come from in the folder, and what is left out."""

import sys
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from docx import Document
from pypdf import PdfWriter

from recall_signal.cli import _file_kinds as module
from recall_signal.cli._file_kinds import Extracted, LeftOut, extract
from recall_signal.cli._folder import read_folder, split_into_passages
from tests.cli.fakes import invoke


def pdf(*pages: str, password: str | None = None) -> bytes:
    """Write a PDF of one line a page, in a font that every reader has."""
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    for text in pages:
        page = writer.add_blank_page(300, 300)
        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
            }
        )
        fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
    if password is not None:
        writer.encrypt(password, algorithm="RC4-128")
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


def docx() -> bytes:
    document = Document()
    document.add_heading("Kilns")
    document.add_paragraph("The big kiln fires on Monday.")
    table = document.add_table(rows=1, cols=2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Opening", "at nine"
    out = BytesIO()
    document.save(out)
    return out.getvalue()


HTML = b"""<html><head><title>Kilns</title><style>p {}</style><script>alert(1)</script></head>
<body><p>The big <b>kiln</b> fires.</p><template>unseen</template></body></html>"""


def test_html_has_the_text_that_people_see() -> None:
    text = extract(HTML, ".html").text
    assert text.split() == ["Kilns", "The", "big", "kiln", "fires."]


def test_word_has_paragraphs_and_tables_in_their_order() -> None:
    text = extract(docx(), ".docx").text
    assert text == "Kilns\nThe big kiln fires on Monday.\nOpening\nat nine"


def test_a_cell_that_spans_millions_is_read_once() -> None:
    document = Document()
    cell = document.add_table(rows=1, cols=1).cell(0, 0)
    cell.text = "at nine"
    cell._tc.grid_span = 20_000_000
    out = BytesIO()
    document.save(out)
    assert extract(out.getvalue(), ".docx").text.split() == ["at", "nine"]


def test_a_page_of_open_comments_ends() -> None:
    """The parser of the standard library takes minutes for it."""
    assert extract(b"<p>kiln</p>" + b"<!--" * 200_000, ".html").text.startswith("kiln")


def test_pdf_names_the_page(tmp_path: Path) -> None:
    (tmp_path / "guide.pdf").write_bytes(pdf("The kiln fires on Monday", "We open at nine"))
    (tmp_path / "page.html").write_bytes(HTML)
    passages = split_into_passages(read_folder(tmp_path).files)
    assert [passage.source for passage in passages] == [
        f"{tmp_path / 'guide.pdf'}, page 1",
        str(tmp_path / "page.html"),
    ]
    places = Extracted("a\nb\n", pages=(0, 2), is_plain=False)
    assert [places.place(offset, 1) for offset in (0, 1, 2, 3)] == [
        ", page 1",
        ", page 1",
        ", page 2",
        ", page 2",
    ]


def test_an_empty_password_opens_a_pdf() -> None:
    assert "open" in extract(pdf("we open at nine", password=""), ".pdf").text


@pytest.mark.parametrize(
    ("make", "suffix", "reason"),
    [
        (lambda: pdf("x", password="secret"), ".pdf", "encrypted"),
        (lambda: b"%PDF-1.7 and no more", ".pdf", "damaged"),
        (lambda: b"no archive", ".docx", "damaged"),
        (lambda: b"caf\0\xe9", ".txt", "binary"),
        (lambda: b"\xff\xfea", ".txt", "not UTF-8 text"),
        (lambda: bytes(range(127, 160)) * 400 + b"\x81\xff", ".txt", "encoding that is not"),
    ],
)
def test_left_out(make: Callable[[], bytes], suffix: str, reason: str) -> None:
    with pytest.raises(LeftOut, match=reason):
        extract(make(), suffix)


def test_a_file_that_unpacks_to_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_UNPACKED", 10)
    with pytest.raises(LeftOut, match="larger than 0 MB when unpacked"):
        extract(docx(), ".docx")
    bomb = BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("word/document.xml", b"0" * 1_000_000)
    with pytest.raises(LeftOut, match="when unpacked"):
        extract(bomb.getvalue(), ".docx")


@pytest.mark.parametrize(
    ("package", "data", "suffix", "reason"),
    [
        ("bs4", HTML, ".htm", r"recall-signal\[files\]"),
        ("pypdf", b"", ".pdf", r"recall-signal\[files\]"),
        ("docx", b"", ".docx", r"recall-signal\[files\]"),
        ("charset_normalizer", b"caf\xe9", "", "not UTF-8 text"),
    ],
)
def test_without_the_extra(
    monkeypatch: pytest.MonkeyPatch, package: str, data: bytes, suffix: str, reason: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(LeftOut, match=reason):
        extract(data, suffix)


@pytest.mark.parametrize("encoding", ["cp1252", "shift_jis", "koi8-r"])
def test_other_encodings(encoding: str) -> None:
    text = {
        "cp1252": "Der Ofen brennt montags, die Tür öffnet um neun; das weiß jeder. " * 4,
        "shift_jis": "窯は月曜日に火を入れます。店は九時に開きます。" * 4,
        "koi8-r": "Печь топят по понедельникам, мы открываемся в девять часов утра. " * 4,
    }[encoding]
    assert extract(text.encode(encoding), ".txt").text == text


def test_code_and_files_without_a_suffix_are_read(tmp_path: Path) -> None:
    (tmp_path / "kiln.py").write_text("def fire():\n    return 'monday'\n")
    (tmp_path / "LICENSE").write_text("Everybody may read this.\n")
    (tmp_path / "trace.log").write_text("started\n")
    folder = read_folder(tmp_path)
    assert [file.path.name for file in folder.files] == ["LICENSE", "kiln.py"]
    assert folder.describe_skipped() == "1 of another kind"
    assert {p.source for p in split_into_passages(folder.files)} == {
        f"{tmp_path / 'kiln.py'}:1",
        f"{tmp_path / 'LICENSE'}:1",
    }


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        (["*.log"], ["trace.log"]),
        (["deep/*"], ["a.md"]),
        (["*.md", "*.log"], ["a.md", "b.md", "trace.log"]),
    ],
)
def test_patterns_choose(tmp_path: Path, patterns: list[str], names: list[str]) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("trace.log", "deep/a.md", "b.md"):
        (tmp_path / name).write_text("words")
    found = [file.path.name for file in read_folder(tmp_path, patterns).files]
    assert sorted(found) == names


def test_nothing_matches(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("words")
    result = invoke("ask", "--docs", tmp_path, "--glob", "*.log", "kiln")
    assert result.exit_code == 2
    assert "expected files that match *.log; found: 1 of another kind" in result.stderr


def test_a_pattern_needs_a_folder(texts: Path, tmp_path: Path) -> None:
    given = ("--jsonl", texts, "--glob", "*.md", "--out", tmp_path / "c.json")
    result = invoke("calibrate", *given)
    assert result.exit_code == 2
    assert "--glob chooses files of --docs" in result.stderr


def test_installed_code_is_left_out(tmp_path: Path) -> None:
    for name in ("node_modules", "venv", "src"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text("words")
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    folder = read_folder(tmp_path)
    assert [file.path.parent.name for file in folder.files] == ["src"]
    assert "2 folder of installed code" in folder.describe_skipped()
