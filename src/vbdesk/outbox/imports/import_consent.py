"""What the consent policy says of the rows of an import, before it is done."""

from dataclasses import replace
from datetime import datetime

from vbdesk.outbox.imports.file_import import ImportPreview, ImportRow
from vbdesk.outbox.library.consent import ConsentPolicy
from vbdesk.outbox.library.consent_gate import ConsentList

NO_CONSENT_NOTED = "No consent noted."


def with_consent(preview: ImportPreview, consents: ConsentList, now: datetime) -> ImportPreview:
    """The preview, with a fault or a note in every row whose subject has not consented.

    An import needs the consent now, whenever the file was recorded.
    """
    if consents.rules.policy is ConsentPolicy.OFF:
        return preview
    return ImportPreview(tuple(_with_consent(row, consents, now) for row in preview.rows))


def _with_consent(row: ImportRow, consents: ConsentList, now: datetime) -> ImportRow:
    if row.error is not None or consents.status(row.group_id, now).in_force:
        return row
    refusal = consents.refusal(row.group_id, now)
    return replace(row, error=refusal) if refusal is not None else replace(row, notes=(*row.notes, NO_CONSENT_NOTED))
