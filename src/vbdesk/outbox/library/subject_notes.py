"""What this computer knows about subjects: notes, tags, aliases, second lines, and which results were opened."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from vbdesk.contract.spoken_language import UNKNOWN_LANGUAGE, SpokenLanguage
from vbdesk.language import message
from vbdesk.outbox.library.column_encryption import InvalidTag
from vbdesk.outbox.library.recording_language import follow_subject
from vbdesk.outbox.library.store import Store
from vbdesk.outbox.library.subject_names import (
    ShownSubject,
    alias_fault,
    as_group_id,
    isolated,
    new_group_id,
    search_key,
    tidy,
)


@dataclass(frozen=True, slots=True)
class SubjectNote:
    """What is noted about a subject. Nothing of it is ever sent but `spoken`, with recordings.

    Attributes:
        alias: the name as typed, where the service's id cannot carry it; else empty.
        detail: the second line, such as a birth year; may be empty.
        spoken: the language of the subject's recordings, and whether it is the subject's second language.
        prompts, report: BCP-47 tags of the languages that the subject's prompts and reports have; empty if not chosen.
    """

    text: str = ""
    tags: tuple[str, ...] = ()
    alias: str = ""
    detail: str = ""
    spoken: SpokenLanguage = UNKNOWN_LANGUAGE
    prompts: str = ""
    report: str = ""

    def shown(self, group_id: str) -> ShownSubject:
        """How the subject `group_id` with this note is shown."""
        return ShownSubject(isolated(self.alias) if self.alias else group_id, isolated(self.detail))

    def tagged(self, tags: Collection[str], *, added: bool) -> "SubjectNote":
        """This note with the tags as well, or without them."""
        remaining = tuple(tag for tag in self.tags if added or tag not in tags)
        more = tuple(tag for tag in tags if added and tag not in remaining)
        return replace(self, tags=(*remaining, *more))

    @property
    def line(self) -> str:
        """Alias and second line in one line, for print; empty if there is neither."""
        return " · ".join(part for part in (self.alias, self.detail) if part)

    def holds(self, wanted: str) -> bool:
        """Whether any part of it contains `wanted`, a `search_key`."""
        return any(wanted in search_key(part) for part in (self.text, self.alias, self.detail, *self.tags))


class AliasTaken(Exception):
    """The alias belongs to another subject; `str(error)` is one sentence for a person."""


class NoSubjectName(Exception):
    """The text cannot be a subject's name; `str(error)` is one sentence for a person."""


