"""Hostile or broken bundles, reproducible by seed."""

import hashlib
import io
import json
import random
import struct
import wave
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyrage

from vbdesk.contract.ids import new_id
from vbdesk.outbox.bundles.bundle_errors import BundleError
from vbdesk.outbox.bundles.bundle_export import BundleOwner
from vbdesk.outbox.bundles.bundle_import import import_bundle
from vbdesk.outbox.library.states import OutboxState

HEAD = struct.Struct(">7sBQ32sI")
BLOCK = struct.Struct("<BI")
OWNER = BundleOwner("https://voice.example", "acc-1")
RATE = 8000
SECONDS = 16
ABOUT, FRAMES, MARK, FILE, END = range(5)
ODD_VALUES = (
    None, True, False, 0, -1, 1, 0.5, -0.0, 1e308, -1e308, 10**400, 2**63, "", "x", "a" * 5000, "0" * 64, "\x1b[2J",
    "\u202eabc", "../../etc/passwd", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-03-01T08:00:00Z",
    [], {}, [[]], {"": {}}, [0] * 300, {"a": [{"b": [{"c": [{}]}]}]}, [1.0, 2.0], [5.0, 1.0],
)  # fmt: skip


def block(kind, content):
    if isinstance(content, dict):
        content = json.dumps(content).encode()
    return BLOCK.pack(kind, len(content)) + content


def samples(seed=1):
    return np.random.default_rng(seed).normal(0, 3000, SECONDS * RATE).astype("<i2").tobytes()


