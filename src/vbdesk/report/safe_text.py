"""Text that every export format can encode."""

import re

_UNENCODABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Not allowed in XML 1.0: control characters, surrogates and two noncharacters."""


def safe_text(text: str) -> str:
    """Replace every character that XML, FHIR or UTF-8 cannot encode by U+FFFD."""
    if text.isprintable():  # no such character is printable, and most texts are
        return text
    return _UNENCODABLE.sub("\ufffd", text)
