"""A file that a person chose: read once, and the same as when it was shown."""

import hashlib
from pathlib import Path

from vbdesk.language import message
from vbdesk.outbox.library.states import NotAllowed


def read_source(path: Path, shown_sha256: str = "") -> tuple[bytes, str]:
    """Content and digest of a file.

    Args:
        path: of the file.
        shown_sha256: the digest of what a person was shown; empty if nothing was shown.

    Raises:
        NotAllowed: it holds something else by now.
        OSError: it cannot be read.
    """
    content = path.read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    if shown_sha256 not in ("", sha256):
        raise NotAllowed(
            message("The file has changed since it was read, so nothing of it was stored. Choose it again to see it.")
        )
    return content, sha256
