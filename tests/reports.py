"""Reports as plain values, of pages whose advice is that of their level."""

from typing import Any

from recall_signal import RecallConfidence, SelectionReport, advice
from recall_signal.reports import NOT_CONFIGURED, report_dict


def report_of(
    confidence: RecallConfidence,
    selection: SelectionReport = NOT_CONFIGURED,
    source: Any = None,
    rerank: Any = None,
) -> dict[str, Any]:
    return report_dict(confidence, selection, source, rerank, advice=advice(confidence))
