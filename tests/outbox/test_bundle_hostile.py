"""Every field and every sound of a bundle is checked before it is used."""

import base64
import gc
import hashlib
import io
import json
import struct
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyrage
import pytest
import soundfile as sf
from hypothesis import given
from hypothesis import strategies as st

from vbdesk.contract.ids import new_id
from vbdesk.outbox.bundles import passphrase_child
from vbdesk.outbox.bundles.bundle_errors import BundleDamaged, BundleError, MalformedBundle
from vbdesk.outbox.bundles.bundle_export import export_bundle
from vbdesk.outbox.bundles.bundle_import import import_bundle
from vbdesk.outbox.bundles.bundle_keys import KeyLock, unlock_identity
from vbdesk.outbox.bundles.bundle_manifest import bounded_json
from vbdesk.outbox.bundles.manifest_parser import ManifestParser
from vbdesk.outbox.library.consent import ConsentKind
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata

sys.path.append(str(Path(__file__).parent))

from hostile_bundles import (
    ABOUT,
    END,
    FILE,
    FRAMES,
    MARK,
    OWNER,
    RATE,
    SECONDS,
    Mutator,
    Torment,
    block,
    content_of,
    entry,
    file_sound,
    manifest,
    samples,
    sealed,
    take_sound,
    wav,
)

IDENTITY = pyrage.x25519.Identity.generate()
NUMBERS = st.integers(-(10**20), 10**20) | st.floats()


@pytest.fixture
def bring(library, tmp_path):
    """Import a bundle of these entries and sounds."""

    def bring(takes, sounds, **more):
        document = takes if isinstance(takes, bytes) else manifest(takes, **more)
        path = tmp_path / "b.vbundle"
        path.write_bytes(sealed(content_of(document, sounds), IDENTITY.to_public()))
        return import_bundle(library, OWNER, path, lambda locked: IDENTITY)

    return bring


@pytest.fixture
def refused(bring, library):
    """Import a bundle that must be refused without a trace; returns the error sentence."""

    def refused(takes, sounds, **more):
        with pytest.raises(BundleDamaged) as caught:
            bring(takes, sounds, **more)
        assert library.list() == []
        assert list(library.store.takes_folder.iterdir()) == []
        return str(caught.value)

    return refused


def test_what_is_in_order_enters(bring, library):
    sound = take_sound()
    take = entry(sound, trim_s=[0.5, 15.5], duration_s=15.0, sound_sha256=hashlib.sha256(samples()).hexdigest())
    assert bring([take], [sound]).added == [take["take_id"]]
    assert library.whole_audio(take["take_id"]).duration_s == SECONDS


FIELDS = [
    ("take_id", "../../../etc/passwd"), ("event_id", ""), ("group_id", "ward 4"), ("group_id", "a" * 600),
    ("recorded_at", "1999-12-31T23:59:59Z"), ("recorded_at", "2026-03-02T10:00:00Z"),
    ("recorded_at", "9999-12-31T23:59:59-12:00"), ("recorded_at", 12), ("consented_at", "1970-01-01T00:00:00Z"),
    ("target", "model:\x1b[2J"), ("target", "model:"), ("longitudinal", "yes"), ("duration_s", 0), ("duration_s", -1),
    ("duration_s", 1e9), ("duration_s", "16"), ("note", "a" * 4097), ("note", "é" * 2049), ("note", None),
    ("tags", ["a"] * 51), ("tags", ["a" * 101]), ("tags", "tea"), ("protocol", "p" * 201),
    ("quality", {"a": 1e300}), ("quality", {"a": 10**400}), ("quality", {str(n): n for n in range(300)}),
    ("quality", {"a": [[[[[1]]]]]}), ("quality", {"a": "x" * 9000}), ("quality", []), ("trim_s", [-1.0, 5.0]),
    ("trim_s", [5.0, 5.0]), ("trim_s", [9.0, 5.0]), ("trim_s", [0.0, 17.0]), ("trim_s", [0.0]), ("retake_of", "x"),
    ("source_sha256", "x"), ("size", 0), ("size", 2**40), ("sha256", "0" * 63), ("sound_sha256", "0" * 64 + "\n"),
    ("unknown", 1),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), FIELDS, ids=lambda part: str(part)[:24])
