"""The appendix of a report, on request: what research knows, the method, the attached files."""

from typing import Any

from vbdesk.report.documents.report_input import ReportInput
from vbdesk.report.documents.table_cell import cell
from vbdesk.report.report_texts import report_texts
from vbdesk.report.shipped_signs import shipped_signs


def appendix(subject: ReportInput) -> dict[str, Any]:
    """Evidence of each sign, and how the analysis is made."""
    texts, references = report_texts().details, shipped_signs()
    known = [(signal, references[signal.name]) for signal in subject.signals if signal.name in references]
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
    job = texts.job.format(job_id=subject.recording.job.job_id)
    return {
        "title": texts.method,
        "words": [texts.method_about, job],
        "tables": [evidence] if rows else [],
        "attached": texts.attached,
    }
