"""Where the desk of this person keeps its recordings and its list of services."""

from dataclasses import dataclass
from pathlib import Path

from vbdesk.privacy import restrict_to_owner

OWN_FOLDERS = ("profiles", "service", "requests", "submitted")
OWN_FILES = (
    "profiles.*", "preferences.*", "microphone.*", "vbdesk.log*", "crash.log", "requests/*", "submitted/*",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Places:
    """Two folders; the same one where `--data-dir` names it.

    Attributes:
        data: recordings, and the service on this computer.
        config: profiles, without secrets.
    """

    data: Path
    config: Path

    @property
    def service(self) -> Path:
        """Where the service on this computer keeps its data."""
        return self.data / "service"


def places(data_dir: Path | None) -> Places:
    """The folders of the desk, as the system has them or as a person says. They may not exist yet."""
    import platformdirs

    if data_dir is None:
        found = Places(platformdirs.user_data_path("vbdesk", False), platformdirs.user_config_path("vbdesk", False))
        restrict_to_owner([found.data, found.config], deep=False)
    else:
        folder = data_dir.expanduser().resolve()
        found = Places(folder, folder)
    for folder in {found.data, found.config}:  # an earlier release left their rights to the umask
        restrict_to_owner((folder / name for name in OWN_FOLDERS), deep=False)
        restrict_to_owner(path for pattern in OWN_FILES for path in folder.glob(pattern))
    return found
