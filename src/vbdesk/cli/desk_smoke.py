"""`vbdesk desk --smoke`: the real window and the service on this computer, with a microphone made of a file."""

import logging
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from vbdesk.capture.microphone import FileMicrophone
from vbdesk.capture.playback import SilentPlayer
from vbdesk.outbox.profiles.vault import MemoryVault
from vbdesk.resource_files import resource

if TYPE_CHECKING:
    from vbdesk.desk.shell.app import Desk
    from vbdesk.desk.ui.tokens import Scheme

TIMEOUT_S = 300.0
"""For each step: a slow computer under load still passes."""

_SAMPLE = "reading_1.flac"
_REPEATS = 20

log = logging.getLogger(__name__)


def run_smoke_test(scheme: "Scheme") -> int:
    """Open each page, record, analyse and close in a folder that is then deleted.

    Returns:
        0 if every step was reached.
    """
    from vbdesk.desk.ports import DeskPorts
    from vbdesk.desk.shell.app import run
    from vbdesk.desk.shell.smoke_test import SmokeTest

    with tempfile.TemporaryDirectory(prefix="vbdesk-smoke-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        microphone = _microphone()
        ports = DeskPorts(
            data_dir=folder / "data", config_dir=folder / "config", microphone=microphone, lister=microphone,
            player=SilentPlayer, keyring=MemoryVault(), notify=log.info, open_page=log.info,
        )  # fmt: skip
        walks: list[SmokeTest] = []

        def begin(desk: "Desk") -> None:
            walks.append(SmokeTest(desk, TIMEOUT_S, typer.echo))

        status = run(ports, scheme, begin=begin)
    return status or (0 if walks and walks[0].passed else 1)


def _microphone() -> FileMicrophone:
    import numpy as np
    import soundfile as sf

    samples, rate = sf.read(resource("samples", _SAMPLE), dtype="int16", always_2d=True)
    return FileMicrophone(np.tile(samples[:, 0], _REPEATS), rate, pace=1.0)
