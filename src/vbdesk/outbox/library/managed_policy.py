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
import re
import reprlib
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vbdesk.client.update_notice import NoticeSource, read_notice_source
from vbdesk.data_files import DataFileError, read_toml
from vbdesk.language import N_, Message, available_languages, joined, language_of, message, system_reason, translated
from vbdesk.outbox.library.consent import ConsentPolicy
from vbdesk.outbox.library.settings import LibrarySettings, Retention, RetentionRule
from vbdesk.outbox.profiles.profiles import LONGEST_NAME

REGISTRY_KEY = r"Software\Policies\vbdesk"
MAC_FOLDER = Path("/Library/Managed Preferences")
MAC_FILE = "org.vbdesk.desk.plist"
LINUX_FILE = Path("/etc/vbdesk/policy.toml")
LONGEST_LOCK_AFTER = 24 * 60
LONGEST_RETENTION_DAYS = 3650
MANAGED = message("Set by your organisation.")
LARGEST_FILE = 10**6
"""Bytes; a policy has a few hundred."""
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
        return [name for name, entry in _ENTRIES.items() if getattr(self, entry.field) is not None]

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
    found: dict[str, _Setting] = {}
    faults: list[Message] = []
    for source, read in _sources(platform):
        try:
            values = read()
        except FileNotFoundError:
            continue
        except Exception as error:  # of any parser: a policy never stops the program
            whole = message("The whole policy in {place} is ignored. Correct it.", place=source)
            faults.append(joined(_reason(source, error), whole))
            continue
        found = {**{_plain(name): _Setting(source, name, value) for name, value in values.items()}, **found}
    policy = _parsed(found, faults)
    if policy.faults and log.hasHandlers():  # without a log, Python would print the line to standard error
        log.warning("The organisation's policy has faults. `vbdesk doctor` names them.")
    return policy


def managed_text() -> str:
    """Why a value cannot be changed."""
    return translated(MANAGED)


@dataclass(frozen=True, slots=True)
class _Setting:
    """A value as somebody set it: where, under which name."""

    place: str
    name: str
    value: object

    def fault(self, template: str, **fields: object) -> Message:
        """A sentence on this value."""
        named = {"place": self.place, "entry": self.name[:60], "found": _shown(self.value)}
        return Message.make(template, fields={**named, **fields})


def _parsed(found: Mapping[str, _Setting], faults: list[Message]) -> ManagedPolicy:
    known = {_plain(name): entry for name, entry in _ENTRIES.items()}
    chosen: dict[str, Any] = {}
    for plain, setting in found.items():
        entry = known.get(plain)
        if entry is None:
            faults.append(setting.fault(_UNKNOWN))
            continue
        try:
            chosen[entry.field] = entry.parse(setting.value)
        except (ValueError, TypeError):
            faults.append(setting.fault(entry.wrong, **entry.limits()))
    return ManagedPolicy(**chosen, faults=tuple(faults))


def _reason(place: str, error: Exception) -> Message:
    """Why a place cannot be read."""
    if isinstance(error, DataFileError):
        return joined(error)
    cause = system_reason(error) if isinstance(error, OSError) else type(error).__name__
    return message("{file} cannot be read: {cause}.", file=place, cause=cause)


def _shown(value: object) -> str:
    """A value in short, without control characters, and without the password of an address."""
    if isinstance(value, bool):
        return str(value).lower()
    try:
        return _SHORT.repr(_USER_OF_ADDRESS.sub(r"\1***@", value) if isinstance(value, str) else value)
    except ValueError:  # Python does not print a number with thousands of digits
        return type(value).__name__


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
    if " " in address or parts.port == 0:  # reading a port that is no number raises ValueError
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
    return Retention(RetentionRule.AFTER_RESULT, _number(value, 0, LONGEST_RETENTION_DAYS))


