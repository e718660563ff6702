"""A hook of mkdocs: the JSON Schemas of the package are files of the site, under `schema/`."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

FOLDER = Path(__file__).parents[1] / "core" / "recall_signal" / "schema"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add each schema as it is in the package."""
    for path in sorted(FOLDER.glob("*.json")):
        files.append(File.generated(config, f"schema/{path.name}", content=path.read_bytes()))
    return files
