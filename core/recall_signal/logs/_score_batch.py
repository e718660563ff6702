"""Score a table of a log: the one function that every engine runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from recall_signal._given import given_column, given_names
from recall_signal._many.columns import COLUMNS
from recall_signal._many.rows import holds_lists
from recall_signal.assess import Calibrator, require_calibrator
from recall_signal.assess_many import Assessments, assess_many
from recall_signal.calibration import Calibration
from recall_signal.errors import InvalidInputError
from recall_signal.logs._logged import (
    CANDIDATES,
    WORDS_COUNT,
    check_counts,
    joined,
    with_candidates,
    with_helping_words,
    with_logged,
    words_only_help,
)
from recall_signal.logs._schema import require_arrow
from recall_signal.thresholds import Thresholds, thresholds_in_force

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["OUTDATED", "SCORED", "BatchScorer", "score_batch"]

SCORED = tuple(name for name in COLUMNS if name != "rationale")
"""The columns that scoring makes, in order; a column of the log with such a name gives way."""

OUTDATED = frozenset({*SCORED, "advice", "calibration", "calibration_status"})
"""Columns of a log that belong to its old levels."""

ArrowRows = TypeVar("ArrowRows", "pa.Table", "pa.RecordBatch")


@dataclass(frozen=True, slots=True)
class BatchScorer:
    """The settings of a scoring, with which any number of tables can be scored; can be pickled.

    Attributes:
        calibration: Decides the level; a `Calibration`, as a stream cannot be followed in parts.
        thresholds: Other cuts than the default ones.
        cosines: Name of the column of lists of cosines.
        scores: Name of a column of lists of keyword scores; used where the log has it.
        term_coverage: Name of the column of term coverages; used where the log has it.
        keep: Columns of the log that the result keeps; None for all but lists and structures,
            and those that belong to the old level.
        encoded: False makes plain strings of dictionaries, for engines that know none.

    Raises:
        ConfigurationError: A setting is wrong.
    """

    calibration: Calibrator | None = None
    thresholds: Thresholds | None = None
    cosines: str = "cosines"
    scores: str | None = "scores"
    term_coverage: str | None = "term_coverage"
    keep: Sequence[str] | None = None
    encoded: bool = True

    def __post_init__(self) -> None:  # not run where a pickle of it is read
        if self.calibration is not None:
            require_calibrator(self.calibration)
        thresholds_in_force(self.thresholds)
        given_column("cosines", self.cosines)
        for setting in ("scores", "term_coverage"):
            if getattr(self, setting) is not None:
                given_column(setting, getattr(self, setting))
        if self.keep is not None:
            names = given_names("keep", self.keep, "names of columns")
            object.__setattr__(self, "keep", tuple(names))

    def __call__(self, batch: ArrowRows) -> ArrowRows:
        """Return the kept columns and the scored ones, row for row.

        Raises:
            InvalidInputError: A column is missing, or is not what it has to be.
        """
        arrow = require_arrow()
        self.check(batch.schema)
        signals = self._assess(batch)
        columns = {name: batch.column(name) for name in self.kept(batch.schema)}
        for name, column in zip(signals.column_names, signals.columns, strict=True):
            if arrow.types.is_dictionary(column.type) and not self.encoded:
                column = column.cast(arrow.string())
            columns[name] = column
        if isinstance(batch, arrow.RecordBatch):
            parts = [joined(column) for column in columns.values()]
            return arrow.RecordBatch.from_arrays(parts, names=list(columns))
        return arrow.table(columns)

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Return the schema of the result for tables of a schema."""
        self.check(given)
        empty: pa.Schema = self(given.empty_table()).schema
        return empty

    def read(self, given: pa.Schema) -> list[str]:
        """Return the columns of a log that scoring needs to read."""
        self.check(given)
        used = [self.cosines, self.scores, self.term_coverage, CANDIDATES, WORDS_COUNT, *SCORED]
        names = [name for name in used if name in given.names]
        return list(dict.fromkeys([*self.kept(given), *(name for name in names if name)]))

    def kept(self, given: pa.Schema) -> list[str]:
        """Return the columns of a log that the result keeps.

        Raises:
            InvalidInputError: One of them is missing, or is one that scoring makes.
        """
        types = require_arrow().types
        if self.keep is None:
            lists = {self.cosines, self.scores}
            return [
                field.name
                for field in given
                if not types.is_nested(field.type) and field.name not in OUTDATED | lists
            ]
        missing = [name for name in self.keep if name not in given.names]
        made = [name for name in self.keep if name in SCORED]
        if missing or made:
            reason = "has no column" if missing else "gets a new column"
            raise InvalidInputError(
                f"the log {reason} {', '.join(missing or made)}, which was to be kept; "
                f"its columns are {', '.join(given.names)}"
            )
        return list(self.keep)

    def check(self, given: pa.Schema) -> None:
        """Refuse a schema without cosines.

        Raises:
            InvalidInputError: The column is missing, or holds something else; or a name stands
                twice.
        """
        names = given.names
        if len(set(names)) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise InvalidInputError(
                f"the log has more than one column {', '.join(twice)}; give each a name of its own"
            )
        if self.cosines not in names:
            raise InvalidInputError(
                f"the log has no column {self.cosines}, a list of cosines for each query; its "
                f"columns are {', '.join(names) or 'none'}: name the right one"
            )
        for name, held in ((self.cosines, "cosines"), (self.scores, "keyword scores")):
            if name in names and not holds_lists(given.field(name).type):
                raise InvalidInputError(
                    f"the column {name} must hold a list of {held} for each query, as numbers, got "
                    f"{given.field(name).type}; name another column, or cast it"
                )
        if self._counts(given):
            check_counts(given.field(CANDIDATES).type)

    def _counts(self, given: pa.Schema) -> bool:
        """Return whether the number of candidates stands in a column of its own."""
        return self.scores not in given.names and CANDIDATES in given.names

    def _assess(self, batch: pa.Table | pa.RecordBatch) -> pa.Table:
        names = batch.schema.names
        cosines = batch.column(self.cosines)
        coverage = batch.column(self.term_coverage) if self.term_coverage in names else None
        scores = self.scores if self.scores in names else None
        signals: Assessments = assess_many(
            cosines,
            scores=None if scores is None else batch.column(scores),
            thresholds=self.thresholds,
            calibration=self.calibration,
            term_coverage=coverage,
        )
        table = signals.to_arrow()
        if coverage is not None and WORDS_COUNT in names:
            table = self._helped(table, cosines, words_only_help(batch.column(WORDS_COUNT)))
        if self._counts(batch.schema) and cosines.null_count:
            table = with_candidates(table, cosines.is_null(), batch.column(CANDIDATES))
        logged = {name: batch.column(name) for name in SCORED if name in names}
        if coverage is not None:
            logged["term_coverage"] = coverage
        return with_logged(table, logged)

    def _helped(
        self, signals: pa.Table, cosines: pa.Array | pa.ChunkedArray, only_help: pa.Array
    ) -> pa.Table:
        """Return signals in which words of such queries can only help."""
        reads_words = isinstance(self.calibration, Calibration) and self.calibration.reads_words
        if not reads_words or not only_help.true_count:
            return signals
        alone = assess_many(cosines.filter(only_help), calibration=self.calibration)
        return with_helping_words(signals, only_help, alone.to_arrow())


def score_batch(batch: ArrowRows, calibration: Calibrator | None = None) -> ArrowRows:
    """Return a table or record batch of a log with levels made anew.

    Args:
        batch: With a column `cosines` of lists; `scores` (lists), `term_coverage` and
            `words_count` are used where they are there. A log's `candidates` tells an empty pool,
            which is level none, from one of which nothing was measured. What was logged stays
            where no cosine shows it: a level unknown for another `reason`, such as an empty
            question, and a level by keyword scores that are not in the log.
        calibration: Decides the level; without one the default thresholds do.

    Raises:
        InvalidInputError: A column is missing, or is not what it has to be.
    """
    return BatchScorer(calibration)(batch)
