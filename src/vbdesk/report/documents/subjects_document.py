"""What the report of one or more subjects over time shows, as plain data for the template `subjects.typ`."""

from collections.abc import Sequence
from typing import Any

from vbdesk.contract.levels import FLAGGED_LEVELS
from vbdesk.contract.results import Signal
from vbdesk.language import _, formats, isolated, message, ngettext
from vbdesk.report.documents.appendix import appendix
from vbdesk.report.documents.attached import attached_tables
from vbdesk.report.documents.caution import caution_text, caution_title
from vbdesk.report.documents.frame import document_frame, sign_off
from vbdesk.report.documents.report_input import ReportOptions, report_input
from vbdesk.report.documents.table_cell import cell, cell_of_level
from vbdesk.report.documents.trajectory_section import recordings_table, trajectory_section
from vbdesk.report.reader_words import label_word
from vbdesk.report.subject_record import SubjectRecord
from vbdesk.report.time_format import format_moment, format_short_moment


def subjects_document(records: Sequence[SubjectRecord], options: ReportOptions) -> dict[str, Any]:
    """Everything that `subjects.typ` shows: an overview of several subjects, then each one.

    Raises:
        ValueError: none of them has a result; the message is for the user.
    """
    shown = [record for record in records if record.finished]
    if not shown:
        raise ValueError(message("No recording of these subjects has a result yet, so there is nothing to print."))
    several = len(records) > 1
    name = _count_of(records) if several else shown[0].group_id
    frame = document_frame(
        options,
        title=_("Subjects over time") if several else _("Subject over time"),
        name=name,
        description=_("Report: {name}.", name=name),
        attachments=attached_tables(records, options) if options.attach else (),
    )
    return frame | {
        "overview": _overview(records, options) if several else None,
        "subjects": [_subject(record, options, alone=not several) for record in shown],
        "caution": {"title": caution_title(), "words": caution_text()},
        "sign_off": sign_off(options),
        "appendix": appendix(_signs_of(shown, options)) if options.appendix else None,
    }


def _count_of(records: Sequence[SubjectRecord]) -> str:
    return ngettext("{count} subject", "{count} subjects", len(records))


def _signs_of(records: Sequence[SubjectRecord], options: ReportOptions) -> list[Signal]:
    """One reading of each sign that a subject's newest recording has."""
    found = {signal.name: signal for record in records for signal in report_input(record, options).signals}
    return list(found.values())


def _subject(record: SubjectRecord, options: ReportOptions, *, alone: bool) -> dict[str, Any]:
    finished = record.finished
    signals = report_input(record, options).signals
    facts = [
        (_("First recording"), format_moment(finished[0].recorded_at, options.zone)),
        (_("Last recording"), format_moment(finished[-1].recorded_at, options.zone)),
        (_("Recordings"), formats.number(len(finished))),
    ]
    return {
        "label": _("Subject"),
        "name": isolated(record.group_id),
        "line": isolated(options.subject_line) if alone else "",
        "facts": [{"label": label, "value": value} for label, value in facts],
        "course": trajectory_section(record, options, signals),
        "tables": [recordings_table(record, options, signals)],
    }


def _overview(records: Sequence[SubjectRecord], options: ReportOptions) -> dict[str, Any]:
    """All subjects with their newest levels, those with a flagged signal first."""
    rows = []
    for record in sorted(records, key=_urgency):
        newest = record.finished[-1] if record.finished else None
        signals = newest.signals if newest else ()
        flagged = [label_word(signal.label) for signal in signals if signal.level in FLAGGED_LEVELS]
        rows.append(
            [
                cell(isolated(record.group_id)),
                cell(formats.number(len(record.finished))),
                cell(format_short_moment(newest.recorded_at, options.zone) if newest else "–"),
                cell_of_level(newest.level if newest else None),
                cell(formats.list_of(flagged)),
            ]
        )
    return {
        "title": _count_of(records),
        "about": "",
        "columns": [_("Subject"), _("Recordings"), _("Last recording"), _("Overall level"), _("Signals")],
        "shares": [27, 12, 25, 18, 31],
        "rows": rows,
        "worded": True,
    }


def _urgency(record: SubjectRecord) -> tuple[int, str]:
    signals: Sequence[Signal] = record.finished[-1].signals if record.finished else ()
    return -sum(signal.level in FLAGGED_LEVELS for signal in signals), record.group_id
