"""Make the data of version 8 with the code of its commit; see README.md."""

import gzip
import json
import sys
import tempfile
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path += ["tests/data/upgrade_base"]

import as_values

from vbdesk.clock import ManualClock
from vbdesk.outbox.library.consent import ConsentChange, ConsentEvent, ConsentKind
from vbdesk.outbox.library.corrections import CorrectedRecording, CorrectionReason, CorrectionStep
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.subject_erasure import erase_subject
from vbdesk.outbox.profiles.app_lock import AppLockSwitch, LockableVault
from vbdesk.outbox.profiles.encrypted_vault import EncryptedVault, UnlockableVault
from vbdesk.outbox.profiles.profiles import ProfileStore, library_folder, library_key
from vbdesk.outbox.profiles.service_key import ServiceKeyStore
from vbdesk.outbox.profiles.vault import MemoryVault

HERE, BASE = Path(__file__).parent, Path("tests/data/upgrade_base")
NOW = datetime(2026, 8, 30, 8, 0, tzinfo=UTC)


def fill(library: Library) -> None:
    """Consents and corrections of every kind; a subject that is erased."""
    consents, corrections = library.consents, library.corrections
    ends = NOW + timedelta(days=90)
    consents.give("ward8-0001", ConsentKind.BOTH, wording="3.1", language="de", asked_by="Dr Example", expires=ends)
    consents.withdraw("ward8-0001", ConsentKind.RESEARCH, asked_by="Dr Example")
    there = ConsentEvent("id-of-another-computer", "ward8-0002", ConsentChange.GIVEN, ConsentKind.CLINICAL, NOW)
    gone = ConsentEvent("withdrawn-there", "ward8-0003", ConsentChange.WITHDRAWN, ConsentKind.BOTH, NOW, "", "tr")
    consents.take_in([there, gone])
    consents.take_in_tick("ward8-0002", NOW - timedelta(days=3))
    library.subject_notes.store("ward8-0009", library.subject_notes.note_of("ward4-0001"))
    consents.give("ward8-0009", ConsentKind.BOTH, at=NOW - timedelta(days=2))
    consents.withdraw("ward8-0009")

    def of_service(number: int, group_id: str) -> CorrectedRecording:
        job = f"job-8-{number}"
        return CorrectedRecording(None, group_id, NOW - timedelta(hours=number), (job,), job, {"f0": number})

    moved = corrections.move(of_service(1, "ward8-0001"), "ward8-0002", CorrectionReason.WRONG_PERSON)
    corrections.put_back(moved.number)
    corrections.exclude(of_service(2, "ward8-0001"), CorrectionReason.POOR_SOUND)
    corrections.move(of_service(3, "ward8-0009"), "ward8-0001", CorrectionReason.WRONG_PERSON)
    corrections.exclude(of_service(4, "ward8-0009"), CorrectionReason.TEST)
    first, second, *_ = corrections.due()
    corrections.advance(first, CorrectionStep.SETTLED)
    corrections.postpone(second, NOW + timedelta(hours=1), "The service did not answer.", CorrectionStep.VERIFY)
    assert erase_subject(library, "ward8-0009").left == ()


def main() -> None:
    """Write everything."""
    recorded = json.loads((BASE / "recorded.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        with zipfile.ZipFile(BASE / "desk.zip") as archive:
            archive.extractall(home)
        keyring, unlocked = MemoryVault(), UnlockableVault()
        for entry, secret in json.loads((BASE / "keyring.json").read_text()).items():
            keyring.set(entry, secret)
        vault = LockableVault(keyring, unlocked)
        opened = ServiceKeyStore(home / "service").unlock(recorded["passphrases"]["desk"])
        unlocked.unlock(EncryptedVault(home / "service", opened.key))
        AppLockSwitch(home / "data", home / "service", home / "config", keyring, unlocked).key_was_opened(opened.key)
        profile = ProfileStore(home / "config").get("ward")
        assert profile is not None
        folder = library_folder(home / "data", "ward")
        key = library_key(vault, profile, folder)
        library = Library(folder, key, ManualClock(NOW))
        fill(library)
        statuses = {group_id: as_values.plain(library.consents.status(group_id)) for group_id in library.consents.all()}
        as_values.correction_values = as_values.plain  # one of them has a subject that was erased
        values = as_values.library_values(library, folder, key) | {"statuses": statuses, "key": key.hex()}
        library.close()
        (HERE / "library.sqlite.gz").write_bytes(gzip.compress((folder / "library.sqlite").read_bytes(), 9, mtime=0))
    text = json.dumps(values, indent=1, ensure_ascii=False, sort_keys=True)
    (HERE / "recorded.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
