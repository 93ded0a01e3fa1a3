"""What can be wrong with a courier bundle; `str(error)` is one sentence for a person, and nothing was changed."""


class BundleError(Exception):
    """A bundle cannot be made, read or taken back."""


class BundleUnfinished(BundleError):
    """The file was never finished: the recordings in it are still on the computer that began it."""


class BundleCutOff(BundleError):
    """The end of the file is missing."""


class BundleDamaged(BundleError):
    """The file was changed after it was made, or is no bundle."""


class BundleNewer(BundleError):
    """A newer version of vbdesk made the file."""


class BundleForOther(BundleError):
    """The key or the passphrase does not open the file."""


class BundleForeign(BundleError):
    """The recordings belong to another service or account."""


class BundleStopped(BundleError):
    """A person stopped it."""


class NothingToHandOver(BundleError):
    """No recording waits that could be handed over."""


class BundleOutrun(BundleError):
    """Some of the recordings began to be sent while the bundle was written."""


class BundleLeftOpen(BundleError):
    """The recordings are handed over, and the file could not be finished: this is the one error after a change."""


class NoRoom(BundleError):
    """The disk has too little room."""


class Malformed(Exception):
    """The content is not what the format says; `str(error)` is empty, or one sentence on what is wrong with it."""
