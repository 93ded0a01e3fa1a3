"""Sign plugins that this service offers, discovered once at start in a child that may crash."""

import logging
from importlib.metadata import entry_points

from vbdesk.contract.longitudinal import TimeScale
from vbdesk.service.engine.slot import ChildCrashed, TaskFailed, TaskTimedOut
from vbdesk.service.engine.slot_pool import SlotPool
from vbdesk.service.kernel.settings import Settings
from vbdesk.signs.plugins.source import ENTRY_POINTS, PluginSource

LOAD_LIMIT_S = 60.0
MEMORY_BYTES = 3 * 1024**3

Found = tuple[dict[str, TimeScale], list[tuple[str, str]]]

log = logging.getLogger(__name__)


def offered_signs(settings: Settings) -> dict[str, TimeScale]:
    """Return the time scale of each readable sign plugin, by name; log the others."""
    source = settings.plugin_source
    if not _anything_to_load(source):
        return {}
    readable = [] if source.folder is None else [source.folder]
    slots = SlotPool(1, prepare, memory_bytes=MEMORY_BYTES, readable=readable)
    try:
        with slots.borrow() as slot:
            slot.wait_ready()
            found: Found = slot.run(find, source, timeout_s=LOAD_LIMIT_S)
    except (ChildCrashed, TaskFailed, TaskTimedOut) as failure:
        log.error("No sign of your own is offered: loading them ended the process that did. %s", failure)
        return {}
    finally:
        slots.close()
    signs, unavailable = found
    for location, reason in unavailable:
        log.warning("The sign in %s is not offered: %s", location, reason)
    if signs:
        log.info("Signs of your own: %s.", ", ".join(signs))
    return signs


def prepare() -> None:
    """Do nothing: the only task does its own imports."""


def find(source: PluginSource) -> Found:
    """Return the time scales of working plugins by name, and the location and error of the others."""
    from vbdesk.signs.plugins.discovery import load_plugins

    signs = load_plugins(source)
    available = {name: sign.file.timescale for name, sign in signs.available.items()}
    return available, [(item.place, item.reason) for item in signs.unavailable]


def _anything_to_load(source: PluginSource) -> bool:
    files = source.folder is not None and any(source.folder.glob("*.toml"))
    return files or bool(entry_points(group=ENTRY_POINTS))
