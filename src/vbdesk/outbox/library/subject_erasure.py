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
    """

    erased: int
    left: tuple[str, ...]


def recordings_to_erase(library: Library, group_id: str) -> list[str]:
    """Take ids of a subject's recordings here, those in the trash too."""
    here = [item.take_id for item in library.list(ItemFilter(group_id=group_id))]
    return [*here, *(trashed.take_id for trashed in library.trash.items(group_id))]


def erase_subject(library: Library, group_id: str) -> SubjectErasure:
    """Erase a subject's recordings here, then its history, note, alias and second line; its consent events stay.

    A recording that is being analysed stays and is named, and then so does the rest.
    """
    erased, left = 0, []
    for take_id in recordings_to_erase(library, group_id):
        try:
            library.discard(take_id, at_once=True)
            erased += 1
        except NotAllowed as error:
            left.append(str(error))
        except UnknownTake:  # gone meanwhile
            continue
    if not left:
        with library.store.changing():
            library.responses.forget_trajectory(group_id)
            library.subject_notes.keep(group_id, SubjectNote())
    return SubjectErasure(erased, tuple(left))
