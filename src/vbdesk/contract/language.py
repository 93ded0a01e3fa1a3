"""Lookup of the best available language."""

from collections.abc import Iterable, Iterator

from vbdesk.contract.spoken_language import primary_language


def look_up_language(wanted: str, available: Iterable[str]) -> str | None:
    """Find the tag of `available` that matches the BCP 47 tag `wanted`, ignoring case; None without a match.

    Subtags are removed from the end until a tag matches (RFC 4647, lookup).
    """
    known = {tag.lower(): tag for tag in available}
    found = (known[shorter] for shorter in _shortened(wanted.strip().replace("_", "-").lower()) if shorter in known)
    return next(found, None)


def match_language(wanted: str, available: Iterable[str]) -> str | None:
    """The tag of `available` that `look_up_language` finds, else the first one of the same language; None if none."""
    known = tuple(available)
    own = _primary(wanted)
    return look_up_language(wanted, known) or next((tag for tag in known if _primary(tag) == own), None)


def _primary(tag: str) -> str:
    return primary_language(tag.strip().replace("_", "-"))


def _shortened(tag: str) -> Iterator[str]:
    parts = tag.split("-")
    while parts:
        yield "-".join(parts)
        parts.pop()
        if parts and len(parts[-1]) == 1:  # a singleton is removed with the subtag that it introduces
            parts.pop()
