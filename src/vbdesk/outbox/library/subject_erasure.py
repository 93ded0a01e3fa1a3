"""Erase what this computer has of a subject at once, without the trash."""

from dataclasses import dataclass

from vbdesk.outbox.library.items import ItemFilter
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.states import NotAllowed
from vbdesk.outbox.library.store import UnknownTake
from vbdesk.outbox.library.subject_notes import SubjectNote


@dataclass(frozen=True, slots=True)
class SubjectErasure:
    """What was erased.

    Attributes:
        erased: number of recordings whose keys and sound are destroyed.
        left: why each other one is still here, as a sentence.
        in_bundles: number of erased ones of which a bundle has a copy.
    """

    erased: int
    left: tuple[str, ...]
    in_bundles: int = 0


def recordings_to_erase(library: Library, group_id: str) -> dict[str, bool]:
    """A subject's recordings here, those in the trash too: whether a bundle has a copy, by take id."""
    here = library.list(ItemFilter(group_id=group_id))
    trashed = [each.item for each in library.trash.items(group_id) if each.item is not None]
    return {item.take_id: item.bundle_id is not None for item in (*here, *trashed)}


def erase_subject(library: Library, group_id: str) -> SubjectErasure:
    """Erase a subject's recordings here, then its history, note, alias and second line; its consent events stay.

    A recording that is being analysed stays and is named, and then so does the rest. One that was handed over is
    erased; its bundle is another copy.
    """
    erased, in_bundles, left = 0, 0, []
    for take_id, in_bundle in recordings_to_erase(library, group_id).items():
        try:
            library.discard(take_id, at_once=True, withdrawn=True)
            erased += 1
            in_bundles += in_bundle
        except NotAllowed as error:
            left.append(str(error))
        except UnknownTake:  # gone meanwhile
            continue
    if not left:
        with library.store.changing():
            library.responses.erase_subject(group_id)
            library.subject_notes.keep(group_id, SubjectNote())
    return SubjectErasure(erased, tuple(left), in_bundles)
