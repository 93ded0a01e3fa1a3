"""Registry of everything that a library holds: what belongs to a subject, and what an erasure does with it.

Every table and every kind of file has one entry; a test compares them with the schema and with a library's folder. An
erasure runs the steps of the entries, in their order.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from vbdesk.outbox.library.items import ItemFilter
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.states import NotAllowed
from vbdesk.outbox.library.store import UnknownTake
from vbdesk.outbox.library.subject_notes import SubjectNote


class Fate(StrEnum):
    """What becomes of what an entry holds of a subject that is erased."""

    ERASED = "erased"
    ERASED_LAST = "erased when no recording is left"  # until then a person needs the name of the rest
    STAYS = "stays"
    NOBODYS = "belongs to nobody"


@dataclass(slots=True)
class SubjectErasure:
    """An erasure, and what it has erased.

    Attributes:
        erased: number of recordings whose keys and sound are destroyed.
        left: why each other one is still here, as a sentence.
        in_bundles: number of erased ones of which a bundle has a copy.
    """

    library: Library = field(repr=False)
    group_id: str
    erased: int = 0
    left: tuple[str, ...] = ()
    in_bundles: int = 0


@dataclass(frozen=True, slots=True)
class Holding:
    """One place with data.

    Attributes:
        place: a table, a pattern of paths in the library's folder, or a place outside of it.
        note: what it holds, and why it stays or belongs to nobody.
        step: how it is erased.
    """

    place: str
    fate: Fate
    note: str
    step: Callable[[SubjectErasure], None] | None = None


def recordings_to_erase(library: Library, group_id: str) -> dict[str, bool]:
    """A subject's recordings here, those in the trash too: whether a bundle has a copy, by take id."""
    here = library.list(ItemFilter(group_id=group_id))
    trashed = library.store.trashed("group_id = ?", (group_id,))
    return {item.take_id: item.bundle_id is not None for item in (*here, *trashed)}


def _recordings(erasing: SubjectErasure) -> None:
    for take_id, in_bundle in recordings_to_erase(erasing.library, erasing.group_id).items():
        try:
            erasing.library.discard(take_id, at_once=True, withdrawn=True)
        except NotAllowed as error:
            erasing.left += (str(error),)
        except UnknownTake:  # gone meanwhile
            continue
        else:
            erasing.erased += 1
            erasing.in_bundles += in_bundle


def _loose_takes(erasing: SubjectErasure) -> None:
    erased, left = erasing.library.damaged.erase_subject(erasing.group_id)
    erasing.erased += erased
    erasing.left += tuple(left)


def _answers(erasing: SubjectErasure) -> None:
    erasing.library.responses.erase_subject(erasing.group_id)


def _note(erasing: SubjectErasure) -> None:
    erasing.library.subject_notes.store(erasing.group_id, SubjectNote())


def _events(erasing: SubjectErasure) -> None:
    erasing.library.corrections.erase_subject(erasing.group_id)
    erasing.library.store.journal.erase_subject(erasing.group_id)


def _traces(erasing: SubjectErasure) -> None:
    erasing.library.drop_traces()


def _service(erasing: SubjectErasure) -> None:
    if erasing.library.erasures is not None:
        erasing.library.erasures.add_subject(erasing.group_id)


TABLES_HELD = (
    Holding("recordings", Fate.ERASED, "recordings and the keys of their sound, in the trash too", _recordings),
    Holding("results", Fate.ERASED, "leave with their recording", _recordings),
    Holding("pending", Fate.ERASED, "leave with their recording", _recordings),
    Holding("opened", Fate.ERASED, "leave with their recording", _recordings),
    Holding("trajectories", Fate.ERASED_LAST, "cached histories", _answers),
    Holding("reads", Fate.ERASED_LAST, "cached answers; those about several subjects are made again", _answers),
    Holding("subjects", Fate.ERASED_LAST, "note, tags, name, second line, languages", _note),
    Holding("corrections_due", Fate.ERASED_LAST, "what the service has still to do, once it has", _events),
    Holding("subject_keys", Fate.ERASED_LAST, "the key of what events say; an event names it", _events),
    Holding("settings", Fate.ERASED_LAST, "what the service on this computer has to erase; until it has", _service),
    Holding("audit", Fate.STAYS, "consents: prove what was asked, and stop what other computers still have"),
    Holding("removed", Fate.NOBODYS, "random ids of recordings that are gone"),
    Holding("jobs", Fate.NOBODYS, "random ids, so that no old job is taken for a new one"),
    Holding("bundles", Fate.NOBODYS, "paths of files that hold copies, and how many"),
    Holding("requests", Fate.NOBODYS, "times of requests"),
    Holding("library", Fate.NOBODYS, "version and checksums"),
)
FILES_HELD = (
    Holding("takes/*", Fate.ERASED, "sound; a file without a key opens for nobody", _recordings),
    Holding("recording/*", Fate.ERASED, "undecided takes; one with a damaged description stays", _loose_takes),
    Holding("damaged/*", Fate.ERASED, "damaged takes kept aside, likewise", _loose_takes),
    Holding("library.sqlite", Fate.ERASED_LAST, "the tables; written again without deleted values", _traces),
    Holding("library.sqlite-*", Fate.ERASED_LAST, "the log of the tables; emptied", _traces),
    Holding("library.sqlite.v*.bak*", Fate.ERASED_LAST, "copies before a repair; deleted", _traces),
    Holding("library.sqlite.encrypted", Fate.NOBODYS, "copy of an earlier list that replaces it"),
    Holding("library.mark", Fate.NOBODYS, "the version of the list"),
    Holding("library.lock", Fate.NOBODYS, "empty"),
    Holding("room.probe", Fate.NOBODYS, "zeros"),
)
COPIES_ELSEWHERE = (
    Holding("bundles", Fate.STAYS, "copies for another computer; the page counts them"),
    Holding("service", Fate.STAYS, "jobs and groups; its operator erases them, or `pending_erasures` here"),
    Holding("exports", Fate.STAYS, "files that a person has saved; nobody knows where they are now"),
)
