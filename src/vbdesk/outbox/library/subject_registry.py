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


class HoldingKind(StrEnum):
    """What an entry describes."""

    TABLE = "table"
    FILES = "files"
    ELSEWHERE = "elsewhere"


class Fate(StrEnum):
    """What becomes of what an entry holds of a subject that is erased."""

    ERASED = "erased"
    ERASED_LAST = "erased when no recording is left"  # until then a person needs the name of the rest
    STAYS = "stays"
    NOBODYS = "belongs to nobody"


@dataclass(slots=True)
class Erasing:
    """An erasure that runs.

    Attributes:
        erased: number of recordings whose keys and sound are destroyed.
        in_bundles: number of those of which a bundle has a copy.
        left: why others are still here, as sentences.
    """

    library: Library
    group_id: str
    erased: int = 0
    in_bundles: int = 0
    left: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Holding:
    """One place with data.

    Attributes:
        place: a table; a pattern of paths in the library's folder; a place outside of the library.
        note: what it holds, and why it stays or belongs to nobody.
        step: how it is erased.
    """

    kind: HoldingKind
    place: str
    fate: Fate
    note: str
    step: Callable[[Erasing], None] | None = None


def recordings_to_erase(library: Library, group_id: str) -> dict[str, bool]:
    """A subject's recordings here, those in the trash too: whether a bundle has a copy, by take id."""
    here = library.list(ItemFilter(group_id=group_id))
    trashed = [each.item for each in library.trash.items(group_id) if each.item is not None]
    return {item.take_id: item.bundle_id is not None for item in (*here, *trashed)}


def _recordings(erasing: Erasing) -> None:
    for take_id, in_bundle in recordings_to_erase(erasing.library, erasing.group_id).items():
        try:
            erasing.library.discard(take_id, at_once=True, withdrawn=True)
        except NotAllowed as error:
            erasing.left.append(str(error))
        except UnknownTake:  # gone meanwhile
            continue
        else:
            erasing.erased += 1
            erasing.in_bundles += in_bundle


def _loose_takes(erasing: Erasing) -> None:
    erased, left = erasing.library.damaged.erase_subject(erasing.group_id)
    erasing.erased += erased
    erasing.left += left


def _answers(erasing: Erasing) -> None:
    erasing.library.responses.erase_subject(erasing.group_id)


def _note(erasing: Erasing) -> None:
    erasing.library.subject_notes.keep(erasing.group_id, SubjectNote())


def _corrections(erasing: Erasing) -> None:
    erasing.library.corrections.erase_subject(erasing.group_id)


def _traces(erasing: Erasing) -> None:
    erasing.library.drop_traces()


HOLDINGS = (
    Holding(HoldingKind.TABLE, "recordings", Fate.ERASED, "recordings and the keys of their sound", _recordings),
    Holding(HoldingKind.TABLE, "results", Fate.ERASED, "leave with their recording", _recordings),
    Holding(HoldingKind.TABLE, "pending", Fate.ERASED, "leave with their recording", _recordings),
    Holding(HoldingKind.TABLE, "opened", Fate.ERASED, "leave with their recording", _recordings),
    Holding(HoldingKind.TABLE, "trash", Fate.ERASED, "a changed entry stays: it names nobody", _recordings),
    Holding(HoldingKind.FILES, "takes/*", Fate.ERASED, "sound; a file without a key opens for nobody", _recordings),
    Holding(
        HoldingKind.FILES,
        "recording/*",
        Fate.ERASED,
        "takes that nobody has decided about; one whose description is damaged stays: it names nobody",
        _loose_takes,
    ),
    Holding(HoldingKind.FILES, "damaged/*", Fate.ERASED, "damaged takes kept aside, as in recording", _loose_takes),
    Holding(HoldingKind.TABLE, "trajectories", Fate.ERASED_LAST, "cached histories", _answers),
    Holding(
        HoldingKind.TABLE, "reads", Fate.ERASED_LAST, "cached answers; those about several are made again", _answers
    ),
    Holding(HoldingKind.TABLE, "subjects", Fate.ERASED_LAST, "note, tags, name, second line, languages", _note),
    Holding(
        HoldingKind.TABLE,
        "corrections",
        Fate.ERASED_LAST,
        "the number of an entry stays; what the service has still to do stays until it has done it",
        _corrections,
    ),
    Holding(
        HoldingKind.FILES, "library.sqlite", Fate.ERASED_LAST, "the tables; rewritten without deleted values", _traces
    ),
    Holding(HoldingKind.FILES, "library.sqlite-*", Fate.ERASED_LAST, "the log of the tables; emptied", _traces),
    Holding(HoldingKind.FILES, "library.sqlite.v*.bak*", Fate.ERASED_LAST, "copies before a repair; deleted", _traces),
    Holding(
        HoldingKind.TABLE, "consents", Fate.STAYS, "prove what was asked, and stop what other computers still have"
    ),
    Holding(
        HoldingKind.TABLE, "settings", Fate.STAYS, "what the service on this computer still has to erase, until it has"
    ),
    Holding(HoldingKind.TABLE, "audit", Fate.STAYS, "random ids and words of ours, no name; the chain has to be whole"),
    Holding(HoldingKind.TABLE, "removed", Fate.NOBODYS, "random ids of recordings that are gone"),
    Holding(HoldingKind.TABLE, "jobs", Fate.NOBODYS, "random ids, so that no old job is taken for a new one"),
    Holding(HoldingKind.TABLE, "bundles", Fate.NOBODYS, "paths of files that hold copies, and how many"),
    Holding(HoldingKind.TABLE, "requests", Fate.NOBODYS, "times of requests"),
    Holding(HoldingKind.TABLE, "library", Fate.NOBODYS, "version and checksums"),
    Holding(HoldingKind.FILES, "library.mark", Fate.NOBODYS, "the version of the list"),
    Holding(HoldingKind.FILES, "library.lock", Fate.NOBODYS, "empty"),
    Holding(HoldingKind.FILES, "room.probe", Fate.NOBODYS, "zeros"),
    Holding(HoldingKind.ELSEWHERE, "bundles", Fate.STAYS, "copies for another computer; a page names them"),
    Holding(
        HoldingKind.ELSEWHERE, "service", Fate.STAYS, "jobs and groups; erased by its operator, or `pending_erasures`"
    ),
    Holding(
        HoldingKind.ELSEWHERE, "exports", Fate.STAYS, "files that a person has saved; nobody knows where they are now"
    ),
)
"""Everything, in the order of an erasure."""
