"""Erase what this computer has of a subject at once, without the trash."""

from dataclasses import dataclass

from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.subject_registry import HOLDINGS, Erasing, Fate


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


def erase_subject(library: Library, group_id: str) -> SubjectErasure:
    """Erase what the registry says of a subject, its recordings first; its consent events stay.

    A recording that is being analysed stays and is named, and then so does the rest. One that was handed over is
    erased; its bundle is another copy.
    """
    erasing = Erasing(library, group_id)
    _run(erasing, Fate.ERASED)
    if not erasing.left:
        with library.store.changing():
            _run(erasing, Fate.ERASED_LAST)
    return SubjectErasure(erasing.erased, tuple(erasing.left), erasing.in_bundles)


def _run(erasing: Erasing, fate: Fate) -> None:
    for step in dict.fromkeys(holding.step for holding in HOLDINGS if holding.fate is fate):
        if step is not None:
            step(erasing)