def _update_notice(value: object) -> NoticeSource | str:
    text = _text(value)
    return OFF if text == OFF else read_notice_source(text)


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of a policy.

    Attributes:
        field: of `ManagedPolicy`.
        parse: gives the value of the field; raises ValueError or TypeError.
        wrong: the sentence on a wrong value; says what is allowed.
        limits: further fields of that sentence.
    """

    field: str
    parse: Callable[[object], object]
    wrong: str
    limits: Callable[[], dict[str, object]] = dict


_USER_OF_ADDRESS = re.compile(r"^(\w+://)?.*@", re.DOTALL)
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = 60
_UNKNOWN = N_("{place} sets {entry}, which vbdesk does not know. Correct its name, or remove it.")
_NOT_LISTED = N_("{place} sets {entry} to {found}, which is ignored. Set one of these: {values}.")
_NOT_WHOLE = N_("{place} sets {entry} to {found}, which is ignored. Set a whole number from {least} to {most}.")
_ENTRIES: dict[str, _Entry] = {
    "ServiceUrl": _Entry(
        "service_url",
        _service_url,
        N_("{place} sets {entry} to {found}, which is ignored. Set an address such as https://voice.example."),
    ),
    "ProfileName": _Entry(
        "profile_name",
        _profile_name,
        N_("{place} sets {entry} to {found}, which is ignored. Set a name of 1 to {most} characters."),
        lambda: {"most": LONGEST_NAME},
    ),
    "Language": _Entry(
        "language",
        _language,
        _NOT_LISTED,
        lambda: {"values": ", ".join(name.replace("_", "-") for name in available_languages())},
    ),
    "ConsentPolicy": _Entry(
        "consent_policy",
        lambda value: ConsentPolicy(_text(value)),
        _NOT_LISTED,
        lambda: {"values": ", ".join(ConsentPolicy)},
    ),
    "AppLockMinutes": _Entry(
        "app_lock_minutes", _minutes, _NOT_WHOLE, lambda: {"least": 1, "most": str(LONGEST_LOCK_AFTER)}
    ),
    "RetentionDays": _Entry(
        "retention",
        _retention,
        N_(
            "{place} sets {entry} to {found}, which is ignored. "
            "Set a whole number from {least} to {most}, or {for_ever}."
        ),
        lambda: {"least": 0, "most": str(LONGEST_RETENTION_DAYS), "for_ever": RetentionRule.FOR_EVER.value},
    ),
    "UpdateNotice": _Entry(
        "update_notice",
        _update_notice,
        N_(
            "{place} sets {entry} to {found}, which is ignored. Set {off}, or an address that begins with https:// "
            "and ends with # and a key."
        ),
        lambda: {"off": OFF},
    ),
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
        for index in range(registry.QueryInfoKey(key)[1]):
            name, value, _kind = registry.EnumValue(key, index)
            values[name] = value
    return values


def _file_values() -> Values:
    return read_toml(_checked(LINUX_FILE))


def _preferences(file: Path) -> Values:
    content = _checked(file).read_bytes()
    try:
        found = plistlib.loads(content)
    except Exception as error:  # it has several parsers, with errors of their own
        raise DataFileError(message("{file} is not a valid property list.", file=file.name)) from error
    if not isinstance(found, dict):
        raise DataFileError(message("{file} is not a valid property list.", file=file.name))
    return found


def _checked(file: Path) -> Path:
    """The file, if it can be a policy: reading a pipe would wait, and an endless file would fill the memory.

    Raises:
        FileNotFoundError: there is none.
        DataFileError: it is something else, too large, or a link to nothing.
    """
    file.lstat()
    try:
        found = file.stat()
    except FileNotFoundError as error:
        raise DataFileError(message("{file} is a link to a file that does not exist.", file=file.name)) from error
    if not stat.S_ISREG(found.st_mode):
        raise DataFileError(message("{file} is not a regular file.", file=file.name))
    if found.st_size > LARGEST_FILE:
        raise DataFileError(message("{file} is larger than {most} MB.", file=file.name, most=LARGEST_FILE // 10**6))
    return file
