"""Exit with what the built site leaves out: exported names, and JSON Schemas or links to them."""

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[1]
SITE = ROOT / "site"
PACKAGES = ("recall_signal", "langchain_recall_signal", "llama_index_recall_signal")


def main() -> str | None:
    """Return what is missing, if anything."""
    found = [
        f"{what}: {', '.join(missing)}"
        for what, missing in (
            ("not in the reference", [*_undescribed()]),
            ("not on the site as in the package", [*_unpublished()]),
            ("linked from no page of the site", [*_unlinked()]),
        )
        if missing
    ]
    return "\n".join(found) or None


def _undescribed() -> Iterator[str]:
    pages = SITE.glob("reference/*/index.html")
    anchors = {found for page in pages for found in re.findall(r'id="([\w.]+)"', page.read_text())}
    for package in PACKAGES:
        for name in import_module(package).__all__:
            if not {f"{package}.{name}", f"{package}.{name}.{name}"} & anchors:
                yield f"{package}.{name}"


def _schemas() -> list[Path]:
    return sorted((ROOT / "core" / "recall_signal" / "schema").glob("*.json"))


def _unpublished() -> Iterator[str]:
    for path in _schemas():
        copy = SITE / "schema" / path.name
        if not copy.is_file() or copy.read_bytes() != path.read_bytes():
            yield path.name


def _unlinked() -> Iterator[str]:
    pages = [page.read_text() for page in SITE.glob("*/index.html")]
    for path in _schemas():
        if not any(f'href="../schema/{path.name}"' in page for page in pages):
            yield path.name


if __name__ == "__main__":
    sys.exit(main())
