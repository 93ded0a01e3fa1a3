"""Lock or unlock with a passphrase, as a separate program: the age library blocks all threads for seconds.

    python -m vbdesk.outbox.bundles.passphrase_child lock|open < (length of passphrase, line feed, passphrase, content)

Secrets travel only through pipes, so that process lists do not show them. Exits with 3 if the passphrase is wrong.
"""

import subprocess
import sys

from vbdesk.language import message
from vbdesk.outbox.bundles.bundle_errors import BundleError
from vbdesk.own_process import child_options, own_module

NOT_RIGHT = 3


def lock(content: bytes, passphrase: str) -> bytes:
    """Encrypt `content` with the passphrase, as an age file. Raises BundleError, OSError."""
    done = _asked("lock", content, passphrase)
    if done.returncode:
        raise BundleError(message("The passphrase could not be applied. Nothing was changed; try again."))
    return done.stdout


def unlock(locked: bytes, passphrase: str) -> bytes | None:
    """Decrypt what `lock` made; None if the passphrase is wrong. Raises BundleError, OSError."""
    done = _asked("open", locked, passphrase)
    if done.returncode not in (0, NOT_RIGHT):
        raise BundleError(message("The passphrase could not be tried. Nothing was changed; try again."))
    return None if done.returncode else done.stdout


def _asked(what: str, content: bytes, passphrase: str) -> subprocess.CompletedProcess[bytes]:
    secret = passphrase.encode()
    command = own_module("vbdesk.outbox.bundles.passphrase_child", what)
    given = b"%d\n%b%b" % (len(secret), secret, content)
    return subprocess.run(command, input=given, capture_output=True, check=False, **child_options())


def _answer(what: str) -> int:
    import pyrage

    length = int(sys.stdin.buffer.readline())
    passphrase = sys.stdin.buffer.read(length).decode()
    content = sys.stdin.buffer.read()
    if what == "lock":
        sys.stdout.buffer.write(pyrage.passphrase.encrypt(content, passphrase))
        return 0
    try:
        sys.stdout.buffer.write(pyrage.passphrase.decrypt(content, passphrase))
    except (pyrage.DecryptError, OSError):
        return NOT_RIGHT
    return 0


if __name__ == "__main__":
    sys.exit(_answer(sys.argv[1]))
