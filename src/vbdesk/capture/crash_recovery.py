"""Takes that a crash left behind: found at the next start, offered to the person who made them.

A damaged one is never opened by a crash's rules: it is listed with what can be read of it, and its file stays until a
person decides. Its readable parts become takes of their own (`recover_parts`), which are offered like any other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from vbdesk.capture.damaged_take import Part, Salvage, salvage
from vbdesk.capture.encrypted_take import SealedError, SealedTakeWriter

PARTS_NAMED = 3  # more are counted
NOTICED_S = 0.05


@dataclass(frozen=True, slots=True)
class RescuedTake:
    """A take that nobody has decided about yet.

    Attributes:
        complete: it was stopped in order, and only not taken into the library.
        about: what was known when the recording began (`group_id`, `recorded_at`, ...).
        cut_s: how much sound at its end did not reach the disk whole, an estimate.
    """

    path: Path
    duration_s: float
    complete: bool
    about: Mapping[str, Any]
    last_written: datetime
    cut_s: float = 0.0


@dataclass(frozen=True, slots=True)
class DamagedTake:
    """A take whose file is damaged, and which waits for a decision.

    Attributes:
        about: what was known when the recording began; empty if that cannot be read.
        readable_s: how much sound can be read.
        sentence: what can be read and what cannot, for a person.
    """

    path: Path
    last_written: datetime
    readable_s: float
    sentence: str
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What lies in the recorder's folder, each oldest first.

    Attributes:
        takes: they open as usual.
        damaged: they wait for a decision.
        empty: nothing was recorded in them.
    """

    takes: tuple[RescuedTake, ...]
    damaged: tuple[DamagedTake, ...]
    empty: tuple[Path, ...]


def look_at_leftovers(folder: Path, key: bytes) -> Leftovers:
    """Look at every take in `folder`; one that is being recorded is among them. Changes nothing.

    Reads whole files: call it in a task.
    """
    takes: list[RescuedTake] = []
    damaged: list[DamagedTake] = []
    empty: list[Path] = []
    for path in sorted(folder.glob("*.take")):
        last_written = _last_written(path)
        try:
            found = salvage(path, key)
        except FileNotFoundError:  # decided about this moment
            continue
        except (SealedError, OSError) as error:
            damaged.append(DamagedTake(path, last_written, 0.0, f"Nothing of it can be read. {_why(error)}"))
            continue
        if not found.intact or (not found.parts and found.tail_bytes):
            damaged.append(DamagedTake(path, last_written, found.readable_s, damage_words(found), found.about))
        elif not found.parts:
            empty.append(path)
        else:
            take = RescuedTake(path, found.readable_s, found.complete, found.about, last_written, found.lost_s)
            takes.append(take)
    takes.sort(key=lambda take: take.last_written)
    damaged.sort(key=lambda take: take.last_written)
    return Leftovers(tuple(takes), tuple(damaged), tuple(empty))


def find_leftovers(folder: Path, key: bytes) -> Leftovers:
    """As `look_at_leftovers`; ends recoveries that a crash broke off, and deletes files in which nothing was recorded.

    Raises OSError where a file cannot be renamed or deleted.
    """
    _end_recoveries(folder)
    found = look_at_leftovers(folder, key)
    for path in found.empty:
        path.unlink()
    return found


def unfinished_takes(folder: Path, key: bytes) -> list[RescuedTake]:
    """The takes of `find_leftovers` that open as usual, oldest first."""
    return list(find_leftovers(folder, key).takes)


def damage_words(found: Salvage) -> str:
    """What can be read of a damaged take, and what is missing."""
    if not found.parts:
        return "None of its sound can be read."
    if found.proved:
        return "Its file is damaged, but all of its sound can be read."
    missing = (
        f"about {found.lost_s:.1f} s of sound are missing" if found.lost_s >= 0.05 else "nothing seems to be missing"
    )
    if len(found.parts) > PARTS_NAMED:
        return f"{found.readable_s:.1f} s of it can be read, in {len(found.parts)} parts; {missing}."
    spans = [f"{_clock(part.begin_s)} to {_clock(part.end_s)}" for part in found.parts]
    return f"It can be read from {' and from '.join(spans)}; {missing}."


def recover_parts(found: Salvage, folder: Path, name: str, key: bytes) -> list[Path]:
    """Write each readable part as a take of its own, under a name that is not offered yet; `offer_parts` follows.

    Args:
        found: what can be read.
        folder: the recorder's.
        name: of the damaged take; parts of one name replace each other.
        key: the library's.

    Raises:
        OSError: the disk refused; nothing is left of them.
    """
    written: list[Path] = []
    try:
        for number, part in enumerate(found.parts, 1):
            path = folder / f"{name}-{number}.part"
            path.unlink(missing_ok=True)
            written.append(path)
            _write(path, part, _about(found, part, number), key)
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        raise
    return written


def offer_parts(parts: list[Path]) -> None:
    """Give parts the name of a take, so that they are offered. Raises OSError."""
    for path in parts:
        path.replace(path.with_suffix(".take"))


def _end_recoveries(folder: Path) -> None:
    """Parts whose damaged take is still offered were not all written; the others only lack their names."""
    parts = list(folder.glob("*.part"))
    unfinished = [part for part in parts if (folder / f"{part.stem.rpartition('-')[0]}.take").exists()]
    for part in unfinished:
        part.unlink()
    offer_parts([part for part in parts if part not in unfinished])


def _write(path: Path, part: Part, about: Mapping[str, Any], key: bytes) -> None:
    audio = part.audio
    writer = SealedTakeWriter(path, key, audio.sample_rate, about)
    try:
        for mark in audio.marks_s:
            writer.mark(mark)
        for task in audio.tasks:
            writer.mark(task.moment_s, task.task_id)
        for begin in range(0, len(audio.samples), audio.sample_rate):
            writer.append(audio.samples[begin : begin + audio.sample_rate])
    except BaseException:
        writer.abandon()
        raise
    writer.close(closing=audio.closing)


def _about(found: Salvage, part: Part, number: int) -> dict[str, Any]:
    """The description of a part: when it was recorded, and in its note where it comes from."""
    about = dict(found.about)
    if found.proved:
        return about
    if about.get("recorded_at"):
        recorded_at = datetime.fromisoformat(about["recorded_at"]) + timedelta(seconds=part.begin_s)
        about["recorded_at"] = recorded_at.isoformat()
    if isinstance(boot := about.get("boot"), dict) and isinstance(boot.get("seconds"), int | float):
        about["boot"] = {**boot, "seconds": boot["seconds"] + part.begin_s}
    which = f"Part {number} of {len(found.parts)} of a damaged recording"
    span = f"{which}, {_clock(part.begin_s)} to {_clock(part.end_s)}."
    about["note"] = f"{about.get('note', '')} {span}".strip()
    return about


def _last_written(path: Path) -> datetime:
    try:
        return datetime.fromtimestamp(path.lstat().st_mtime, UTC)
    except OSError:
        return datetime.fromtimestamp(0, UTC)


def _why(error: SealedError | OSError) -> str:
    return f"The disk refused it: {error.strerror}." if isinstance(error, OSError) else str(error)


def _clock(seconds: float) -> str:
    """0:00.0, in minutes and seconds."""
    tenths = round(seconds * 10)
    return f"{tenths // 600}:{tenths // 10 % 60:02d}.{tenths % 10}"
