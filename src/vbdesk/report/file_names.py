"""File names and BIDS labels from subject ids, which are any text."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from vbdesk.report.safe_text import safe_text

_HASH_LENGTH = 8
_STEM_LENGTH = 60
_LABEL_LENGTH = 24
_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))}


def file_stems(group_ids: Sequence[str]) -> Mapping[str, str]:
    """File name by subject: its id if portable, else shortened with a hash."""
    return _distinct(group_ids, r"[^A-Za-z0-9._-]", "_", _STEM_LENGTH, "-")


def bids_labels(group_ids: Sequence[str]) -> Mapping[str, str]:
    """BIDS label by subject: letters and digits; a hash if others were removed."""
    return _distinct(group_ids, r"[^A-Za-z0-9]", "", _LABEL_LENGTH, "")


def _distinct(group_ids: Sequence[str], forbidden: str, instead: str, length: int, joint: str) -> Mapping[str, str]:
    """Names are also distinct on file systems that ignore case."""
    allowed = {group_id: re.sub(forbidden, instead, group_id)[:length].rstrip(".") for group_id in group_ids}
    times = Counter(name.lower() for name in allowed.values())
    return {
        group_id: name
        if name == group_id and times[name.lower()] == 1 and name.partition(".")[0].lower() not in _RESERVED
        else f"{name}{joint}{hashlib.sha256(safe_text(group_id).encode()).hexdigest()[:_HASH_LENGTH]}"
        for group_id, name in allowed.items()
    }