class SubjectNotes:
    """Notes and opened results of one library. Methods read or write the disk, except those that show and find names.

    Names are in memory, since every page shows them; nobody else writes this library while it is open.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: Mapping[str, SubjectNote] = MappingProxyType({})
        self._aliases: Mapping[str, str] = MappingProxyType({})
        self._remember(self._read())

    def all(self) -> Mapping[str, SubjectNote]:
        """Every subject with a note; those that somebody else changed are left out."""
        with self._store.reading():
            self._remember(self._read())
            return self._known

    def tag_many(self, group_ids: Collection[str], tags: Collection[str], *, added: bool) -> None:
        """Give subjects tags, or take tags from them, all or none; the rest of their notes stays as it is stored."""
        with self._store.changing():
            for group_id in group_ids:
                self.store(group_id, self.note_of(group_id).tagged(tags, added=added))

    def store(self, group_id: str, note: SubjectNote) -> None:
        """Store what is noted about a subject; an empty note is deleted. Notifies subscribers.

        Raises:
            AliasTaken: another subject has this alias; nothing is stored.
        """
        tags = tuple(dict.fromkeys(tag.strip() for tag in note.tags if tag.strip()))
        stored = replace(note, text=note.text.strip(), tags=tags, alias=tidy(note.alias), detail=tidy(note.detail))
        with self._store.changing():
            if stored.alias and self.group_id_of(stored.alias) not in (None, group_id):
                raise AliasTaken(message("Another subject has this name already. Choose another one."))
            if stored == SubjectNote():
                self._store.drop("subjects", group_id)
            else:
                self._store.put("subjects", group_id, self._encrypted(group_id, stored))
            before = self.note_of(group_id).spoken
            if stored.spoken != before:
                follow_subject(self._store, group_id, before, stored.spoken)
            self._store.after_commit(lambda: self._remember_one(group_id, stored))

    def change(self, group_id: str, change: Callable[[SubjectNote], SubjectNote]) -> None:
        """Change what is noted about a subject, if `change` alters it. Raises AliasTaken."""
        if change(self.note_of(group_id)) == self.note_of(group_id):
            return
        with self._store.changing():  # what another thread stores meanwhile stays
            self.store(group_id, change(self.note_of(group_id)))

    def store_alias(self, group_id: str, alias: str) -> None:
        """Store the alias of a subject, unless it has it. Raises AliasTaken."""
        self.change(group_id, lambda note: replace(note, alias=tidy(alias)))

    def group_id_named(self, text: str) -> str:
        """The subject that a person means; a new name in another script is stored with a new id.

        Raises:
            NoSubjectName: the text is no name.
        """
        group_id = as_group_id(text) or self.group_id_of(text)
        if group_id is not None:
            return group_id
        alias = tidy(text)
        fault = alias_fault(alias)
        if fault is not None:
            raise NoSubjectName(fault)
        group_id = new_group_id(self._known)
        self.store_alias(group_id, alias)
        return group_id

    def note_of(self, group_id: str) -> SubjectNote:
        """What is noted about a subject. From memory, so quick."""
        return self._known.get(group_id, SubjectNote())

    def names(self) -> Collection[str]:
        """Subjects with a note. From memory."""
        return self._known.keys()

    def shown(self, group_id: str) -> ShownSubject:
        """How a subject is shown. From memory, so quick."""
        return self.note_of(group_id).shown(group_id)

    def group_id_of(self, alias: str) -> str | None:
        """The subject with this alias, however its letters are composed; None if there is none. From memory."""
        return self._aliases.get(search_key(alias))

    def matches(self, group_id: str, wanted: str) -> bool:
        """Whether id, alias or second line contain what a person searches. From memory."""
        key, note = search_key(wanted), self._known.get(group_id)
        if key in search_key(group_id):
            return True
        return note is not None and (key in search_key(note.alias) or key in search_key(note.detail))

    def unread(self) -> dict[str, int]:
        """Number of unopened results of each subject; subjects without any are left out."""
        rows = self._store.rows(
            "SELECT group_id, COUNT(*) AS n FROM recordings LEFT JOIN opened USING (take_id) "
            "WHERE state = 'done' AND opened.take_id IS NULL GROUP BY group_id"
        )
        return {row["group_id"]: row["n"] for row in rows}

    def open_subject(self, group_id: str) -> None:
        """Mark all results of the subject as opened."""
        self._open("group_id", group_id)

    def open_result(self, *, take_id: str | None, job_id: str | None) -> None:
        """Mark the result of one recording as opened, by its take id or job id."""
        if take_id is not None:
            self._open("take_id", take_id)
        elif job_id is not None:
            self._open("job_id", job_id)

    def _open(self, column: str, value: str) -> None:
        condition = f"{column} = ? AND state = 'done' AND take_id NOT IN (SELECT take_id FROM opened)"  # noqa: S608
        unread = self._store.rows(f"SELECT take_id FROM recordings WHERE {condition}", (value,))  # noqa: S608
        if not unread:
            return
        with self._store.changing():
            for row in unread:
                self._store.put("opened", row["take_id"])

    def _read(self) -> dict[str, SubjectNote]:
        found = {}
        for row in self._store.rows("SELECT group_id, sealed FROM subjects"):
            try:
                content = json.loads(self._store.cipher.decrypt(row["sealed"], _place(row["group_id"])))
            except InvalidTag:
                continue
            found[row["group_id"]] = SubjectNote(
                content["text"],
                tuple(content["tags"]),
                content.get("alias", ""),
                content.get("detail", ""),
                SpokenLanguage.of_form(content.get("spoken") or {}),
                content.get("prompts", ""),
                content.get("report", ""),
            )
        return found

    def _encrypted(self, group_id: str, note: SubjectNote) -> bytes:
        content: dict[str, object] = {"text": note.text, "tags": note.tags}
        if note.alias:
            content["alias"] = note.alias
        if note.detail:
            content["detail"] = note.detail
        if note.spoken.is_known:
            content["spoken"] = note.spoken.form
        if note.prompts:
            content["prompts"] = note.prompts
        if note.report:
            content["report"] = note.report
        return self._store.cipher.encrypt(json.dumps(content).encode(), _place(group_id))

    def _remember_one(self, group_id: str, note: SubjectNote) -> None:
        notes = {**self._known, group_id: note}
        self._remember({key: known for key, known in notes.items() if known != SubjectNote()})

    def _remember(self, known: dict[str, SubjectNote]) -> None:
        self._aliases = MappingProxyType({search_key(note.alias): key for key, note in known.items() if note.alias})
        self._known = MappingProxyType(known)


def _place(group_id: str) -> str:
    return f"subjects/{group_id}"
