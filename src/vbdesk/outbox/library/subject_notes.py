"""What this computer knows of a subject beside its recordings: notes, tags, and which results were opened."""

import json
from dataclasses import dataclass

from vbdesk.outbox.library.column_encryption import InvalidTag
from vbdesk.outbox.library.store import Store


@dataclass(frozen=True, slots=True)
class SubjectNote:
    """A note on a subject and its tags. Neither is ever sent anywhere."""

    text: str = ""
    tags: tuple[str, ...] = ()


class SubjectNotes:
    """Notes, tags and opened results of one library. Every method touches the disk."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def all(self) -> dict[str, SubjectNote]:
        """Every subject with a note or a tag; one that somebody else wrote to is left out."""
        found = {}
        for row in self._store.rows("SELECT group_id, sealed FROM subjects"):
            try:
                content = json.loads(self._store.seal.open(row["sealed"], _place(row["group_id"])))
            except InvalidTag:
                continue
            found[row["group_id"]] = SubjectNote(content["text"], tuple(content["tags"]))
        return found

    def keep(self, group_id: str, note: SubjectNote) -> None:
        """Keep a subject's note and tags in place of those before; an empty one is deleted. Subscribers hear of it."""
        text, tags = note.text.strip(), tuple(dict.fromkeys(tag.strip() for tag in note.tags if tag.strip()))
        with self._store.changing():
            if not text and not tags:
                self._store.drop("subjects", group_id)
                return
            content = json.dumps({"text": text, "tags": tags}).encode()
            sealed = self._store.seal.seal(content, _place(group_id))
            self._store.put("subjects", group_id, sealed)

    def unread(self) -> dict[str, int]:
        """How many results of each subject were not opened here; subjects without any are left out."""
        rows = self._store.rows(
            "SELECT group_id, COUNT(*) AS n FROM recordings WHERE state = 'done' "
            "AND take_id NOT IN (SELECT take_id FROM opened) GROUP BY group_id"
        )
        return {row["group_id"]: row["n"] for row in rows}

    def open_subject(self, group_id: str) -> None:
        """Every result that the subject has here counts as read."""
        self._open("group_id", group_id)

    def open_result(self, *, take_id: str | None, job_id: str | None) -> None:
        """The result of one recording counts as read, named by its take or its job."""
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


def _place(group_id: str) -> str:
    return f"subjects/{group_id}"