def test_a_value_out_of_bounds_refuses_the_bundle_and_leaves_nothing(refused, field, value):
    sound = take_sound()
    sentence = refused([entry(sound, **{field: value})], [sound])
    assert sentence.endswith(".")
    assert sentence.isprintable()


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("field", ["duration_s", "trim_s", "quality"])
def test_what_is_no_number_refuses_the_bundle(refused, field, text):
    sound = take_sound()
    hole = {"duration_s": "HOLE", "trim_s": [0.0, "HOLE"], "quality": {"a": "HOLE"}}[field]
    document = json.dumps(manifest([entry(sound, **{field: hole})])).replace('"HOLE"', text)
    assert refused(document.encode(), [sound])


def test_a_bundle_that_says_it_is_from_the_future_is_told_from_a_damaged_one(refused):
    sound = take_sound()
    assert "from the future" in refused([entry(sound, recorded_at="2026-03-02T10:00:00Z")], [sound])
    assert "from the future" in refused([entry(sound)], [sound], made_at="2026-03-02T10:00:00Z")
    assert "time of recording" in refused([entry(sound, recorded_at="1999-12-31T23:59:59Z")], [sound])


@pytest.mark.parametrize(
    "other",
    [{"service": "https://\x1b]0;x\x07"}, {"account_id": "a\u202eb"}, {"account_id": "<img src=x>"}, {"format": 3}],
)
def test_what_a_bundle_says_of_itself_is_bounded_too(refused, other):
    sound = take_sound()
    assert refused([entry(sound)], [sound], **other).isprintable()


def test_more_recordings_than_a_bundle_takes_are_refused_before_all_are_read(refused):
    sound = take_sound()
    takes = [entry(sound, number, recorded_at=f"2026-01-01T08:00:00.{number:06d}Z") for number in range(10_001)]
    assert "more than 10,000" in refused(takes, [sound])


@pytest.mark.parametrize("key", ["take_id", "event_id"])
def test_one_recording_named_twice_is_refused(refused, key):
    sound = take_sound()
    first = entry(sound, 1)
    assert "twice" in refused([first, entry(sound, 2, **{key: first[key]})], [sound, sound])


def test_the_event_of_another_recording_here_is_not_taken_for_a_new_one(bring, library):
    sound = take_sound()
    first = entry(sound, 1)
    bring([first], [sound])
    with pytest.raises(BundleDamaged, match="event of another recording"):
        bring([entry(sound, 2, event_id=first["event_id"])], [sound])
    assert [item.take_id for item in library.list()] == [first["take_id"]]


def test_of_two_recordings_of_one_subject_and_moment_in_one_bundle_the_first_enters(bring, library):
    sounds = [take_sound(1), take_sound(2)]
    first, second = entry(sounds[0]), entry(sounds[1])
    taken = bring([first, second], sounds)
    assert (taken.added, [take.take_id for take in taken.clashing]) == ([first["take_id"]], [second["take_id"]])
    assert library.get(first["take_id"]).duration_s == SECONDS
    assert [path.stem for path in library.store.takes_folder.iterdir()] == [first["take_id"]]


def test_a_recording_made_while_the_bundle_is_read_keeps_its_moment(library, tmp_path):
    sound, path = take_sound(), tmp_path / "b"
    take = entry(sound)
    path.write_bytes(sealed(content_of(manifest([take]), [sound]), IDENTITY.to_public()))
    moment = datetime.fromisoformat(take["recorded_at"])

    def record(done, total):
        if not library.list():
            metadata = TakeMetadata(take["group_id"], moment, RecordingTarget("model", "pulse"))
            with library.store.changing():
                library.store.insert("01a1ff52-3e1b-7000-83e1-14138e067edf", metadata, 20.0, imported=False)

    taken = import_bundle(library, OWNER, path, lambda locked: IDENTITY, progress=record)
    assert (taken.added, [each.take_id for each in taken.clashing]) == ([], [take["take_id"]])
    assert list(library.store.takes_folder.iterdir()) == []


# Sounds


def described(rate=RATE, **more):
    return block(ABOUT, {"sample_rate": rate, "about": {}, **more})


