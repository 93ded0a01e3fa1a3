"""The appendix of a report, on request: what research knows, the method, the attached files."""

from collections.abc import Sequence
from typing import Any

from vbdesk.contract.results import Signal
from vbdesk.language import _, formats, pgettext
from vbdesk.report.documents.table_cell import cell
from vbdesk.report.reader_words import label_word
from vbdesk.report.shipped_signs import shipped_signs


def appendix(signals: Sequence[Signal], job_id: str | None = None) -> dict[str, Any]:
    """Evidence of each sign, and how the analysis is made; with the job of a single recording."""
    references = shipped_signs()
    known = [(signal, references[signal.name]) for signal in signals if signal.name in references]
    rows = [
        [
            cell(label_word(signal.label)),
            cell(_(reference.known)),
            cell(formats.list_of([_(cause) for cause in reference.confounders])),
        ]
        for signal, reference in known
    ]
    evidence = {
        "title": _("What research knows"),
        "about": "",
        "columns": [
            _("Signal"),
            pgettext("what research knows", "Known"),
            _("Everyday causes that can sound the same"),
        ],
        "shares": [20, 44, 36],
        "rows": rows,
    }
    method = _(
        "A recording is decoded, checked, and measured; features are compared with norms of healthy adult speakers and"
        " weighted by published evidence; the cut of each level fixes how often healthy speakers reach it. A subject's"
        " own baseline is estimated from all recordings of the window, each weighted by its precision and age."
    )
    return {
        "title": _("Method"),
        "words": [method, *([] if job_id is None else [_("Job {job_id}", job_id=job_id)])],
        "tables": [evidence] if rows else [],
        "attached": _("Attached to this document"),
    }
