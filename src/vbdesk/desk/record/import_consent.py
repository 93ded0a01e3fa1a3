"""The consent of an import's subjects: whose is missing, in words. No Qt widgets."""

from collections.abc import Iterable

from vbdesk.language import _, ngettext
from vbdesk.outbox.imports.import_row import ImportRow
from vbdesk.outbox.library.consent import ConsentPolicy


def lacking_consent(rows: Iterable[ImportRow]) -> dict[str, str]:
    """Subjects whose consent is missing, with the alias of each; those of unusable files do not count."""
    usable = (row for row in rows if not row.list_faults and (row.facts is None or row.facts.fault is None))
    return {row.group_id: row.alias for row in usable if row.lacks_consent}


def lacking_text(count: int, policy: ConsentPolicy) -> str:
    """How many subjects have no consent, and what that means, as a sentence."""
    if policy is ConsentPolicy.REQUIRED:
        return ngettext(
            "{count} subject has no consent noted, and this profile requires one.",
            "{count} subjects have no consent noted, and this profile requires one.",
            count,
        )
    return ngettext("{count} subject has no consent noted.", "{count} subjects have no consent noted.", count)


def note_text(count: int) -> str:
    """The label of the button that notes the consent of so many subjects."""
    if count == 0:
        return _("Note consent")
    return ngettext("Note consent of {count} subject", "Note consent of {count} subjects", count)
