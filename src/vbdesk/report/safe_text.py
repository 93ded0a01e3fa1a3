"""Text that every format can hold."""

import re

_UNHELD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""What XML 1.0 has no place for: control characters, halves of letters, and two that are none."""


def safe_text(words: str) -> str:
    """`words` with a replacement character for each that XML, FHIR or UTF-8 cannot hold."""
    return _UNHELD.sub("\ufffd", words)
