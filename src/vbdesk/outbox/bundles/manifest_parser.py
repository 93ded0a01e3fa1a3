"""Parses a manifest while it arrives: one recording at a time, with bounds on every part.

A JSON parser makes up to several hundred bytes of every byte of a hostile document: nested empty lists become objects,
and each wrong element becomes an error of its own. So the document is taken apart first: the text of one recording is
bounded, parsed and checked before the next one is looked at.
"""

import re
from typing import Annotated, TypeVar

from pydantic import Field, ValidationError

from vbdesk.outbox.bundles.bundle_errors import Malformed
from vbdesk.outbox.bundles.bundle_manifest import MOST_TAKES, BundledTake, BundleHead, BundleManifest, field_at_fault

LARGEST_MANIFEST = 64 * 1024 * 1024
LARGEST_PART = 64 * 1024  # of the text of one recording, and of all that is outside of recordings
_OUTSIDE = re.compile(rb'["\[\]{}]')
_IN_STRING = re.compile(rb'["\\]')
_PLACEHOLDER = b"0"  # stands in the head for the text of a recording


class _HeadOfManifest(BundleHead):
    takes: Annotated[list[int], Field(max_length=MOST_TAKES, fail_fast=True)]


_Part = TypeVar("_Part", BundledTake, _HeadOfManifest)


class ManifestParser:
    """Give it the text in pieces of any size, then ask for the manifest."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._part = bytearray()
        self._takes: list[BundledTake] = []
        self._ids: set[str] = set()
        self._depth = 0  # 1: in the manifest, 2: in its list, 3 and more: in a recording
        self._in_string = self._escaped = False

    def feed(self, piece: bytes) -> None:
        """The next piece. Raises Malformed."""
        start = place = 0
        if self._escaped and piece:
            self._escaped, place = False, 1
        while match := (_IN_STRING if self._in_string else _OUTSIDE).search(piece, place):
            place, sign = match.end(), match.group()
            if sign == b"\\":
                if place == len(piece):
                    self._escaped = True
                place += 1
            elif sign == b'"':
                self._in_string = not self._in_string
            elif sign in b"[{":
                if self._depth == 2:
                    self._add(piece[start : place - 1])
                    start = place - 1
                self._depth += 1
            else:
                self._depth -= 1
                if self._depth == 2:
                    self._add(piece[start:place], to_take=True)
                    start = place
                    self._end_take()
        self._add(piece[start:], to_take=self._depth > 2)

    def manifest(self) -> BundleManifest:
        """All of it was there. Raises Malformed."""
        head = _parsed(_HeadOfManifest, self._head, "The bundle")
        if self._part or len(head.takes) != len(self._takes):
            raise Malformed
        known = head.model_dump(exclude={"takes"})
        return BundleManifest.model_construct(**known, takes=tuple(self._takes))

    def _add(self, text: bytes, *, to_take: bool = False) -> None:
        part = self._part if to_take else self._head
        part += text
        if len(part) > LARGEST_PART:
            raise Malformed("Its list of recordings is too long to be read safely.")

    def _end_take(self) -> None:
        if len(self._takes) == MOST_TAKES:
            raise Malformed(f"It names more than {MOST_TAKES:,} recordings.")
        take = _parsed(BundledTake, self._part, f"Recording {len(self._takes) + 1} in it")
        if take.take_id in self._ids or take.event_id in self._ids:
            raise Malformed("It names one recording twice.")
        self._ids |= {take.take_id, take.event_id}
        self._takes.append(take)
        self._part.clear()
        self._add(_PLACEHOLDER)


def _parsed(model: type[_Part], text: bytearray, what: str) -> _Part:
    try:
        return model.model_validate_json(bytes(text))
    except ValidationError as error:
        field = field_at_fault(error)
    # Not within the handler: as the context of another exception, a ValidationError keeps every frame above it alive.
    raise Malformed(f"{what} is refused for {field}.")
