"""Which files of a folder are read, how, and what is said about the others."""

import os
from pathlib import Path
from typing import Any

import pytest

from recall_signal import ConfigurationError
from recall_signal.cli import _folder as module
from recall_signal.cli._folder import read_folder


def test_reads_the_known_kinds_in_sorted_order(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a").mkdir()
    for name in ("z.txt", "b/x.rst", "b/c.md", "a/y.MARKDOWN"):
        (tmp_path / name).write_text(name)
    (tmp_path / "a" / "pixels.png").write_text("x")
    folder = read_folder(tmp_path)
    names = [file.path.relative_to(tmp_path).as_posix() for file in folder.files]
    assert names == ["z.txt", "a/y.MARKDOWN", "b/c.md", "b/x.rst"]
    assert [file.extracted.text for file in folder.files] == names
    assert folder.describe_skipped() == "1 of another kind"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"one\r\ntwo\rthree\n", "one\ntwo\nthree\n"),
        (b"\xef\xbb\xbfmarked", "marked"),
        ("Fenster é".encode("utf-16"), "Fenster é"),
        (b"\xfe\xff" + "é".encode("utf-16-be"), "é"),
        ("窯".encode(), "窯"),
    ],
)
def test_decodes(tmp_path: Path, data: bytes, text: str) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    assert read_folder(tmp_path).files[0].extracted.text == text


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff\xfea", "not UTF-8 text"),
        (b"a\0b", "binary"),
        (b"", "empty"),
        (b" \n\t", "empty"),
        (b"```\n---\n", "without words"),
        (b"x" * 101, "larger than 0 MB"),
    ],
)
def test_leaves_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, reason: str
) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 100)
    (tmp_path / "a.txt").write_bytes(data)
    with pytest.raises(ConfigurationError, match=r"nothing to read.* found: 1 ") as caught:
        read_folder(tmp_path)
    assert f"1 {reason} ({tmp_path / 'a.txt'})" in str(caught.value)


def test_hidden_and_linked_folders_are_not_entered(tmp_path: Path) -> None:
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "a.txt").write_text("x")
    (tmp_path / ".notes.txt").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "seen.txt").write_text("x")
    folder = read_folder(tmp_path)
    assert [file.path.name for file in folder.files] == ["seen.txt"]
    assert folder.describe_skipped() == f"2 hidden; 1 linked folder ({tmp_path / 'link'})"


def test_no_more_than_three_names_a_reason(tmp_path: Path) -> None:
    for name in "abcd":
        (tmp_path / f"{name}.txt").touch()
    (tmp_path / "z.txt").write_text("x")
    described = read_folder(tmp_path).describe_skipped()
    assert described.startswith("4 empty (")
    assert described.endswith("c.txt, ...)")


def test_pipes_and_broken_links_are_not_opened(tmp_path: Path) -> None:
    """F2: nothing that would hang is read."""
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "nowhere.txt").symlink_to("gone")
    (tmp_path / "loop.txt").symlink_to("loop.txt")
    (tmp_path / "file.txt").write_text("x")
    assert "3 not a regular file" in read_folder(tmp_path).describe_skipped()


def test_links_are_read_only_within_the_folder(tmp_path: Path) -> None:
    """F2: a link out of the folder is not followed."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (tmp_path / "outside.txt").write_text("secret")
    (docs / "inside.txt").write_text("x")
    (docs / "link.txt").symlink_to("inside.txt")
    (docs / "out.txt").symlink_to(tmp_path / "outside.txt")
    (docs / "device.txt").symlink_to("/dev/zero")
    folder = read_folder(docs)
    assert [(file.path.name, file.extracted.text) for file in folder.files] == [
        ("inside.txt", "x"),
        ("link.txt", "x"),
    ]
    assert folder.describe_skipped() == (
        f"2 link out of the folder ({docs / 'device.txt'}, {docs / 'out.txt'})"
    )


def refuse(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, path: Path) -> None:
    """Make one call fail for one path: the tests may run as a user who may do everything."""
    original = getattr(owner, name)

    def call(given: Any, *args: Any, **kwargs: Any) -> Any:
        if given == str(path) or given == path:
            raise PermissionError(13, "Permission denied", os.fspath(given))
        return original(given, *args, **kwargs)

    monkeypatch.setattr(owner, name, call)


def test_what_cannot_be_opened_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name)
    refuse(monkeypatch, os, "scandir", tmp_path / "closed")
    refuse(monkeypatch, os, "open", tmp_path / "a.txt")
    folder = read_folder(tmp_path)
    assert [file.path.name for file in folder.files] == ["b.txt"]
    assert folder.describe_skipped().startswith("2 not readable (")


@pytest.mark.parametrize(("owner", "name"), [(os, "scandir"), (Path, "exists")])
def test_a_folder_that_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str
) -> None:
    refuse(monkeypatch, owner, name, tmp_path)
    with pytest.raises(ConfigurationError, match="cannot be read: Permission denied"):
        read_folder(tmp_path)


def test_wrong_folders(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="does not exist"):
        read_folder(tmp_path / "missing")
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(ConfigurationError, match="is not a folder"):
        read_folder(tmp_path / "a.txt")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigurationError, match=r"\.txt; found: it is empty"):
        read_folder(tmp_path / "empty")
