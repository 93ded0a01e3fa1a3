"""Folders of the desk: recordings, and the list of services."""

from dataclasses import dataclass
from pathlib import Path

from vbdesk.privacy import restrict_to_owner

OWN_FOLDERS = ("profiles", "service", "requests", "submitted")
OWN_FILES = (
    "profiles.*", "preferences.*", "microphone.*", "vbdesk.log*", "crash.log", "requests/*", "submitted/*",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DeskPaths:
    """Two folders; the same one if `--data-dir` is given.

    Attributes:
        data: recordings, and the service on this computer.
        config: profiles, without secrets.
    """

    data: Path
    config: Path

    @property
    def service(self) -> Path:
        """Data folder of the service on this computer."""
        return self.data / "service"


def desk_paths(data_dir: Path | None) -> DeskPaths:
    """The folders of the desk: the system's default, or as given. They may not exist yet."""
    import platformdirs

    if data_dir is None:
        found = DeskPaths(platformdirs.user_data_path("vbdesk", False), platformdirs.user_config_path("vbdesk", False))
        restrict_to_owner([found.data, found.config], deep=False)
    else:
        folder = data_dir.expanduser().resolve()
        found = DeskPaths(folder, folder)
    for folder in {found.data, found.config}:  # an earlier release left their permissions to the umask
        restrict_to_owner((folder / name for name in OWN_FOLDERS), deep=False)
        restrict_to_owner(path for pattern in OWN_FILES for path in folder.glob(pattern))
    return found
