"""Parse a manifest while it arrives: one recording, consent or alias at a time, with bounds on every part.

A JSON parser may need several hundred bytes per byte of a hostile document: nested empty lists become objects, and each
wrong element becomes an error. So the text of one part is bounded, parsed and checked before the next one.
"""

import re
from collections.abc import Sized
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Discriminator, Field, Tag, TypeAdapter, ValidationError

from vbdesk.language import N_, Message, message
from vbdesk.outbox.bundles.bundle_errors import MalformedBundle
from vbdesk.outbox.bundles.bundle_manifest import (
    MOST_ALIASES,
    MOST_CONSENTS,
    MOST_TAKES,
    BundledAlias,
    BundledConsent,
    BundledTake,
    BundleManifest,
    ManifestHeader,
    field_at_fault,
)

LARGEST_MANIFEST = 64 * 1024 * 1024
LARGEST_PART = 64 * 1024  # text of one recording or consent, and of everything outside them
_OUTSIDE = re.compile(rb'["\[\]{}]')
_IN_STRING = re.compile(rb'["\\]')
_PLACEHOLDERS: dict[type, bytes] = {BundledTake: b"0", BundledConsent: b"1", BundledAlias: b"2"}
"""What replaces the text of a part in the header."""


class _HeadOfManifest(ManifestHeader):
    takes: Annotated[list[Literal[0]], Field(max_length=MOST_TAKES, fail_fast=True)]
    consents: Annotated[tuple[Literal[1], ...], Field(max_length=MOST_CONSENTS, fail_fast=True)] = ()
    aliases: Annotated[tuple[Literal[2], ...], Field(max_length=MOST_ALIASES, fail_fast=True)] = ()


def _kind_of(document: Any) -> str:
    if isinstance(document, dict) and "change" in document:
        return "consent"
    return "alias" if isinstance(document, dict) and "alias" in document else "take"


_Entry = BundledTake | BundledConsent | BundledAlias
_ENTRY: TypeAdapter[_Entry] = TypeAdapter(
    Annotated[
        Annotated[BundledTake, Tag("take")]
        | Annotated[BundledConsent, Tag("consent")]
        | Annotated[BundledAlias, Tag("alias")],
        Discriminator(_kind_of),
    ]
)
_HEAD = TypeAdapter(_HeadOfManifest)
_Parsed = TypeVar("_Parsed")


class ManifestParser:
    """Feed it the text in pieces of any size, then get the manifest."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._part = bytearray()
        self._takes: list[BundledTake] = []
        self._consents: list[BundledConsent] = []
        self._aliases: list[BundledAlias] = []
        self._ids: set[str] = set()
        self._depth = 0  # 1: in the manifest, 2: in a list, 3 and more: in a part of it
        self._in_string = self._escaped = False

    def feed(self, piece: bytes) -> None:
        """Add the next piece. Raises MalformedBundle."""
        start = offset = 0
        if self._escaped and piece:
            self._escaped, offset = False, 1
        while match := (_IN_STRING if self._in_string else _OUTSIDE).search(piece, offset):
            offset, sign = match.end(), match.group()
            if sign == b"\\":
                if offset == len(piece):
                    self._escaped = True
                offset += 1
            elif sign == b'"':
                self._in_string = not self._in_string
            elif sign in b"[{":
                if self._depth == 2:
                    self._add(piece[start : offset - 1])
                    start = offset - 1
                self._depth += 1
            else:
                self._depth -= 1
                if self._depth == 2:
                    self._add(piece[start:offset], to_part=True)
                    start = offset
                    self._end_part()
        self._add(piece[start:], to_part=self._depth > 2)

    def manifest(self) -> BundleManifest:
        """The complete manifest. Raises MalformedBundle."""
        head = _parsed(_HEAD, self._head, N_("The bundle is refused for {field}."))
        counts = len(head.takes), len(head.consents), len(head.aliases)
        if self._part or counts != (len(self._takes), len(self._consents), len(self._aliases)):
            raise MalformedBundle
        if head.format == 1 and any(counts[1:]):
            raise MalformedBundle(message("It has consents, and says that it has none."))
        if head.format == 1 and any(take.spoken.is_known for take in self._takes):
            raise MalformedBundle(message("It has languages, and says that it has none."))
        known = head.model_dump(exclude={"takes", "consents", "aliases"})
        return BundleManifest.model_construct(
            **known, takes=tuple(self._takes), consents=tuple(self._consents), aliases=tuple(self._aliases)
        )

    def _add(self, text: bytes, *, to_part: bool = False) -> None:
        part = self._part if to_part else self._head
        part += text
        if len(part) > LARGEST_PART:
            raise MalformedBundle(message("Its list of recordings is too long to be read safely."))

    def _end_part(self) -> None:
        entry = _parsed(
            _ENTRY, self._part, N_("Recording {number} in it is refused for {field}."), len(self._takes) + 1
        )
        if isinstance(entry, BundledTake):
            _check_room(self._takes, MOST_TAKES, message("It names more than {most:,} recordings.", most=MOST_TAKES))
            self._check_new(entry.take_id, entry.event_id)
            self._takes.append(entry)
        elif isinstance(entry, BundledConsent):
            _check_room(
                self._consents, MOST_CONSENTS, message("It names more than {most:,} consents.", most=MOST_CONSENTS)
            )
            self._check_new(entry.event_id)
            self._consents.append(entry)
        else:
            _check_room(self._aliases, MOST_ALIASES, message("It names more than {most:,} aliases.", most=MOST_ALIASES))
            self._check_new(f"alias of {entry.group_id}")
            self._aliases.append(entry)
        self._part.clear()
        self._add(_PLACEHOLDERS[type(entry)])

    def _check_new(self, *ids: str) -> None:
        if not self._ids.isdisjoint(ids):
            raise MalformedBundle(message("It names one recording, consent or alias twice."))
        self._ids.update(ids)


def _check_room(known: Sized, most: int, sentence: str) -> None:
    if len(known) == most:
        raise MalformedBundle(sentence)


def _parsed(adapter: TypeAdapter[_Parsed], text: bytearray, refused: str, number: int = 0) -> _Parsed:
    try:
        return adapter.validate_json(bytes(text))
    except ValidationError as error:
        field = field_at_fault(error)
    # Outside the handler: as the context of another exception, a ValidationError keeps its whole stack alive.
    raise MalformedBundle(Message.make(refused, fields={"field": field, "number": number}))
