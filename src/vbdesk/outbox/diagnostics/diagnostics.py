"""Diagnose this computer: a checklist for its user, and a bundle of facts for support.

Findings are for the user and may name a profile. The bundle is for others. It holds only numbers, versions and words of
ours, never text from a library, a keyring or an answer, so it cannot contain personal data.
"""

import json
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Protocol
from urllib.parse import urlsplit

from vbdesk import __version__
from vbdesk.capture.devices import DeviceLister, DeviceListUnavailable
from vbdesk.client import Client, ClientError, Credentials, ErrorKind
from vbdesk.client.errors import ConnectionFailed
from vbdesk.clock import Clock
from vbdesk.contract.limits import REQUESTS_PER_WINDOW
from vbdesk.contract.timestamps import format_timestamp
from vbdesk.language import N_, joined, message, plural_message, system_reason
from vbdesk.outbox.diagnostics.diagnostic_logs import crash_locations, log_lines, service_log_counts
from vbdesk.outbox.diagnostics.library_facts import (
    LibraryFacts,
    inspect_library,
    inspect_sounds,
    known_words,
    prove_list,
)
from vbdesk.outbox.diagnostics.list_check import ListCopy, check_list, copied_list
from vbdesk.outbox.library.audit_reader import AuditReader, AuditUnreadable
from vbdesk.outbox.library.damaged_takes import FOLDER as DAMAGED_FOLDER
from vbdesk.outbox.library.database import LibraryKeyWrong, LibraryUnreadable
from vbdesk.outbox.library.disk_faults import DiskFault, disk_fault
from vbdesk.outbox.library.integrity_check import HELD, NOT_KNOWN
from vbdesk.outbox.library.managed_policy import ManagedPolicy
from vbdesk.outbox.library.rollback_detection import KeyringReading, read_keyring
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.profiles.profiles import (
    KEY_BYTES,
    Profile,
    ProfileStore,
    ProfilesUnreadable,
    known_library_key,
    library_folder,
)
from vbdesk.outbox.profiles.vault import PassphraseLocked, Vault, VaultError, VaultMissing, keyring_name
from vbdesk.privacy import owner_only_opener, set_export_mode

BUNDLE_FORMAT = 1
LITTLE_ROOM_BYTES = 5 * 10**9
NO_ROOM_BYTES = 10**9
"""An hour at 48 kHz and 16 bit takes 350 MB."""
CLOCK_MAY_DIFFER_S = 300.0
_DAMAGED = N_("The list of recordings is damaged. Put back a copy of the folder.")
NAMED = 5  # recordings named per fault; the others are counted
PACKAGES = (
    "PySide6-Essentials",
    "httpx",
    "keyring",
    "SecretStorage",
    "cryptography",
    "numpy",
    "sounddevice",
    "soundfile",
)


class FindingStatus(StrEnum):
    """State of a finding."""

    GOOD = "good"
    NOTICE = "notice"  # it works; a person may want to know
    REPAIR = "mend"  # a person has to fix something


@dataclass(frozen=True, slots=True)
class DiagnosticFinding:
    """One line of the checklist.

    Attributes:
        topic: what was checked, a word of ours.
        sentence: the state and what to do; for the user only.
        profile: name of its profile; None for the computer.
    """

    topic: str
    health: FindingStatus
    sentence: str
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Result of a diagnosis.

    Attributes:
        findings: the checklist.
        facts: content of the bundle, as JSON values.
    """

    findings: tuple[DiagnosticFinding, ...]
    facts: dict[str, Any]

    @property
    def ok(self) -> bool:
        """Whether nothing needs fixing."""
        return all(finding.health is not FindingStatus.REPAIR for finding in self.findings)


class DiagnosticPorts(Protocol):
    """What a diagnosis needs; the desk's dependencies implement it."""

    @property
    def data_dir(self) -> Path:
        """Folder of the recordings and the log."""

    @property
    def config_dir(self) -> Path:
        """Folder of the list of profiles."""

    @property
    def clock(self) -> Clock:
        """The clock."""

    @property
    def lister(self) -> DeviceLister:
        """Lists the microphones."""

    @property
    def policy(self) -> ManagedPolicy:
        """What the organisation has set."""

    @property
    def connect(self) -> Callable[[str, Credentials], Client]:
        """Makes a client."""

    def vault(self, secrets: str) -> Vault:
        """The vault for a profile's kind of secret storage."""


