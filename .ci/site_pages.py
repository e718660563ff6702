"""Hooks of mkdocs: what lies outside `docs` and belongs to the site.

The notebooks become pages, with the outputs that they are stored with; the JSON Schemas of the
package are files under `schema/`. A page links to both where they lie in the repository, so that
its links also lead somewhere for who reads it there.
"""

import json
import re
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "notebooks"
SCHEMAS = ROOT / "core" / "recall_signal" / "schema"

ON_THE_SITE = {
    r"\]\(\.\./notebooks/(\w+)\.ipynb\)": r"](notebooks/\1.md)",
    r"\]\(\.\./core/recall_signal/schema/([\w.]+)\)": r"](schema/\1)",
}
"""Links as they are written -> as they are on the site."""


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Turn links that leave `docs` into links of the site."""
    for written, served in ON_THE_SITE.items():
        markdown = re.sub(written, served, markdown)
    return markdown


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the schemas, a page for each notebook, and its pictures."""
    for path in sorted(SCHEMAS.glob("*.json")):
        files.append(File.generated(config, f"schema/{path.name}", content=path.read_bytes()))
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        pictures: dict[str, bytes] = {}
        note = f"\nThis page is the notebook `notebooks/{path.name}`, with its outputs.\n"
        parts = [part for cell in cells for part in _parts(cell, path.stem, pictures)]
        parts.insert(1, note)
        page = "\n\n".join(parts)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=page))
        for name, content in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    return files


def _parts(cell: dict[str, Any], stem: str, pictures: dict[str, bytes]) -> Iterator[str]:
    """Yield a cell and what it showed, as markdown; pictures are added to `pictures`."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "image/png" in data:
            name = f"{stem}-{len(pictures)}.png"
            pictures[name] = b64decode("".join(data["image/png"]))
            words = "Picture drawn by the cell above; the text below says what it shows."
            yield f"![{words}]({name})"
        elif "text/html" in data:
            yield f'<div class="shown">{"".join(data["text/html"])}</div>'
        else:
            text = "".join(output.get("text", data.get("text/plain", "")))
            yield f"```text\n{text.rstrip()}\n```"
