"""Errors of transfer bundles; `str(error)` is one sentence for a person, and nothing was changed."""


class BundleError(Exception):
    """A bundle cannot be made, read or taken back."""


class BundleUnfinished(BundleError):
    """The file was never finished: its recordings are still on the computer that began it."""


class BundleTruncated(BundleError):
    """The end of the file is missing."""


class BundleDamaged(BundleError):
    """The file was changed after it was made, or is not a bundle."""


class BundleVersionUnknown(BundleError):
    """A newer version of vbdesk made the file."""


class BundleKeyWrong(BundleError):
    """The key or the passphrase does not decrypt the file."""


class BundleAccountWrong(BundleError):
    """The recordings belong to another service or account."""


class BundleCancelled(BundleError):
    """A person cancelled it."""


class NothingToExport(BundleError):
    """No waiting recording can be handed over."""


class BundleOutdated(BundleError):
    """Some recordings began to be sent while the bundle was written."""


class BundleFinishFailed(BundleError):
    """The recordings are handed over, but the file could not be finished: the only error after a change."""


class BundleDiskFull(BundleError):
    """The disk has too little room."""


class MalformedBundle(Exception):
    """The content violates the format; `str(error)` is empty, or one sentence on what is wrong."""