def closed(sound, **more):
    return block(END, {"frames": len(sound) // 2, "sha256": hashlib.sha256(sound).hexdigest(), **more})


SOUND = samples()
LYING = {
    "no beginning": block(FRAMES, SOUND) + closed(SOUND),
    "no description": block(ABOUT, b"[" * 5000) + block(FRAMES, SOUND) + closed(SOUND),
    "a huge description": block(ABOUT, b'{"a":"' + b"x" * 100_000 + b'"}') + block(FRAMES, SOUND) + closed(SOUND),
    "rate 0": described(0) + block(FRAMES, SOUND) + closed(SOUND),
    "rate text": described("8000") + block(FRAMES, SOUND) + closed(SOUND),
    "rate 1": described(1) + block(FRAMES, SOUND) + closed(SOUND),
    "rate 1e9": described(10**9) + block(FRAMES, SOUND) + closed(SOUND),
    "another rate": described(16_000) + block(FRAMES, SOUND) + closed(SOUND),
    "odd bytes": described() + block(FRAMES, SOUND[:-1]) + closed(SOUND[:-1]),
    "more frames than are there": described() + block(FRAMES, SOUND) + closed(SOUND, frames=10**12),
    "frames below 0": described() + block(FRAMES, SOUND) + closed(SOUND, frames=-1),
    "another sound": described() + block(FRAMES, SOUND) + closed(SOUND, sha256="0" * 64),
    "lost text": described() + block(FRAMES, SOUND) + closed(SOUND, missing_s="\x1b"),
    "lost less than nothing": described() + block(FRAMES, SOUND) + closed(SOUND, overflows=-1),
    "a mark nowhere": described() + block(MARK, {"task_id": "a"}) + block(FRAMES, SOUND) + closed(SOUND),
    "too many marks": described() + block(MARK, {"moment_s": 1.0}) * 10_001 + block(FRAMES, SOUND) + closed(SOUND),
    "a file in a take": described() + block(FILE, SOUND) + closed(b""),
    "no sound": described() + closed(b""),
    "more after the end": described() + block(FRAMES, SOUND) + closed(SOUND) + block(FRAMES, SOUND),
    "an unknown part": described() + block(FRAMES, SOUND) + block(9, b"") + closed(SOUND),
    "a huge part": described() + struct.pack("<BI", FRAMES, 2**31) + SOUND,
    "cut off": (described() + block(FRAMES, SOUND))[:-100],
}  # fmt: skip


@pytest.mark.parametrize("name", LYING)
def test_a_take_that_lies_of_itself_never_enters(refused, name):
    assert refused([entry(LYING[name])], [LYING[name]]).endswith(".")


def test_a_take_that_a_crash_left_open_enters_as_it_was(bring, library):
    sound = described() + block(FRAMES, SOUND)
    take = entry(sound, sound_sha256=hashlib.sha256(SOUND).hexdigest())
    assert bring([take], [sound]).added == [take["take_id"]]
    assert not library.whole_audio(take["take_id"]).complete


def test_a_take_whose_end_was_cut_off_by_its_maker_enters_as_it_was(bring, library):
    kept = len(SOUND) // 2 - 4000
    sound = described() + block(FRAMES, SOUND) + closed(SOUND[: 2 * kept])
    take = entry(sound, duration_s=kept / RATE)
    assert bring([take], [sound]).added == [take["take_id"]]
    assert library.whole_audio(take["take_id"]).duration_s == kept / RATE


def lying_flac(frames):
    """A FLAC of one second whose header says that it has so many frames."""
    file = io.BytesIO()
    sf.write(file, np.zeros(8000, np.int16), 8000, format="FLAC", subtype="PCM_16")
    content = bytearray(file.getvalue())
    packed = int.from_bytes(content[18:26], "big") >> 36 << 36 | frames
    content[18:26] = packed.to_bytes(8, "big")
    return bytes(content)


def long_silence():
    """A FLAC of few bytes that decodes to an hour at 16 kHz in two channels: 460 MB of samples."""
    file = io.BytesIO()
    with sf.SoundFile(file, "w", 16_000, 2, "PCM_16", format="FLAC") as opened:
        for _ in range(6):
            opened.write(np.zeros((16_000 * 600, 2), np.int16))
    return file.getvalue()


FILES = {
    "text": b"this is no sound",
    "nothing": b"",
    "a cut header": wav()[:40],
    "another length": wav(seconds=SECONDS + 1),
    "a low rate": wav(rate=4000),
    "a FLAC that says it is long": lying_flac(2**36 - 1),
    "an M4A without sound": b"\0\0\0\x18ftypM4A \0\0\0\0M4A mp42" + bytes(4000),
}


@pytest.mark.parametrize("name", FILES)
def test_an_imported_file_that_lies_of_itself_never_enters(refused, name):
    sound = file_sound(FILES[name])
    assert refused([entry(sound, imported=True)], [sound]).endswith(".")


def test_an_imported_file_must_be_the_one_that_was_imported(refused, bring):
    sound = file_sound(wav())
    assert "not the one" in refused([entry(sound, imported=True, source_sha256="0" * 64)], [sound])
    assert "no imported file has" in refused(
        [entry(sound + block(FILE, b"x"), imported=True)], [sound + block(FILE, b"x")]
    )
    assert bring([entry(sound, imported=True, source_sha256=hashlib.sha256(wav()).hexdigest())], [sound]).added


# Memory

CHILD = """
import resource, sys
from pathlib import Path
import vbdesk.outbox.bundles.bundle_import
from vbdesk.outbox.bundles.manifest_parser import ManifestParser
from vbdesk.capture import imported_sound
imported_sound.MOST_FRAMES = 1 << 24
content = Path(sys.argv[2]).read_bytes()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    if sys.argv[1] == "sound":
        imported_sound.decode_file(content)
    else:
        parser = ManifestParser()
        for start in range(0, len(content), 65536):
            parser.feed(content[start : start + 65536])
        parser.manifest()
except Exception as error:
    print(type(error).__name__)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def grown_mb(what, content, tmp_path):
    """Memory growth and outcome of a new process that reads this."""
    path = tmp_path / "content"
    path.write_bytes(content)
    done = subprocess.run([sys.executable, "-c", CHILD, what, path], capture_output=True, text=True, check=True)
    *error, grown_kb = done.stdout.split()
    return int(grown_kb) / 1e3, *error


MANY = 1_500_000
COSTLY = {
    "numbers": b'{"takes":[' + b"0," * MANY + b"0]}",
    "lists": b'{"takes":[' + b"[]," * (MANY * 2 // 3) + b"[]]}",
    "lists in a check": b'{"takes":[{"quality":{"a":[' + b"[]," * (MANY * 2 // 3) + b"0]}}]}",
    "keys": b"{" + b",".join(b'"%x":0' % number for number in range(MANY // 5)) + b"}",
    "depth": b'{"takes":' + b"[" * MANY * 2,
    "objects": b'{"takes":' + b'{"":' * MANY,
    "a text": b'{"takes":["' + b"\\" * MANY * 2 + b'"]}',
}


@pytest.mark.skipif(sys.platform == "win32", reason="counts memory as POSIX does")
@pytest.mark.parametrize("name", COSTLY)
def test_a_manifest_of_three_megabytes_takes_little_memory(name, tmp_path):
    grown, error = grown_mb("manifest", COSTLY[name], tmp_path)
    assert error == "MalformedBundle"
    assert grown < 64


@pytest.mark.skipif(sys.platform == "win32", reason="counts memory as POSIX does")
@pytest.mark.parametrize("make", [lambda: lying_flac(2**36 - 1), long_silence], ids=["lying", "long"])
def test_a_file_that_decodes_to_more_than_fits_is_refused_within_a_bound(make, tmp_path):
    content = make()
    assert len(content) < 1e6
    grown, error = grown_mb("sound", content, tmp_path)
    assert error in ("RecordingTooLong", "UnsupportedAudio")
    assert grown < 128  # twice 32 MB, while the samples are put together


@given(text=st.text(max_size=20), cuts=st.lists(st.integers(0, 3000), max_size=6), count=st.integers(0, 3))
def test_a_manifest_is_read_the_same_however_it_is_cut(text, cuts, count):
    document = manifest(
        [entry(b"x", number, note=text, tags=[text], quality={"a": [text, {"b": text}]}) for number in range(count)]
    )
    whole = json.dumps(document, ensure_ascii="a" in text).encode(errors="replace")
    parser, start = ManifestParser(), 0
    for end in [*sorted(cuts), len(whole)]:
        parser.feed(whole[start:end])
        start = max(start, end)
    read = parser.manifest()
    assert [take.take_id for take in read.takes] == [take["take_id"] for take in document["takes"]]
    assert read.bundle_id == document["bundle_id"]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"0",
        b"}{",
        b'{"takes":[0]}',
        b'{"takes":[{}{}]}',
        b'{"takes":[],"takes":[]} x',
        b"\xff",
        b'"\\',
    ],
)
def test_what_is_no_manifest_is_malformed(text):
    parser = ManifestParser()
    with pytest.raises(MalformedBundle):
        parser.feed(text)
        parser.manifest()


@given(
    st.recursive(
        st.none() | st.booleans() | NUMBERS | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_free_values_are_plain_or_refused(value):
    try:
        document = bounded_json({"a": value})
    except ValueError:
        return
    assert json.loads(json.dumps(document, allow_nan=False)) == document


# Passphrases


def locked_with(*stanzas):
    lines = b"".join(b"-> " + stanza + b"\n" + base64.b64encode(bytes(32)).rstrip(b"=") + b"\n" for stanza in stanzas)
    return b"age-encryption.org/v1\n" + lines + b"--- " + base64.b64encode(bytes(32)).rstrip(b"=") + b"\n" + bytes(80)


SALT = base64.b64encode(bytes(16)).rstrip(b"=")
SCRYPT = b"scrypt " + SALT


@pytest.mark.parametrize(
    "locked",
    [
        locked_with(SCRYPT + b" 21"),
        locked_with(SCRYPT + b" 63"),
        locked_with(SCRYPT + b" 99999999999"),
        locked_with(SCRYPT + b" -1"),
        locked_with(SCRYPT),
        locked_with(SCRYPT + b" 18", SCRYPT + b" 18"),
        locked_with(b"X25519 " + SALT, SCRYPT + b" 18"),
        locked_with(b"X25519 " + SALT),
        locked_with(*[SCRYPT + b" 10"] * 1000),
        locked_with(),
        b"",
        bytes(100),
    ],
    ids=lambda locked: repr(locked[22:75]),
)
def test_a_passphrase_that_costs_too_much_is_never_tried(locked, monkeypatch):
    monkeypatch.setattr(passphrase_child, "unlock", lambda *_: pytest.fail("it was tried"))
    with pytest.raises(MalformedBundle, match=r"\.$"):
        unlock_identity(locked, "seven boats on the lake")


def test_a_bundle_with_a_costly_passphrase_is_refused_with_a_sentence(library, tmp_path):
    sound, path = take_sound(), tmp_path / "b"
    locked = locked_with(SCRYPT + b" 22")
    path.write_bytes(sealed(content_of(manifest([entry(sound)]), [sound]), IDENTITY.to_public(), locked))
    with pytest.raises(BundleDamaged, match="4 times the memory"):
        import_bundle(library, OWNER, path, lambda locked: unlock_identity(locked, "seven boats on the lake"))


def test_a_locked_secret_or_a_header_without_end_is_not_read(library, tmp_path):
    sound, path = take_sound(), tmp_path / "b"
    content = content_of(manifest([entry(sound)]), [sound])
    path.write_bytes(sealed(content, IDENTITY.to_public(), bytes(100_000)))
    with pytest.raises(BundleDamaged):
        import_bundle(library, OWNER, path, lambda locked: pytest.fail("it was tried"))
    whole = sealed(content, IDENTITY.to_public())
    start = whole.index(b"age-encryption.org/v1\n") + len(b"age-encryption.org/v1\n")
    rest = bytes(4) + whole[start - 22 : start] + b"-> x y\n\n" * 100_000 + whole[start:]
    head = struct.pack(">7sBQ32sI", b"VBUNDLE", 1, 48 + len(rest), hashlib.sha256(rest).digest(), 0)
    path.write_bytes(head + rest[4:])
    with pytest.raises(BundleDamaged, match="header of its encryption"):
        import_bundle(library, OWNER, path, lambda locked: IDENTITY)


def test_a_refused_bundle_is_not_kept_in_memory(refused):
    sound = take_sound()
    for field, value in (("take_id", "x"), ("recorded_at", 12), ("note", None)):
        refused([entry(sound, **{field: value})], [sound])
    gc.collect()
    assert [each for each in gc.get_objects() if isinstance(each, ManifestParser)] == []


# The same bounds apply to making a bundle


@pytest.mark.parametrize(
    "more", [{"note": "a" * 5000}, {"tags": ("t" * 200,)}, {"recorded_at": datetime(1970, 1, 1, tzinfo=UTC)}]
)
def test_what_no_bundle_takes_is_left_out_with_its_reason(library, new_take, tmp_path, more):
    odd, good = new_take("ward4-1", **more), new_take("ward4-2")
    for take_id in (odd, good):
        library.queue(take_id)
    done = export_bundle(library, OWNER, tmp_path, KeyLock(str(IDENTITY.to_public())))
    assert done.take_ids == (good,)
    assert [left.item.take_id for left in done.left_out] == [odd]
    assert "from this computer only" in done.left_out[0].reason


def test_a_clock_before_2000_makes_no_bundle(library, new_take, tmp_path):
    library.queue(new_take())
    library.store.clock = type("Clock", (), {"now": lambda self: datetime(1980, 1, 1, tzinfo=UTC)})()
    with pytest.raises(BundleError, match="Set the clock"):
        export_bundle(library, OWNER, tmp_path, KeyLock(str(IDENTITY.to_public())))


# All checks together


def test_two_hundred_mutated_bundles_are_refused_in_words_or_good(library, tmp_path):
    torment, mutator = Torment(library, lambda locked: IDENTITY, tmp_path / "b"), Mutator(IDENTITY.to_public(), seed=7)
    for _ in range(200):
        torment.bring(mutator.bundle())
    assert torment.faults == []
    assert torment.refused > 100
    assert torment.imported > 10


# Consents and aliases, since format 2


def consent(**more):
    return {
        "event_id": new_id(), "group_id": "ward4-0", "change": "given", "kind": "both", "at": "2026-03-01T07:00:00Z",
        "wording": "1", "language": "en", "asked_by": "N. N.", "expires": None, **more,
    }  # fmt: skip


def test_consents_in_order_enter_with_their_recording(bring, library):
    sound = take_sound()
    take = entry(sound, consented_at="2026-03-01T07:30:00Z")
    bring([take], [sound], format=2, consents=[consent()], aliases=[{"group_id": "ward4-0", "alias": "Ж. 王"}])
    assert [event.kind for event in library.consents.of("ward4-0").events] == [ConsentKind.BOTH, ConsentKind.NOT_STATED]


def test_a_tick_of_format_1_becomes_an_event(bring, library):
    sound = take_sound()
    take = entry(sound, consented_at="2026-03-01T07:30:00Z")
    bring([take], [sound])
    (event,) = library.consents.of("ward4-0").events
    assert (event.kind, event.at) == (ConsentKind.NOT_STATED, datetime(2026, 3, 1, 7, 30, tzinfo=UTC))


HOSTILE = [
    {"event_id": "../x"}, {"group_id": "ward 4"}, {"change": "maybe"}, {"kind": "all"}, {"at": "1999-01-01T00:00:00Z"},
    {"at": "2026-03-03T00:00:00Z"}, {"at": 5}, {"wording": "x" * 21}, {"language": "\x1b[2J"}, {"asked_by": "<img>"},
    {"asked_by": "a" * 101}, {"expires": "2026-03-01T06:00:00Z"}, {"expires": "2300-01-01T00:00:00Z"},
    {"change": "withdrawn", "expires": "2026-03-02T06:00:00Z"}, {"extra": 1}, {"take_id": "x"},
]  # fmt: skip


@pytest.mark.parametrize("fault", HOSTILE, ids=str)
def test_a_consent_out_of_bounds_refuses_the_bundle_and_leaves_nothing(refused, library, fault):
    sound = take_sound()
    assert refused([entry(sound)], [sound], format=2, consents=[consent(**fault)]).isprintable()
    assert library.consents.all() == {}


SHAPES = [
    {"format": 1, "consents": [consent()]},
    {"format": 2, "consents": [5]},
    {"format": 2, "consents": {}},
    {"format": 2, "consents": [[consent()]]},
    {"format": 2, "aliases": [consent()]},
    {"format": 2, "aliases": [{"group_id": "a", "alias": "x"}] * 2},
    {"format": 2, "aliases": [{"group_id": "a", "alias": "\x1b[2J"}]},
    {"format": 2, "consents": [consent(event_id="01a20630-140e-7000-9ab1-1da7c7e4137d")] * 2},
]


@pytest.mark.parametrize("shape", SHAPES, ids=range(len(SHAPES)))
def test_consents_of_another_shape_refuse_the_bundle(refused, library, shape):
    sound = take_sound()
    refused([entry(sound)], [sound], **shape)
    assert library.consents.all() == {}


def test_a_consent_with_the_id_of_a_known_withdrawal_does_not_replace_it(bring, library):
    library.withdraw_consent("ward4-0")
    known = library.consents.of("ward4-0")
    sound = take_sound()
    bring([entry(sound)], [sound], format=2, consents=[consent(event_id=known.events[0].event_id)])
    assert library.consents.of("ward4-0") == known
