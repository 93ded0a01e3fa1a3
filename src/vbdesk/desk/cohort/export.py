"""Cohort as a tidy table: one row for each subject and sign. No Qt: made on a worker."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence

from vbdesk.contract.baseline_changes import OWN_RANGE_Z
from vbdesk.contract.levels import Level
from vbdesk.desk.cohort.subject_summary import USUAL, SignState, SubjectSummary
from vbdesk.report.data_dictionary import cohort_definition
from vbdesk.report.tables import Value
from vbdesk.report.tidy_csv import csv_cell, dictionary_csv


def cohort_csv(summaries: Sequence[SubjectSummary], labels: Mapping[str, str], *, scores: bool) -> bytes:
    """The table as CSV in UTF-8; raw scores only on request."""
    rows = list(_rows(summaries, labels))
    names = [column.name for column in cohort_definition().columns_for(scores=scores)]
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([csv_cell(row[name]) for name in names] for row in rows)
    return text.getvalue().encode()


def cohort_dictionary_csv(*, scores: bool) -> bytes:
    """Data dictionary of the table."""
    return dictionary_csv({"cohort": cohort_definition()}, scores=scores)


def _rows(summaries: Sequence[SubjectSummary], labels: Mapping[str, str]) -> Iterator[dict[str, Value]]:
    for entry in summaries:
        for name, state in entry.signs.items():
            yield {
                "group_id": entry.group_id,
                "recorded_at": entry.recorded_at,
                "job_id": entry.job_id,
                "recordings": entry.recordings,
                "sign": name,
                "label": labels.get(name, name),
                "level": state.level.value,
                "flagged": state.level.flagged,
                "level_before": None if state.before is None else state.before.value,
                "flagged_in_a_row": state.held,
                "readings": state.n,
                "against_baseline": _side(state),
                "anomaly": None if state.z is None else state.unusual != USUAL,
                "score": state.score,
                "baseline_score": state.baseline,
                "deviation_from_baseline": state.deviation,
                "z_score": state.z,
                "read_at": entry.read_at,
            }


def _side(state: SignState) -> str | None:
    if state.z is None or state.level is Level.INCONCLUSIVE:
        return None
    if abs(state.z) <= OWN_RANGE_Z and state.unusual == USUAL:
        return "within"
    return "above" if state.z > 0 else "below"
