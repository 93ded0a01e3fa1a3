"""Times with an unescaped `+`, which a query or a URL-encoded form turns into a space."""

import re

_BARE_PLUS = re.compile(r"(:[\d.,]+) (\d\d:\d\d)$")


def with_plus(text: str) -> str:
    """Restore the `+` of the UTC offset; return other text unchanged."""
    return _BARE_PLUS.sub(r"\1+\2", text)
