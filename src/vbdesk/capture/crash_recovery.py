"""Takes that a crash left: found at the next start and offered to the person who made them.

A damaged take is not repaired automatically. It is listed with what can be read of it, and its file stays until a
person decides. Its readable parts become takes of their own (`recover_parts`), which are offered like any other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from vbdesk.capture.damaged_take import ReadablePart, Salvage, salvage
from vbdesk.capture.encrypted_take import EncryptedFileError, EncryptedTakeWriter
from vbdesk.language import Message, _, joined, message, message_of, plural_message, system_reason

PARTS_NAMED = 3  # parts named in a sentence; more are counted
NOTICED_S = 0.05


@dataclass(frozen=True, slots=True)
class RescuedTake:
    """A take left by a crash, still undecided.

    Attributes:
        complete: whether it was stopped in order but not added to the library.
        about: what was known when the recording began (`group_id`, `recorded_at`, ...).
        cut_s: how much sound at its end was lost, an estimate.
    """

    path: Path
    duration_s: float
    complete: bool
    about: Mapping[str, Any]
    last_written: datetime
    cut_s: float = 0.0


@dataclass(frozen=True, slots=True)
class DamagedTake:
    """A take whose file is damaged, still undecided.

    Attributes:
        about: what was known when the recording began; empty if unreadable.
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
    """Content of the recorder's folder, oldest first.

    Attributes:
        takes: takes that open normally.
        damaged: takes that need a decision.
        empty: takes in which nothing was recorded.
    """

    takes: tuple[RescuedTake, ...]
    damaged: tuple[DamagedTake, ...]
    empty: tuple[Path, ...]


def inspect_leftovers(folder: Path, key: bytes) -> Leftovers:
    """Read every take in `folder`, except one that this process is recording. Changes nothing.

    Reads whole files: call it in a task.
    """
    takes: list[RescuedTake] = []
    damaged: list[DamagedTake] = []
    empty: list[Path] = []
    for path in sorted(folder.glob("*.take")):
        if EncryptedTakeWriter.is_writing(path):  # during a count-in it looks like a file in which nothing was recorded
            continue
        last_written = _last_written(path)
        try:
            found = salvage(path, key)
        except FileNotFoundError:  # decided at this moment
            continue
        except (EncryptedFileError, OSError) as error:
            why = joined(message("Nothing of it can be read."), _why(error))
            damaged.append(DamagedTake(path, last_written, 0.0, why))
            continue
        if not found.intact or (not found.parts and found.tail_bytes):
            damaged.append(DamagedTake(path, last_written, found.readable_s, damage_text(found), found.about))
        elif not found.parts:
            empty.append(path)
        else:
            take = RescuedTake(path, found.readable_s, found.complete, found.about, last_written, found.lost_s)
            takes.append(take)
    takes.sort(key=lambda take: take.last_written)
    damaged.sort(key=lambda take: take.last_written)
    return Leftovers(tuple(takes), tuple(damaged), tuple(empty))


def find_leftovers(folder: Path, key: bytes) -> Leftovers:
    """As `inspect_leftovers`; also finishes interrupted recoveries and deletes files in which nothing was recorded.

    Raises OSError if a file cannot be renamed or deleted.
    """
    _end_recoveries(folder)
    found = inspect_leftovers(folder, key)
    for path in found.empty:
        path.unlink(missing_ok=True)
    return found


def unfinished_takes(folder: Path, key: bytes) -> list[RescuedTake]:
    """The takes of `find_leftovers` that open normally, oldest first."""
    return list(find_leftovers(folder, key).takes)


def damage_text(found: Salvage) -> Message:
    """What can be read of a damaged take, and what is missing."""
    if not found.parts:
        return message("None of its sound can be read.")
    if found.proved:
        return message("Its file is damaged, but all of its sound can be read.")
    missing = (
        message("About {seconds:.1f} s of sound are missing.", seconds=found.lost_s)
        if found.lost_s >= NOTICED_S
        else message("Nothing seems to be missing.")
    )
    if len(found.parts) > PARTS_NAMED:
        readable = plural_message(
            "{seconds:.1f} s of it can be read, in {count} part.",
            "{seconds:.1f} s of it can be read, in {count} parts.",
            len(found.parts),
            seconds=found.readable_s,
        )
        return joined(readable, missing)
    spans = [
        message("It can be read from {begin} to {end}.", begin=_clock(part.begin_s), end=_clock(part.end_s))
        if index == 0
        else message("It can also be read from {begin} to {end}.", begin=_clock(part.begin_s), end=_clock(part.end_s))
        for index, part in enumerate(found.parts)
    ]
    return joined(*spans, missing)


def recover_parts(found: Salvage, folder: Path, name: str, key: bytes) -> list[Path]:
    """Write each readable part as a take, under a name that is not offered yet; call `offer_parts` next.

    Args:
        found: the readable parts.
        folder: the recorder's.
        name: of the damaged take; parts of one name replace each other.
        key: the library's key.

    Raises:
        OSError: the disk refused; no part is left.
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
    """Rename parts to takes, so that they are offered. Raises OSError."""
    for path in parts:
        path.replace(path.with_suffix(".take"))


def _end_recoveries(folder: Path) -> None:
    """Delete incomplete parts, whose damaged take is still offered; rename complete ones."""
    parts = list(folder.glob("*.part"))
    unfinished = [part for part in parts if (folder / f"{part.stem.rpartition('-')[0]}.take").exists()]
    for part in unfinished:
        part.unlink()
    offer_parts([part for part in parts if part not in unfinished])


def _write(path: Path, part: ReadablePart, about: Mapping[str, Any], key: bytes) -> None:
    audio = part.audio
    writer = EncryptedTakeWriter(path, key, audio.sample_rate, about)
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


def _about(found: Salvage, part: ReadablePart, number: int) -> dict[str, Any]:
    """The description of a part: when it was recorded, and its origin as a note."""
    about = dict(found.about)
    if found.proved:
        return about
    if about.get("recorded_at"):
        recorded_at = datetime.fromisoformat(about["recorded_at"]) + timedelta(seconds=part.begin_s)
        about["recorded_at"] = recorded_at.isoformat()
    if isinstance(boot := about.get("boot"), dict) and isinstance(boot.get("seconds"), int | float):
        about["boot"] = {**boot, "seconds": boot["seconds"] + part.begin_s}
    span = _(
        "Part {number} of {parts} of a damaged recording, {begin} to {end}.",
        number=number,
        parts=len(found.parts),
        begin=_clock(part.begin_s),
        end=_clock(part.end_s),
    )
    about["note"] = f"{about.get('note', '')} {span}".strip()
    return about


def _last_written(path: Path) -> datetime:
    try:
        return datetime.fromtimestamp(path.lstat().st_mtime, UTC)
    except OSError:
        return datetime.fromtimestamp(0, UTC)


def _why(error: EncryptedFileError | OSError) -> Message:
    if not isinstance(error, OSError):
        return message_of(error)
    return message("It cannot be read now ({reason}). Check its disk, then try again.", reason=system_reason(error))


def _clock(seconds: float) -> str:
    """Minutes and seconds as 0:00.0."""
    tenths = round(seconds * 10)
    return f"{tenths // 600}:{tenths // 10 % 60:02d}.{tenths % 10}"
