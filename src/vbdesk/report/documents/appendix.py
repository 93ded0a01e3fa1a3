"""The appendix of a report, on request: what research knows, the method, the attached files."""

from collections.abc import Sequence
from typing import Any

from vbdesk.contract.results import Signal
from vbdesk.report.documents.table_cell import cell
from vbdesk.report.report_texts import report_texts
from vbdesk.report.shipped_signs import shipped_signs


def appendix(signals: Sequence[Signal], job_id: str | None = None) -> dict[str, Any]:
    """Evidence of each sign, and how the analysis is made; with the job of a single recording."""
    texts, references = report_texts().details, shipped_signs()
    known = [(signal, references[signal.name]) for signal in signals if signal.name in references]
    rows = [
        [cell(signal.label), cell(reference.known), cell("; ".join(reference.confounders))]
        for signal, reference in known
    ]
    evidence = {
        "title": texts.evidence,
        "about": "",
        "columns": [report_texts().signals.signal, texts.known, texts.confounders],
        "shares": [20, 44, 36],
        "rows": rows,
    }
    job = [] if job_id is None else [texts.job.format(job_id=job_id)]
    return {
        "title": texts.method,
        "words": [texts.method_about, *job],
        "tables": [evidence] if rows else [],
        "attached": texts.attached,
    }