def diagnose(ports: DiagnosticPorts, *, with_hosts: bool = False, read_sounds: bool = True) -> Diagnosis:
    """Check everything; takes seconds, more if a service does not answer. Changes nothing.

    Args:
        ports: access to the computer.
        with_hosts: whether the bundle may name the services' hosts.
        read_sounds: whether to read every sound, which takes about a second per hour of sound.
    """
    findings: list[DiagnosticFinding] = []
    facts: dict[str, Any] = {
        "format": BUNDLE_FORMAT,
        "made_at": format_timestamp(ports.clock.now()),
        "program": _program(),
        "computer": _computer(),
    }
    facts["disk"] = _disk(ports, findings)
    facts["microphones"] = _microphones(ports, findings)
    facts["policy"] = _policy(ports, findings)
    profiles, in_use = _profiles(ports, findings)
    facts["keyring"] = _keyring(profiles, findings)
    examinations = [_ProfileCheck(ports, profile, findings, read_sounds) for profile in profiles]
    facts["profiles"] = [
        {"in_use": profile == in_use, **examination.facts(with_hosts)}
        for profile, examination in zip(profiles, examinations, strict=True)
    ]
    findings.sort(key=lambda finding: finding.profile is not None)  # those of the computer first
    facts["findings"] = [{"topic": finding.topic, "health": finding.health} for finding in findings]
    private = _private_words(ports, profiles, [word for each in examinations for word in each.known_words])
    facts["log"] = log_lines(ports.data_dir, private)
    facts["crashes"] = crash_locations(ports.data_dir, private)
    facts["service_log"] = service_log_counts(ports.data_dir / "service" / "service.log")
    return Diagnosis(tuple(findings), facts)


def write_bundle(diagnosis: Diagnosis, path: Path) -> None:
    """Write the facts to `path`, as JSON that a person can read before sending it. Raises OSError."""
    unfinished = path.with_name(f"{path.name}.new")
    with open(unfinished, "w", encoding="utf-8", opener=owner_only_opener) as file:
        file.write(json.dumps(diagnosis.facts, indent=2) + "\n")
    set_export_mode(unfinished)
    unfinished.replace(path)


def _program() -> dict[str, Any]:
    packages: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = None
    return {"vbdesk": __version__, "python": platform.python_version(), "packages": packages}