def take_sound(seed=1, **closing):
    sound = samples(seed)
    known = {"frames": len(sound) // 2, "sha256": hashlib.sha256(sound).hexdigest(), **closing}
    return b"".join([block(ABOUT, {"sample_rate": RATE, "about": {}}), block(FRAMES, sound), block(END, known)])


def wav(rate=RATE, channels=1, seconds=SECONDS):
    file = io.BytesIO()
    with wave.open(file, "wb") as opened:
        opened.setnchannels(channels)
        opened.setsampwidth(2)
        opened.setframerate(rate)
        opened.writeframes(np.random.default_rng(1).normal(0, 3000, seconds * rate * channels).astype("<i2").tobytes())
    return file.getvalue()


def file_sound(content):
    return block(FILE, content) + block(END, {})


def entry(sound, number=0, **more):
    """The manifest entry of a recording."""
    return {
        "take_id": new_id(), "event_id": new_id(), "group_id": f"ward4-{number}",
        "recorded_at": f"2026-03-01T08:{number % 60:02d}:00.{number:06d}Z", "target": "model:pulse",
        "longitudinal": True, "duration_s": float(SECONDS), "imported": False, "protocol": "", "note": "a note",
        "tags": ["tea"], "consented_at": None, "quality": {"speech_seconds": 12.5, "issues": []}, "trim_s": None,
        "retake_of": None, "source_sha256": "", "size": len(sound), "sha256": hashlib.sha256(sound).hexdigest(),
        "sound_sha256": None, **more,
    }  # fmt: skip


def manifest(takes, **more):
    return {
        "format": 1, "bundle_id": new_id(), "made_at": "2026-03-01T08:30:00Z", "service": OWNER.service,
        "account_id": OWNER.account_id, "takes": takes, **more,
    }  # fmt: skip


def content_of(document, sounds):
    if not isinstance(document, bytes):
        document = json.dumps(document).encode()
    return struct.pack(">I", len(document)) + document + b"".join(sounds)


def sealed(content, recipient, locked=b""):
    """The bytes of a finished bundle."""
    rest = struct.pack(">I", len(locked)) + locked + pyrage.encrypt(content, [recipient])
    size = HEAD.size - 4 + len(rest)
    return HEAD.pack(b"VBUNDLE", 1, size, hashlib.sha256(rest).digest(), len(locked)) + rest[4:]


class Mutator:
    """Changes a good bundle of two recordings in random ways."""

    def __init__(self, recipient, seed):
        self.recipient, self.chance = recipient, random.Random(seed)
        self.sounds = [take_sound(1), take_sound(2)]

    def bundle(self):
        sounds = list(self.sounds)
        document = manifest([entry(sound, number) for number, sound in enumerate(sounds)])
        way = self.chance.randrange(5)
        if way == 4:  # no change
            document["takes"][1] |= {"note": self.chance.choice(["", "\x1b[2J", "é" * 2048]), "tags": []}
            return sealed(content_of(document, sounds), self.recipient)
        if way == 0:  # a value of the manifest
            for _ in range(self.chance.randint(1, 2)):
                self._change_value(document)
            return sealed(content_of(document, sounds), self.recipient)
        if way == 1:  # bytes of the manifest
            return sealed(content_of(self._changed(json.dumps(document).encode()), sounds), self.recipient)
        if way == 2:  # bytes of a sound, with the right digest and size
            sounds[0] = self._changed(sounds[0], within=self.chance.choice([60, len(sounds[0])]))
            document["takes"][0] |= {"size": len(sounds[0]), "sha256": hashlib.sha256(sounds[0]).hexdigest()}
            return sealed(content_of(document, sounds), self.recipient)
        whole = sealed(content_of(document, sounds), self.recipient)
        return self._changed(whole, within=self.chance.choice([60, 400, len(whole)]))

    def _change_value(self, document):
        place = document
        while True:
            key = self.chance.choice(list(place) if isinstance(place, dict) else range(len(place)))
            if isinstance(place[key], dict | list) and place[key] and self.chance.random() < 0.9:
                place = place[key]
                continue
            way = self.chance.randrange(4)
            if way == 0 and isinstance(place, dict):
                del place[key]
            elif way == 1 and isinstance(place, dict):
                place[self.chance.choice(["", "extra", "takes", "\x1b"])] = deepcopy(self.chance.choice(ODD_VALUES))
            else:
                place[key] = deepcopy(self.chance.choice(ODD_VALUES))
            return

    def _changed(self, content, within=None):
        content = bytearray(content)
        for _ in range(self.chance.randint(1, 3)):
            place = self.chance.randrange(min(within or len(content), len(content)))
            way = self.chance.randrange(3)
            if way == 0:
                content[place] ^= 1 << self.chance.randrange(8)
            elif way == 1:
                content[place:place] = self.chance.choice([b"[", b"{", b'"', b"\\", b"0", self.chance.randbytes(4)])
            else:
                del content[place : place + self.chance.randint(1, 8)]
        return bytes(content)


class Torment:
    """Imports bundles into a library, and counts outcomes and faults."""

    def __init__(self, library, secret, path: Path):
        self.library, self.secret, self.path = library, secret, path
        self.refused = self.imported = 0
        self.faults = []

    def bring(self, content):
        """Import one bundle; check every recording that it adds, and delete it again."""
        self.path.write_bytes(content)
        before = self._state()
        try:
            taken = import_bundle(self.library, OWNER, self.path, self.secret)
        except BundleError as error:
            self.refused += 1
            if not str(error).endswith(".") or not str(error).isprintable():
                self.faults.append(f"no sentence: {error!r}")
            if self._state() != before:
                self.faults.append(f"something was left: {error}")
            return
        except Exception as error:
            self.faults.append(f"{type(error).__name__}: {error}")
            return
        self.imported += 1
        try:
            for take_id in taken.added:
                self._look_at(take_id)
                self._remove(take_id)
        except Exception as error:
            self.faults.append(f"taken over, and cannot be used: {type(error).__name__}: {error}")

    def _remove(self, take_id):
        with self.library.store.changing():
            self.library.store.move(take_id, OutboxState.CHECKED)
            self.library.store.remove_event(take_id)
        self.library.discard(take_id, at_once=True)

    def _look_at(self, take_id):
        item = self.library.get(take_id)
        audio = self.library.whole_audio(take_id)
        start_s, end_s = item.trim_s or (0.0, audio.duration_s)
        good = (
            item.state is OutboxState.WAITING
            and datetime(2000, 1, 1, tzinfo=UTC) <= item.recorded_at
            and 0 <= start_s < end_s <= audio.duration_s + 0.01
            and abs(end_s - start_s - item.duration_s) < 0.01
            and 8000 <= audio.sample_rate <= 192_000
            and len(item.note.encode()) <= 4096
        )
        if not good:
            self.faults.append(f"taken over all the same: {item}")

    def _state(self):
        files = sorted(path.name for path in self.library.store.takes_folder.iterdir())
        return files, self.library.store.version(), len(self.library.list())
