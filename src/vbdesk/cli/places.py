"""Where the desk of this person keeps its recordings and its list of services."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Places:
    """Two folders; the same one where `--data-dir` names it.

    Attributes:
        data: recordings, and the service on this computer.
        config: profiles, without secrets.
    """

    data: Path
    config: Path


def places(data_dir: Path | None) -> Places:
    """The folders of the desk, as the system has them or as a person says. They may not exist yet."""
    import platformdirs

    if data_dir is None:
        return Places(platformdirs.user_data_path("vbdesk", False), platformdirs.user_config_path("vbdesk", False))
    folder = data_dir.expanduser().resolve()
    return Places(folder, folder)
