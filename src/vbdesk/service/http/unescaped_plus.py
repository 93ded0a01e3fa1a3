"""Times whose `+` was not percent-encoded: in a query or a URL-encoded form it arrives as a space."""

import re

_BARE_PLUS = re.compile(r"(:[\d.,]+) (\d\d:\d\d)$")


def with_plus(text: str) -> str:
    """The text with the `+` of its UTC offset; anything else is left as it is."""
    return _BARE_PLUS.sub(r"\1+\2", text)
