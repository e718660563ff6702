"""What a report says, whatever it is written to."""

from __future__ import annotations

from recall_signal.evaluation.data import PRESENT
from recall_signal.evaluation.result import Evaluation, Figures

__all__ = [
    "CEILING",
    "COLUMNS",
    "LEGEND",
    "MODES_LEGEND",
    "cost",
    "figure_cells",
    "notes",
    "summary",
]

COLUMNS = ("", "AUROC", "95 %", "FPR95", "oracle", "default", "Brier", "ECE", "AUGRC")
"""Of the table of figures; what they mean is in :data:`LEGEND`."""

LEGEND = (
    "AUROC: 0.5 is chance. FPR95: absent queries let through where 95 % of the present ones are. "
    "oracle: balanced accuracy of the best cut, chosen with these labels. default: balanced "
    "accuracy as shipped, moderate or high counting as found. Brier and ECE weigh both classes "
    "the same. AUGRC: mean risk of a wrong answer given."
)

MODES_LEGEND = (
    "The modes have learnt the scale from: uncalibrated nothing; null general questions and "
    "pieces of stored texts, no labels; null+past these and the queries of the other split, "
    "without labels; stream the scores of those queries alone; labelled their labels as well."
)

SPLITS = (
    "A query without a split of its own goes to dev or test by a hash of its id, about half to "
    "each."
)

FEW = 20
"""Queries of a kind below which figures say little."""

_TOO_FEW = f"with fewer than {FEW} of a kind the figures say little"

CEILING = (
    "No statistic of the scores sees whether the answer itself is stored: where the topic is "
    "stored and the answer is not, a query looks like any other on that topic. High says that "
    "the topic is stored, not that the answer is."
)


def summary(evaluation: Evaluation) -> str:
    """One sentence on what was measured."""
    counts = ", ".join(
        f"{int((evaluation.kinds == kind).sum())} {kind.replace('_', ' ')}"
        for kind in (PRESENT, *evaluation.absent_kinds)
    )
    return (
        f"{evaluation.encoder} over {evaluation.documents} documents, pool of "
        f"{evaluation.pool_size}; {evaluation.split} split: {counts}; fitted on "
        f"{evaluation.sample} queries of the other split. {SPLITS}"
    )


def figure_cells(row: Figures) -> tuple[str, ...]:
    """One method's figures as text, in the order of :data:`COLUMNS`."""
    interval = f"{row.auroc_low:.2f}-{row.auroc_high:.2f}"
    values = (row.fpr95, row.oracle, row.balanced_accuracy, row.brier, row.ece, row.augrc)
    return (row.method, f"{row.auroc:.3f}", interval, *map(_figure, values))


def notes(evaluation: Evaluation) -> list[str]:
    """What is to be said of the number of queries and of the fits, a line each."""
    kinds = (PRESENT, *evaluation.absent_kinds)
    counts = {kind.replace("_", " "): int((evaluation.kinds == kind).sum()) for kind in kinds}
    few = [f"{count} {kind}" for kind, count in counts.items() if count < FEW]
    said = [f"only {' and '.join(few)} queries are reported: {_TOO_FEW}"] if few else []
    if evaluation.sample < FEW:
        said.append(f"only {evaluation.sample} queries were fitted on: {_TOO_FEW}")
    return said + [
        f"{method.name}: {note}" for method in evaluation.methods for note in method.notes
    ]


def cost(evaluation: Evaluation) -> list[str]:
    """A line on what a query costs; none where it was not measured."""
    if evaluation.latency is None:
        return []
    measured = evaluation.latency
    return [
        f"A query costs {measured.assess:.0f} us uncalibrated and {measured.calibrated:.0f} us "
        f"calibrated (processor time beside the search); a fit takes "
        f"{1000 * measured.fit:.0f} ms beside its searches."
    ]


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
