"""Find the subject that a person types: an id of the service, or a name in any script, which becomes an alias."""

from dataclasses import dataclass

from vbdesk.outbox.library.subject_names import alias_fault, as_group_id, new_group_id, search_key, tidy
from vbdesk.outbox.library.subject_notes import SubjectNotes


@dataclass(frozen=True, slots=True)
class TypedSubject:
    """What a typed text means.

    Attributes:
        group_id: the subject as the service knows it; the text itself if it is no name, or empty.
        alias: the name, if the service's id cannot carry it; else empty.
        fault: why the text cannot be a subject, as a sentence; None if it can, or if there is none.
    """

    group_id: str
    alias: str = ""
    fault: str | None = None


class TypedSubjects:
    """Gives a new name an id, always the same one. Stores nothing, reads no disk."""

    def __init__(self, notes: SubjectNotes) -> None:
        self._notes = notes
        self._ids: dict[str, str] = {}  # of new names, by their search key
        self._names: dict[str, str] = {}  # new names by id

    def find(self, text: str) -> TypedSubject:
        """The subject that `text` means."""
        typed = tidy(text)
        if not typed:
            return TypedSubject("")
        group_id = as_group_id(typed)
        if group_id is not None:
            return TypedSubject(group_id, self._notes.note_of(group_id).alias or self._names.get(group_id, ""))
        fault = alias_fault(typed)
        if fault is not None:
            return TypedSubject(typed, fault=fault)
        known = self._notes.group_id_of(typed)
        if known is not None:
            return TypedSubject(known, self._notes.note_of(known).alias)
        group_id = self._ids.setdefault(search_key(typed), new_group_id(self._notes.names()))
        self._names[group_id] = typed
        return TypedSubject(group_id, typed)
