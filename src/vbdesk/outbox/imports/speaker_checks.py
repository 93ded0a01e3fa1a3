"""Compare every recording of a library with its subject's earlier ones, whichever way it came in.

The outcome is stored with the recording (`RecordingItem.speaker`). It is computed again when an earlier recording that
it rests on was moved to another subject, excluded or deleted. A recording whose voice raises a question does not count
as an earlier one, until a person confirms that it is the right one.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from vbdesk.outbox.imports.speaker_comparison import SpeakerComparison, raises_question
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.items import ItemFilter, RecordingItem, SpeakerFinding, metadata_of
from vbdesk.outbox.library.library import Library, NotAllowed
from vbdesk.outbox.library.store import UnknownTake


class SpeakerChecks:
    """Compares the recordings of one library, one after the other. Reads sound: call it in a task, one at a time."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._comparison = SpeakerComparison(library)
        self._version = 0
        self._groups: dict[str, str] = {}  # subjects as last seen, by take id
        self._due: set[str] = set()  # subjects
        self._tried: dict[str, tuple[str, ...]] = {}  # recordings that were compared, with these

    def step(self) -> bool:
        """Compare one recording, the newest first; True if there was one. Cheap if nothing changed."""
        self._note_changes()
        while self._due:
            group_id = next(iter(self._due))
            if self._compare_one(group_id):
                return True
            self._due.discard(group_id)
        return False

    def _note_changes(self) -> None:
        changes = self._library.changes_since(self._version)
        self._version = changes.version
        for take_id in changes.removed:
            if take_id in self._groups:
                self._due.add(self._groups.pop(take_id))
        for item in changes.items:
            self._due |= {item.group_id, self._groups.get(item.take_id, item.group_id)}
            self._groups[item.take_id] = item.group_id

    def _compare_one(self, group_id: str) -> bool:
        items = [item for item in self._library.list(ItemFilter(group_id=group_id)) if item.fault is None]
        versions = _versions(items)
        members = {item.take_id for item in items if not item.excluded and not raises_question(item)}
        for item in items:
            together = versions[item.take_id]
            earlier = [
                other
                for other in items
                if other.recorded_at < item.recorded_at and other.take_id in members - together and _has_sound(other)
            ]
            if self._is_due(item, earlier, members):
                self._cache_finding(item, earlier)
                return True
        return False

    def _is_due(self, item: RecordingItem, earlier: list[RecordingItem], members: set[str]) -> bool:
        known = item.speaker
        if known is not None and (known.group_id != item.group_id or not members >= set(known.earlier)):
            return True
        if not earlier or not _has_sound(item) or self._tried.get(item.take_id) == _ids(earlier):
            return False
        return known is None or (raises_question(item) and _newly_confirmed(earlier, known))

    def _cache_finding(self, item: RecordingItem, earlier: list[RecordingItem]) -> None:
        found = self._comparison.finding(item, earlier) if earlier and _has_sound(item) else None
        self._tried[item.take_id] = _ids(earlier)
        if found == item.speaker:
            return
        with self._library.store.changing():
            try:
                now = self._library.get(item.take_id)
            except UnknownTake:
                return
            if now.fault is None and (now.group_id, now.trim_s) == (item.group_id, item.trim_s):
                self._library.store.store_details(item.take_id, replace(metadata_of(now), speaker=found))


def confirm_voice(library: Library, take_id: str) -> None:
    """Note that a person says that this is the subject's voice; it is not asked again, and counts for later ones.

    Raises:
        NotAllowed: its entry was changed by something other than vbdesk.
        UnknownTake: it is no longer on this computer.
    """
    with library.store.changing():
        item = library.get(take_id)
        if item.fault is not None:
            raise NotAllowed(item.fault)
        if item.confirmed_voice != item.group_id:
            library.store.store_details(take_id, replace(metadata_of(item), confirmed_voice=item.group_id))
            library.store.note(AuditAction.VOICE_CONFIRMED, take_id)


def _ids(items: Sequence[RecordingItem]) -> tuple[str, ...]:
    return tuple(item.take_id for item in items)


def _newly_confirmed(earlier: Sequence[RecordingItem], known: SpeakerFinding) -> bool:
    """Whether a voice was confirmed that the comparison did not know as one of the subject's."""
    confirmed = {item.take_id for item in earlier if item.confirmed_voice == item.group_id}
    return not confirmed <= set(known.earlier)


def _has_sound(item: RecordingItem) -> bool:
    return item.audio_gone_at is None


def _versions(items: list[RecordingItem]) -> dict[str, set[str]]:
    """The versions of each recording, itself included: a second try of the same visit proves nothing."""
    together: dict[str, set[str]] = {item.take_id: {item.take_id} for item in items}
    by_origin: dict[str, set[str]] = defaultdict(set)
    for item in items:
        if item.retake_of is not None:
            by_origin[item.retake_of].add(item.take_id)
    for item in items:
        linked = {item.take_id, *([item.retake_of] if item.retake_of is not None else [])}
        linked |= set().union(*(by_origin[each] for each in linked))
        whole = set().union(*(together.get(each, {each}) for each in linked))
        for each in whole & together.keys():
            together[each] = whole
    return together
