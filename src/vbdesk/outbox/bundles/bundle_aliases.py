"""Aliases in a bundle: the names by which people know its subjects. Second lines stay on their computer."""

from collections.abc import Collection

from vbdesk.outbox.bundles.bundle_manifest import BundledAlias
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.subject_names import LONGEST_ALIAS, alias_fault, tidy

_NUMBER_ROOM = 8


def aliases_to_carry(library: Library, group_ids: Collection[str]) -> tuple[BundledAlias, ...]:
    """The aliases of these subjects."""
    notes = library.subject_notes
    known = {group_id: notes.note_of(group_id).alias for group_id in sorted(group_ids)}
    return tuple(BundledAlias(group_id=group_id, alias=alias) for group_id, alias in known.items() if alias)


def take_in_aliases(library: Library, aliases: Collection[BundledAlias]) -> None:
    """Store aliases of subjects that have none here.

    Two computers may have given the same alias to two subjects. They stay two: the arriving one gets a number.
    """
    notes = library.subject_notes
    for arriving in aliases:
        alias = tidy(arriving.alias)
        if alias_fault(alias) is not None or notes.note_of(arriving.group_id).alias:
            continue
        free, number = alias, 1
        while notes.group_id_of(free) not in (None, arriving.group_id):
            number += 1
            free = f"{alias[: LONGEST_ALIAS - _NUMBER_ROOM]} ({number})"
        notes.store_alias(arriving.group_id, free)
