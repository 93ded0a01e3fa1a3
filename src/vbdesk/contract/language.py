"""Which of the languages that there are serves a wish best."""

from collections.abc import Iterable, Iterator


def look_up_language(wanted: str, available: Iterable[str]) -> str | None:
    """The tag of `available` that the BCP 47 tag `wanted` finds, whatever its case; None if it finds none.

    Subtags are dropped from the end until one fits (RFC 4647, lookup).
    """
    known = {tag.lower(): tag for tag in available}
    found = (known[shorter] for shorter in _shortened(wanted.strip().replace("_", "-").lower()) if shorter in known)
    return next(found, None)


def _shortened(tag: str) -> Iterator[str]:
    parts = tag.split("-")
    while parts:
        yield "-".join(parts)
        parts.pop()
        if parts and len(parts[-1]) == 1:  # what a singleton introduces has gone, so it goes too
            parts.pop()
