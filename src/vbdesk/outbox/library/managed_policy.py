"""Settings that an organisation makes for its computers: the registry, managed preferences, or a file.

| System  | Place                                                                                             |
|---------|---------------------------------------------------------------------------------------------------|
| Windows | `Software\\Policies\\vbdesk` of the machine, then of the user                                        |
| macOS   | `org.vbdesk.desk.plist` in `/Library/Managed Preferences`, then in the user's folder there         |
| Linux   | `/etc/vbdesk/policy.toml`                                                                          |

The first place wins for each entry. An entry that is unknown or wrong is ignored and reported; the others hold.
"""

import getpass
import importlib
import logging
import plistlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vbdesk.client.update_notice import NoticeSource, read_notice_source
from vbdesk.data_files import DataFileError, read_toml
from vbdesk.language import Message, _, language_of, message
from vbdesk.outbox.library.consent import ConsentPolicy
from vbdesk.outbox.library.settings import LibrarySettings, Retention, RetentionRule
from vbdesk.outbox.profiles.profiles import LONGEST_NAME

REGISTRY_KEY = r"Software\Policies\vbdesk"
MAC_FOLDER = Path("/Library/Managed Preferences")
MAC_FILE = "org.vbdesk.desk.plist"
LINUX_FILE = Path("/etc/vbdesk/policy.toml")
LONGEST_LOCK_AFTER = 24 * 60
LONGEST_KEPT_DAYS = 3650
OFF = "off"

Values = Mapping[str, object]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ManagedPolicy:
    """What an organisation has set; None where the user chooses.

    Attributes:
        service_url: address of the service.
        profile_name: name of the profile for that service.
        language: tag of the language that the window is read in.
        consent_policy: whether recordings need consent.
        app_lock_minutes: the app lock is wanted, and locks the window after so many minutes.
        retention: how long the sound is kept.
        update_notice: where to ask for new versions; `off` for nowhere.
        faults: sentences on entries that are ignored.
    """

    service_url: str | None = None
    profile_name: str | None = None
    language: str | None = None
    consent_policy: ConsentPolicy | None = None
    app_lock_minutes: int | None = None
    retention: Retention | None = None
    update_notice: NoticeSource | str | None = None
    faults: tuple[Message, ...] = field(default=(), compare=False)

    @property
    def entries(self) -> list[str]:
        """Names of the entries that are set."""
        return [entry for entry, (name, _parse) in _ENTRIES.items() if getattr(self, name) is not None]

    def is_service(self, base_url: str | None) -> bool:
        """Whether this is the address that is set."""
        return self.service_url is not None and base_url == self.service_url

    def name_for(self, base_url: str | None) -> str | None:
        """The profile name that is set for the service at this address; None if none is."""
        return self.profile_name if self.is_service(base_url) else None

    def applied_to(self, settings: LibrarySettings) -> LibrarySettings:
        """Settings of a library with what the organisation has set."""
        if self.consent_policy is not None:
            settings = replace(settings, consent=replace(settings.consent, policy=self.consent_policy))
        return settings if self.retention is None else replace(settings, retention=self.retention)


def read_policy(platform: str = sys.platform) -> ManagedPolicy:
    """Read what is set on this computer; takes about a millisecond. Never raises: faults are in the result."""
    found: dict[str, object] = {}
    faults: list[Message] = []
    for place, read in _sources(platform):
        try:
            values = read()
        except FileNotFoundError:
            continue
        except Exception as error:  # of any parser: a policy never stops the program
            reason = error if isinstance(error, DataFileError) else type(error).__name__
            faults.append(
                message("The policy in {place} cannot be read ({reason}); it is ignored.", place=place, reason=reason)
            )
            continue
        found = {**{_plain(name): value for name, value in values.items()}, **found}
    policy = _parsed(found, faults)
    for fault in policy.faults:
        log.warning("An entry of the organisation's policy is ignored: %s", fault)
    return policy


def managed_words() -> str:
    """Why a value cannot be changed."""
    return _("Set by your organisation.")


