"""What every report has: language, paper, header and footer, glyphs, attached files."""

from datetime import UTC
from typing import Any

from vbdesk import __version__
from vbdesk.contract.levels import Level
from vbdesk.contract.timestamps import in_zone
from vbdesk.report.data_dictionary import table_definitions
from vbdesk.report.documents.compiler import FONTS
from vbdesk.report.documents.report_input import PageSize, ReportInput
from vbdesk.report.drawing.glyphs import level_glyph
from vbdesk.report.drawing.shapes import Drawing
from vbdesk.report.drawing.svg import to_svg
from vbdesk.report.fhir import fhir_bundle
from vbdesk.report.report_texts import report_texts
from vbdesk.report.tidy_csv import DICTIONARY_FILE, csv_files
from vbdesk.report.time_format import format_moment

_PAPER = {PageSize.A4: "a4", PageSize.LETTER: "us-letter"}
_RIGHT_TO_LEFT = frozenset({"ar", "fa", "he", "ur"})


def document_frame(subject: ReportInput) -> dict[str, Any]:
    """The parts of `common.typ`, for one subject."""
    texts, options = report_texts(), subject.options
    language, _, region = texts.language.partition("-")
    moment = in_zone(options.exported_at, UTC)
    made = texts.exported.format(version=__version__, moment=format_moment(options.exported_at, options.zone))
    when = format_moment(subject.recording.recorded_at, options.zone)
    return {
        "language": language,
        "region": region or None,
        "right_to_left": language in _RIGHT_TO_LEFT,
        "paper": _PAPER[options.page_size],
        "fonts": list(FONTS),
        "made_at": [moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second],
        "title": texts.title,
        "document_title": f"{texts.title}: {subject.record.group_id}",
        "description": f"{texts.fact.recorded} {when}. {texts.not_a_diagnosis}.",
        "producer": f"vbdesk {__version__}",
        "not_a_diagnosis": texts.not_a_diagnosis,
        "running_head": shortened_name(subject.record.group_id),
        "footer": f"{texts.not_a_diagnosis}. {made}.",
        "page_words": texts.page,
        "letterhead": None,
        "glyphs": {level.value: _glyph(level) for level in Level},
        "attachments": _attachments(subject) if options.attach else [],
    }


def shortened_name(name: str, length: int = 64) -> str:
    """A name without its middle, for one line."""
    return name if len(name) <= length else f"{name[: length - 18]}…{name[-16:]}"


def _glyph(level: Level) -> str:
    return to_svg(Drawing(16, 16, "", "", level_glyph(level, 0, 0, 16, "#FFFFFF"))).decode()


def _attachments(subject: ReportInput) -> list[dict[str, str]]:
    texts, options = report_texts().attachment, subject.options
    tables, attached = table_definitions(), []
    for name, content in csv_files([subject.record], scores=options.scores).items():
        table = tables.get(name.removesuffix(".csv"))
        words = texts.dictionary if name == DICTIONARY_FILE or table is None else texts.csv.format(title=table.title)
        attached.append(_attachment(name, "text/csv", words, content, "data"))
    alone = subject.record.only(subject.recording)
    bundle = fhir_bundle(alone, scores=options.scores, sign_off=options.sign_off)
    attached.append(_attachment("report.fhir.json", "application/fhir+json", texts.fhir, bundle, "alternative"))
    return attached


def _attachment(name: str, media_type: str, description: str, content: bytes, relationship: str) -> dict[str, str]:
    return {
        "name": name,
        "media_type": media_type,
        "description": description,
        "content": content.decode(),
        "relationship": relationship,
    }
