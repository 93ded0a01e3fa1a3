"""Erase what this computer has of a subject at once, without the trash."""

from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.subject_registry import FILES_HELD, TABLES_HELD, Fate, SubjectErasure


def erase_subject(library: Library, group_id: str) -> SubjectErasure:
    """Erase what the registry says of a subject, its recordings first; its consent events stay.

    A recording that is being analysed stays and is named, and then so does the rest. One that was handed over is
    erased; its bundle is another copy.
    """
    erasing = SubjectErasure(library, group_id)
    _run(erasing, Fate.ERASED)
    if not erasing.left:
        with library.store.changing():
            _run(erasing, Fate.ERASED_LAST)
    return erasing


def _run(erasing: SubjectErasure, fate: Fate) -> None:
    for step in dict.fromkeys(holding.step for holding in (*TABLES_HELD, *FILES_HELD) if holding.fate is fate):
        if step is not None:
            step(erasing)
