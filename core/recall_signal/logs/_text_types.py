"""Types of the columns of text files, by which every value stays what was written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from recall_signal.logs._logged import CANDIDATES, WORDS_COUNT
from recall_signal.logs._score_batch import OUTDATED, BatchScorer

__all__ = [
    "RAW",
    "TextFormat",
    "column_type",
    "literal",
    "quoted",
    "raw_type",
    "tests_in_sql",
    "values_in_sql",
]

TextFormat: TypeAlias = Literal["json", "csv"]

RAW: dict[TextFormat, str] = {"json": "JSON", "csv": "VARCHAR"}
"""Type of a value as it is written."""


def column_type(name: str, found: str, scorer: BatchScorer) -> str:
    """Return the SQL type by which a column is read."""
    if name in (scorer.cosines, scorer.scores):
        # A column of nulls only has no type of its own.
        return "DOUBLE[]" if found.endswith("[]") or found == "JSON" else found
    if name == CANDIDATES and found in ("JSON", "VARCHAR"):  # of nulls only, likewise
        return WHOLE
    if name == scorer.term_coverage:
        return "DOUBLE"
    if name == TIME and found.startswith("TIMESTAMP"):
        return found
    return WHOLE if found in _WHOLE else _REWRITTEN.sub("VARCHAR", found)


TIME = "ts"
"""Column of times in a log of a `LogWriter`."""

_REWRITTEN = re.compile(r"^(DATE|TIME.*?|UUID|JSON)(?=(\[\])*$)")
"""Types of texts that DuckDB would write in another way, and of values of several types."""

WHOLE = "BIGINT"

_WHOLE = (WHOLE, "UBIGINT", "HUGEINT")
"""Types of whole numbers, which depend on the version of DuckDB; most fit into the first one."""

_OTHERWISE = {
    WHOLE: "{0}::VARCHAR IS DISTINCT FROM TRY_CAST({0}::VARCHAR AS BIGINT)::VARCHAR",
    "DOUBLE": "regexp_full_match({0}::VARCHAR, '-?[0-9]{{16,}}')",
    "BOOLEAN": "lower({0}::VARCHAR) NOT IN ('true', 'false')",
}
"""Whether a value is written otherwise than its type would be: 0x1F, an id of many digits, F."""


def raw_type(found: str, kind: TextFormat) -> str:
    """Return the SQL type by which values are read before they are checked, if they are."""
    return RAW[kind] if found == WHOLE else found


def tests_in_sql(types: Mapping[str, str], scorer: BatchScorer) -> dict[str, str]:
    """Return columns of which a value may be no number or truth value, and what is true then.

    Args:
        types: SQL types of the columns.
        scorer: Knows which columns are figures.
    """
    figures = {scorer.term_coverage, CANDIDATES, WORDS_COUNT, *OUTDATED}
    return {
        name: _OTHERWISE[found].format(quoted(name))
        for name, found in types.items()
        if found in _OTHERWISE and name not in figures
    }


def values_in_sql(own: Mapping[str, str | None], types: Mapping[str, str]) -> str:
    """Return the values of a row in SQL, and behind them whether a whole number is none.

    DuckDB itself would round a decimal, and take 0x1F for a number.

    Args:
        own: Columns, and what the file calls them; None for one that it does not have.
        types: SQL types of the columns.
    """
    values, flaws = [], ["false"]
    for name, held in own.items():
        value = f"NULL::{types[name]}" if held is None else quoted(held)
        if held is not None and types[name] == WHOLE:
            flaws.append(_OTHERWISE[WHOLE].format(value))
            value = f"TRY_CAST({value}::VARCHAR AS {WHOLE})"
        values.append(f"{value} AS {quoted(name)}")
    other = quoted("".join(own) + "?")  # longer than the name of any column, so that it is none
    return f"{', '.join(values)}, {' OR '.join(flaws)} AS {other}"


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
