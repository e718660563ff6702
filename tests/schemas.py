"""The published JSON Schemas; `python -m tests.schemas` writes them from the types."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from recall_signal._report_schema import json_schemas

FOLDER = "schema"


def published(name: str) -> dict[str, Any]:
    """The schema that the package ships under this name."""
    text = (files("recall_signal") / FOLDER / name).read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


if __name__ == "__main__":
    for name, schema in json_schemas().items():
        path = Path(str(files("recall_signal"))) / FOLDER / name
        path.write_text(json.dumps(schema, indent=2) + "\n", "utf-8")