def _parsed(found: Values, faults: list[Message]) -> ManagedPolicy:
    known = {_plain(entry): entry for entry in _ENTRIES}
    chosen: dict[str, Any] = {}
    for name, value in found.items():
        if name not in known:
            faults.append(message("The policy has an unknown entry: {entry}. It is ignored.", entry=name[:60]))
            continue
        field_name, parse = _ENTRIES[known[name]]
        try:
            chosen[field_name] = parse(value)
        except (ValueError, TypeError):
            faults.append(
                message("The policy has a wrong value for {entry}. It is ignored.", entry=known[name]),
            )
    return ManagedPolicy(**chosen, faults=tuple(faults))


def _plain(name: str) -> str:
    """`ServiceUrl` and `service_url` are the same entry."""
    return name.replace("_", "").lower()


def _text(value: object) -> str:
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if not text or not text.isprintable():
        raise ValueError(value)
    return text


def _service_url(value: object) -> str:
    address = _text(value).rstrip("/")
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise ValueError(value)
    return address


def _profile_name(value: object) -> str:
    name = _text(value)
    if len(name) > LONGEST_NAME:
        raise ValueError(value)
    return name


def _language(value: object) -> str:
    tag = _text(value)
    if language_of(tag) is None:
        raise ValueError(value)
    return tag


def _number(value: object, least: int, most: int) -> int:
    """A whole number; the registry and some tools write it as text."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(value)
    number = int(value)
    if not least <= number <= most:
        raise ValueError(value)
    return number


def _minutes(value: object) -> int:
    return _number(value, 1, LONGEST_LOCK_AFTER)


def _retention(value: object) -> Retention:
    if value == RetentionRule.FOR_EVER.value:
        return Retention()
    return Retention(RetentionRule.AFTER_RESULT, _number(value, 0, LONGEST_KEPT_DAYS))


def _update_notice(value: object) -> NoticeSource | str:
    text = _text(value)
    return OFF if text == OFF else read_notice_source(text)


_ENTRIES: dict[str, tuple[str, Callable[[object], object]]] = {
    "ServiceUrl": ("service_url", _service_url),
    "ProfileName": ("profile_name", _profile_name),
    "Language": ("language", _language),
    "ConsentPolicy": ("consent_policy", lambda value: ConsentPolicy(_text(value))),
    "AppLockMinutes": ("app_lock_minutes", _minutes),
    "RetentionDays": ("retention", _retention),
    "UpdateNotice": ("update_notice", _update_notice),
}


def _sources(platform: str) -> Iterator[tuple[str, Callable[[], Values]]]:
    """Where the system keeps such settings, the strongest first; reading raises FileNotFoundError if there are none."""
    if platform == "win32":
        for hive in ("HKEY_LOCAL_MACHINE", "HKEY_CURRENT_USER"):
            yield f"{hive}\\{REGISTRY_KEY}", partial(_registry_values, hive)
    elif platform == "darwin":
        for file in (MAC_FOLDER / MAC_FILE, MAC_FOLDER / getpass.getuser() / MAC_FILE):
            yield str(file), partial(_preferences, file)
    else:
        yield str(LINUX_FILE), _file_values


def _registry_values(hive: str) -> Values:
    registry: Any = importlib.import_module("winreg")
    values: dict[str, object] = {}
    access = registry.KEY_READ | registry.KEY_WOW64_64KEY
    with registry.OpenKey(getattr(registry, hive), REGISTRY_KEY, 0, access) as key:
        for place in range(registry.QueryInfoKey(key)[1]):
            name, value, _kind = registry.EnumValue(key, place)
            values[name] = value
    return values


def _file_values() -> Values:
    if not LINUX_FILE.exists():
        raise FileNotFoundError(LINUX_FILE)
    return read_toml(LINUX_FILE)


def _preferences(file: Path) -> Values:
    found = plistlib.loads(file.read_bytes())
    if not isinstance(found, dict):
        raise TypeError(file)
    return found