def _computer() -> dict[str, Any]:
    """Kind of computer and system, without its host name."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
    }


def _disk(ports: DiagnosticPorts, findings: list[DiagnosticFinding]) -> dict[str, Any]:
    folder = next((each for each in (ports.data_dir, *ports.data_dir.parents) if each.exists()), Path.cwd())
    usage = shutil.disk_usage(folder if folder.is_dir() else folder.parent)  # Windows refuses a file
    writable = folder.is_dir() and os.access(folder, os.W_OK)
    free = usage.free / 10**9
    home = Path.home()
    if not folder.is_dir():
        findings.append(
            DiagnosticFinding(
                N_("disk"),
                FindingStatus.REPAIR,
                message("{file} is a file, where the recordings need a folder. Move it away.", file=folder),
            )
        )
    elif not home.exists() and ports.data_dir.is_relative_to(home):
        findings.append(
            DiagnosticFinding(
                N_("disk"),
                FindingStatus.REPAIR,
                message("Your home folder {folder} does not exist. Make it before you record.", folder=home),
            )
        )
    elif not writable:
        findings.append(
            DiagnosticFinding(
                N_("disk"),
                FindingStatus.REPAIR,
                message("The folder of the recordings cannot be written to. Give yourself the right."),
            )
        )
    elif usage.free < NO_ROOM_BYTES:
        findings.append(
            DiagnosticFinding(
                N_("disk"),
                FindingStatus.REPAIR,
                message("Only {free:.1f} GB are free for recordings. Make room before you record.", free=free),
            )
        )
    elif usage.free < LITTLE_ROOM_BYTES:
        findings.append(
            DiagnosticFinding(
                N_("disk"),
                FindingStatus.NOTICE,
                message(
                    "{free:.1f} GB are free for recordings: about {hours:.0f} hours of sound.",
                    free=free,
                    hours=usage.free / 35e7,
                ),
            )
        )
    else:
        findings.append(
            DiagnosticFinding(
                N_("disk"), FindingStatus.GOOD, message("{free:.1f} GB are free for recordings.", free=free)
            )
        )
    return {"free_bytes": usage.free, "total_bytes": usage.total, "writable": writable}


def _microphones(ports: DiagnosticPorts, findings: list[DiagnosticFinding]) -> int | None:
    if not Path.home().exists():
        sentence = message(
            "They were not looked for: the sound system would make your home folder, which does not exist."
        )
        findings.append(DiagnosticFinding(N_("microphones"), FindingStatus.NOTICE, sentence))
        return None
    try:
        count = len(ports.lister.devices())
    except DeviceListUnavailable as error:
        findings.append(DiagnosticFinding(N_("microphones"), FindingStatus.REPAIR, joined(error)))
        return None
    if count:
        findings.append(
            DiagnosticFinding(
                N_("microphones"), FindingStatus.GOOD, message("Microphones found: {count}.", count=count)
            )
        )
    else:
        findings.append(
            DiagnosticFinding(
                N_("microphones"), FindingStatus.NOTICE, message("There is no microphone. Connect one to record.")
            )
        )
    return count


def _policy(ports: DiagnosticPorts, findings: list[DiagnosticFinding]) -> list[str]:
    """Names of the entries that the organisation has set."""
    names = ports.policy.entries
    if names:
        sentence = message("Your organisation has set: {entries}.", entries=", ".join(names))
        findings.append(DiagnosticFinding(N_("policy"), FindingStatus.GOOD, sentence))
    faults = ports.policy.faults
    findings.extend(DiagnosticFinding(N_("policy"), FindingStatus.REPAIR, fault) for fault in faults)
    return names


def _profiles(ports: DiagnosticPorts, findings: list[DiagnosticFinding]) -> tuple[list[Profile], Profile | None]:
    store = ProfileStore(ports.config_dir)
    try:
        profiles, in_use = store.all(), store.current()
    except ProfilesUnreadable as error:
        findings.append(DiagnosticFinding(N_("profiles"), FindingStatus.REPAIR, joined(error)))
        return [], None
    if not profiles:
        findings.append(
            DiagnosticFinding(
                N_("profiles"), FindingStatus.NOTICE, message("No service is set up yet. Start the desk to do so.")
            )
        )
    return profiles, in_use


def _keyring(profiles: list[Profile], findings: list[DiagnosticFinding]) -> str | None:
    wanted = any(profile.secrets == "keyring" for profile in profiles)
    try:
        name = keyring_name()
    except VaultMissing as error:
        findings.append(
            DiagnosticFinding(N_("keyring"), FindingStatus.REPAIR if wanted else FindingStatus.NOTICE, joined(error))
        )
        return None
    findings.append(
        DiagnosticFinding(
            N_("keyring"), FindingStatus.GOOD, message("The keyring of this computer is there ({name}).", name=name)
        )
    )
    return name


class _ProfileCheck:
    """One profile: its keys, recordings, log and service."""

    def __init__(
        self, ports: DiagnosticPorts, profile: Profile, findings: list[DiagnosticFinding], read_sounds: bool
    ) -> None:
        self._ports, self._profile, self._findings = ports, profile, findings
        self._read_sounds = read_sounds
        self._sound_counts: dict[str, int] | None = None
        self._folder = library_folder(ports.data_dir, profile.profile_id)
        self._vault = ports.vault(profile.secrets)
        self.known_words: list[str] = []

    def facts(self, with_host: bool) -> dict[str, Any]:
        profile = self._profile
        host = urlsplit(profile.base_url).hostname if profile.base_url is not None and with_host else None
        said = len(self._findings)
        with ExitStack() as stack:
            library, proofs = self._list(stack)
        if not any(finding.topic == "recordings" for finding in self._findings[said:]):
            self._recordings_found(library, proofs)
        return {
            "kind": profile.kind,
            "secrets": profile.secrets,
            "host": host,
            "plan": profile.plan,
            "requests_a_minute": {str(bucket): n for bucket, n in REQUESTS_PER_WINDOW[profile.plan].items()},
            "library": asdict(library),
            "proofs": proofs,
            "sounds": self._sound_counts,
            "connection": self._connection(),
        }

    def _list(self, stack: ExitStack) -> tuple[LibraryFacts, dict[str, Any] | None]:
        """Check a copy of the list."""
        key, error = self._library_key()
        try:
            copy = stack.enter_context(copied_list(self._folder, key))
            library = self._library(copy)
            self.known_words = known_words(copy)
            return library, self._proofs(copy, library, error)
        except OSError as error:
            sentence = message("The recordings cannot be read: {cause}.", cause=system_reason(error))
            if disk_fault(error) in (DiskFault.FULL, DiskFault.QUOTA):  # the copy needs room, not the reading
                sentence = message(
                    "The list of recordings was not examined: {folder} has no room for a copy. Make room.",
                    folder=gettempdir(),
                )
            self._say(N_("recordings"), FindingStatus.REPAIR, sentence)
            return LibraryFacts(exists=True, readable=False), None

    def _say(self, topic: str, health: FindingStatus, sentence: str) -> None:
        self._findings.append(DiagnosticFinding(topic, health, sentence, self._profile.name))

    def _recordings_found(self, library: LibraryFacts, proofs: Mapping[str, Any] | None) -> None:
        """Report that all is well; without their key it is unknown whether the recordings are intact."""
        count = sum(library.counts.values())
        if library.exists and (not library.key_known or proofs is None or not proofs.get("list")):
            sentence = message(
                "There are recordings here. Without their key nobody can tell how many, and whether they are in order."
            )
            self._say(N_("recordings"), FindingStatus.NOTICE, sentence)
        elif not count:
            self._say(N_("recordings"), FindingStatus.GOOD, message("There are none yet."))
        else:
            self._say(N_("recordings"), FindingStatus.GOOD, message("Recordings in good order: {count}.", count=count))

    def _library(self, copy: ListCopy) -> LibraryFacts:
        facts = inspect_library(copy, self._ports.clock.now())
        if not facts.readable:
            self._say(N_("recordings"), FindingStatus.REPAIR, _DAMAGED)
        if facts.sounds_missing:
            self._say(
                N_("recordings"),
                FindingStatus.REPAIR,
                message("Recordings whose sound is missing: {count}.", count=facts.sounds_missing),
            )
        if waiting := facts.counts.get(OutboxState.NEEDS_ATTENTION):
            self._say(
                N_("recordings"),
                FindingStatus.NOTICE,
                message("Recordings that wait for you in the Outbox: {count}.", count=waiting),
            )
        if facts.unfinished:
            sentence = message(
                "Recordings that were broken off: {count}. The desk offers them at its next start.",
                count=facts.unfinished,
            )
            self._say(N_("recordings"), FindingStatus.NOTICE, sentence)
        return facts

    def _proofs(self, copy: ListCopy, library: LibraryFacts, error: VaultError | None) -> dict[str, Any] | None:
        """Check what needs the key of the recordings: foreign changes, and damaged sound."""
        keyring: KeyringReading | None = None
        key = copy.key
        if error is None and self._profile.secrets != "session":
            keyring = read_keyring(self._vault, self._profile.high_water_name, may_ask=False)
        if not copy.exists:
            self._check(copy, key or os.urandom(KEY_BYTES), keyring)
            return None if error is None else self._no_answer(error)
        if key is None:
            return self._no_library_key() if error is None else self._no_answer(error)
        try:
            log = AuditReader(copy.folder, key).verify()
        except AuditUnreadable as unreadable:
            self._say(N_("audit log"), FindingStatus.REPAIR, joined(unreadable))
            return {"error": type(unreadable).__name__}
        self._say(N_("audit log"), FindingStatus.GOOD if log.ok else FindingStatus.REPAIR, log.sentence)
        self._sound_counts = self._sounds(copy, key) if self._read_sounds else None
        proof = prove_list(copy, key, keyring.version if keyring is not None else None)
        if proof is not None and not proof.ok:
            sentence = message(
                "Something other than vbdesk wrote in the list of recordings. The desk says more where it shows them."
            )
            self._say(N_("recordings"), FindingStatus.REPAIR, sentence)
        self._check(copy, key, keyring, readable=library.readable)
        return {
            "audit": {"ok": log.ok, "entries": log.count, "broken_at": log.broken_at},
            "list": None if proof is None else asdict(proof),
        }

    def _library_key(self) -> tuple[bytes | None, VaultError | None]:
        """The key of the recordings, or why it is unknown."""
        try:
            return known_library_key(self._vault, self._profile), None
        except VaultError as error:
            return None, error

    def _check(self, copy: ListCopy, key: bytes, keyring: KeyringReading | None, *, readable: bool = True) -> None:
        """Report what the next opening of the list will find."""
        try:
            found = check_list(copy, key, self._ports.clock, keyring)
        except (LibraryKeyWrong, LibraryUnreadable) as error:
            if readable:
                self._say(N_("recordings"), FindingStatus.REPAIR, joined(error))
            return
        for sentence in found.findings:
            self._say(N_("recordings"), FindingStatus.REPAIR, sentence)
        if found.findings:
            self._say(N_("recordings"), FindingStatus.NOTICE, HELD)
        if found.unknown is not None:
            self._say(N_("recordings"), FindingStatus.REPAIR, joined(found.unknown, NOT_KNOWN))
        if found.unclaimed:
            self._say(
                N_("recordings"),
                FindingStatus.NOTICE,
                message(
                    "Files in the folder takes that no recording of the list owns: {count} ({names}). vbdesk "
                    "leaves them as they are.",
                    count=len(found.unclaimed),
                    names=_some(found.unclaimed),
                ),
            )

    def _sounds(self, copy: ListCopy, key: bytes) -> dict[str, int] | None:
        """Read every sound; needs the right key."""
        found = inspect_sounds(copy, key)
        if found is None:
            return None
        if found.damaged:
            self._say(
                N_("recordings"),
                FindingStatus.REPAIR,
                message(
                    "Recordings with damaged sound: {count} ({names}). Play one in the desk: it says what can be read.",
                    count=len(found.damaged),
                    names=_some(found.damaged),
                ),
            )
        if found.lengthened:
            self._say(
                N_("recordings"),
                FindingStatus.NOTICE,
                message(
                    "Recordings to whose file something other than vbdesk added bytes: {count} ({names}). Their "
                    "sound is whole and is used.",
                    count=len(found.lengthened),
                    names=_some(found.lengthened),
                ),
            )
        for leftover in found.leftovers[:NAMED]:
            subject, name = leftover.about.get("group_id"), leftover.path.name
            sentence = (
                message("A recording of {subject} that was broken off is damaged ({file}).", subject=subject, file=name)
                if subject
                else message("A recording that was broken off is damaged ({file}).", file=name)
            )
            self._say(
                N_("recordings"),
                FindingStatus.REPAIR,
                joined(
                    sentence,
                    leftover.sentence,
                    message("The file is kept until you decide, on the desk's Record page."),
                ),
            )
        if len(found.leftovers) > NAMED:
            sentence = message("Damaged recordings that were broken off: {count} in all.", count=len(found.leftovers))
            self._say(N_("recordings"), FindingStatus.REPAIR, sentence)
        if found.kept:
            folder = self._folder / DAMAGED_FOLDER
            sentence = message(
                "Damaged recordings that you keep: {count}, in {folder}. Delete what you no longer need.",
                count=found.kept,
                folder=folder,
            )
            self._say(N_("kept recordings"), FindingStatus.NOTICE, sentence)
        return found.counts

    def _no_answer(self, error: VaultError) -> dict[str, Any]:
        """Report a keyring fault once for all profiles."""
        if isinstance(error, PassphraseLocked):
            sentence = message(
                "The keys of this profile open with your passphrase, so nothing that needs them was looked at."
            )
            self._findings.append(DiagnosticFinding(N_("passphrase"), FindingStatus.NOTICE, sentence))
        elif all(finding.sentence != str(error) for finding in self._findings):
            self._findings.append(DiagnosticFinding(N_("keyring"), FindingStatus.REPAIR, joined(error)))
        return {"error": type(error).__name__}

    def _no_library_key(self) -> dict[str, Any]:
        if self._profile.secrets == "session":
            self._say(
                N_("key of the recordings"),
                FindingStatus.NOTICE,
                message("It is kept by the open desk alone, as you chose."),
            )
        else:
            sentence = message(
                "It is not in the keyring. Log in as the person who made the recordings, or restore the keyring."
            )
            self._say(N_("key of the recordings"), FindingStatus.REPAIR, sentence)
        return {"error": "no key"}

    def _connection(self) -> dict[str, Any]:
        profile = self._profile
        try:
            key = self._vault.get(profile.api_key_name)
        except VaultError as error:
            return self._no_answer(error)
        if key is None:
            session = profile.secrets == "session"
            sentence = message("It is not in the keyring. Enter it in the desk, under Account.")
            self._say(N_("API key"), FindingStatus.NOTICE if session else FindingStatus.REPAIR, sentence)
            return {"error": "no key"}
        if profile.base_url is None:
            self._say(N_("service"), FindingStatus.GOOD, message("It runs on this computer while the desk is open."))
            return {}
        return self._answer(profile.base_url, Credentials(profile.account_id, key))

    def _answer(self, base_url: str, credentials: Credentials) -> dict[str, Any]:
        started = time.monotonic()
        try:
            with self._ports.connect(base_url, credentials) as client:
                credits_left = client.account.credits()
                server_time = client.server_time
        except ClientError as error:
            self._say(
                N_("service"),
                FindingStatus.NOTICE if error.kind is ErrorKind.RETRYABLE else FindingStatus.REPAIR,
                error.sentence,
            )
            cause = str(error.cause) if isinstance(error, ConnectionFailed) else None
            return {"error": type(error).__name__, "cause": cause, "status": error.status}
        except ValueError:
            self._say(N_("service"), FindingStatus.REPAIR, message("Its address is not one. Enter it again."))
            return {"error": "no address"}
        ahead_s = 0.0 if server_time is None else (self._ports.clock.now() - server_time).total_seconds()
        if abs(ahead_s) > CLOCK_MAY_DIFFER_S:
            minutes = round(abs(ahead_s) / 60)
            sentence = (
                plural_message(
                    "The clock of this computer is {count} minute ahead of the service's. Set it.",
                    "The clock of this computer is {count} minutes ahead of the service's. Set it.",
                    minutes,
                )
                if ahead_s > 0
                else plural_message(
                    "The clock of this computer is {count} minute behind the service's. Set it.",
                    "The clock of this computer is {count} minutes behind the service's. Set it.",
                    minutes,
                )
            )
            self._say(N_("clock"), FindingStatus.REPAIR, sentence)
        if credits_left:
            self._say(N_("service"), FindingStatus.GOOD, message("It answers; address, account and key are right."))
        else:
            self._say(
                N_("service"),
                FindingStatus.REPAIR,
                message("It answers, but the account has no credits left. Add credits."),
            )
        took_s = round(time.monotonic() - started, 3)
        return {"answered_in_s": took_s, "has_credits": credits_left > 0, "clock_ahead_s": round(ahead_s)}


def _some(names: Sequence[str]) -> str:
    """The first names of many."""
    more, first = len(names) - NAMED, "; ".join(names[:NAMED])
    return plural_message("{names}; {count} more", "{names}; {count} more", more, names=first) if more > 0 else first


def _private_words(ports: DiagnosticPorts, profiles: list[Profile], of_libraries: list[str]) -> list[str]:
    """Private words of this computer, which must not be in the bundle's log lines."""

    def words() -> Iterator[str]:
        yield from (str(ports.data_dir), str(Path.home()), Path.home().name, platform.node())
        for profile in profiles:
            yield from (profile.name, profile.account_id, profile.profile_id, profile.base_url or "")
            yield urlsplit(profile.base_url or "").hostname or ""
        yield from of_libraries

    return sorted({word for word in words() if len(word) > 1}, key=len, reverse=True)
