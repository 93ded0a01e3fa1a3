"""What every report has: language, paper, header and footer, glyphs, attached files."""

import dataclasses
from collections.abc import Sequence
from datetime import UTC
from typing import Any

from vbdesk import __version__
from vbdesk.contract.levels import Level
from vbdesk.contract.timestamps import in_zone
from vbdesk.language import _, current, formats, isolated
from vbdesk.report.documents.attached import Attached
from vbdesk.report.documents.compiler import FONTS
from vbdesk.report.documents.report_input import PageSize, ReportOptions
from vbdesk.report.drawing.glyphs import level_glyph
from vbdesk.report.drawing.shapes import Drawing
from vbdesk.report.drawing.style import Look, style
from vbdesk.report.drawing.svg import to_svg
from vbdesk.report.letterhead import Letterhead
from vbdesk.report.time_format import format_moment

_PAPER = {PageSize.A4: "a4", PageSize.LETTER: "us-letter"}


def document_frame(
    options: ReportOptions, *, title: str, name: str, description: str, attachments: Sequence[Attached]
) -> dict[str, Any]:
    """The parts of `common.typ`.

    Args:
        options: print options.
        title: at the top of the document.
        name: the subject, or a text for several.
        description: one sentence of the document's metadata.
        attachments: attached files.
    """
    language, _dash, region = current().tag.partition("-")
    moment = in_zone(options.exported_at, UTC)
    return {
        "language": language,
        "region": region or None,
        "digits": [formats.number(digit) for digit in range(10)],
        "paper": _PAPER[options.page_size],
        "fonts": list(FONTS),
        "made_at": [moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second],
        "title": title,
        "document_title": _("{title}: {name}", title=title, name=name),
        "description": f"{description} {_('A signal, not a diagnosis.')}",
        "producer": f"vbdesk {__version__}",
        "not_a_diagnosis": _("A signal, not a diagnosis"),
        "running_head": isolated(shortened_name(name)),
        "footer": _(
            "A signal, not a diagnosis. vbdesk {version}, exported {moment}.",
            version=__version__,
            moment=format_moment(options.exported_at, options.zone),
        ),
        "page_words": _("Page {number} of {total}"),
        "missing_words": _("□ stands for letters that no font of this computer has."),
        "letterhead": _letterhead(options.letterhead),
        "glyphs": {level.value: _glyph(level, options.look) for level in Level},
        "look": options.look.file,
        "attachments": [dataclasses.asdict(each) | {"listed": each.listed} for each in attachments],
    }


def sign_off(options: ReportOptions) -> dict[str, Any]:
    """Who read the report, and when."""
    known = options.sign_off
    values = (
        (isolated(shortened_name(known.name, 96)), format_moment(known.at, options.zone), "") if known else ("", "", "")
    )
    labels = (_("Name"), _("Date and time"), _("Signature"))
    return {
        "title": _("Read by"),
        "note": _("Read and signed off by name; the name was typed at export and is no cryptographic signature.")
        if known
        else _("Not signed off. Sign here after reading."),
        "fields": [{"label": label, "value": value} for label, value in zip(labels, values, strict=True)],
    }


def _letterhead(known: Letterhead | None) -> dict[str, Any] | None:
    if known is None:
        return None
    logo = {"format": known.logo_format, "content": list(known.logo)} if known.logo else None
    return {"name": isolated(known.name), "address": [isolated(line) for line in known.address], "logo": logo}


def shortened_name(name: str, length: int = 64) -> str:
    """A name without its middle, for one line."""
    return name if len(name) <= length else f"{name[: length - 17]}…{name[-16:]}"


def _glyph(level: Level, look: Look) -> str:
    return to_svg(Drawing(16, 16, "", "", level_glyph(level, 0, 0, 16, "#FFFFFF", style(look))), margin=0).decode()
