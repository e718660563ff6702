"""The page on logs says what the schema and the settings say."""

import re
from pathlib import Path

from recall_signal.logs import COLUMNS, LogOptions
from recall_signal.logs._schema import QUERY

PAGE = (Path(__file__).parents[2] / "docs" / "logs.md").read_text("utf-8")


def test_every_column_is_documented() -> None:
    table = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|$", PAGE, re.M)
    documented = [
        row for row in table if row[0] not in LogOptions.model_fields or row[1] == "string"
    ]
    assert documented == [(c.name, c.type, c.meaning) for c in (*COLUMNS, QUERY)]


def test_every_setting_is_documented() -> None:
    settings = PAGE[PAGE.index("| setting of `LogWriter`") :].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", settings)) == {"LogWriter", *LogOptions.model_fields}
