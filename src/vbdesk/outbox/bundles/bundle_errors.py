"""What can be wrong with a courier bundle; `str(error)` is one sentence for a person, and nothing was changed."""


class BundleError(Exception):
    """A bundle cannot be made, read or taken back."""


class BundleUnfinished(BundleError):
    """The file was never finished: the recordings in it are still on the computer that began it."""


class BundleTruncated(BundleError):
    """The end of the file is missing."""


class BundleDamaged(BundleError):
    """The file was changed after it was made, or is no bundle."""


class BundleVersionUnknown(BundleError):
    """A newer version of vbdesk made the file."""


class BundleKeyWrong(BundleError):
    """The key or the passphrase does not open the file."""


class BundleAccountWrong(BundleError):
    """The recordings belong to another service or account."""


class BundleCancelled(BundleError):
    """A person stopped it."""


class NothingToExport(BundleError):
    """No recording waits that could be handed over."""


class BundleOvertaken(BundleError):
    """Some of the recordings began to be sent while the bundle was written."""


class BundleFinishFailed(BundleError):
    """The recordings are handed over, and the file could not be finished: this is the one error after a change."""


class BundleDiskFull(BundleError):
    """The disk has too little room."""


class MalformedBundle(Exception):
    """The content is not what the format says; `str(error)` is empty, or one sentence on what is wrong with it."""
