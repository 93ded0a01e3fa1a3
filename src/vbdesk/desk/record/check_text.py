"""Texts of a checked recording: check result, rows, comparison of versions."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from vbdesk.capture.crash_recovery import RescuedTake
from vbdesk.contract.limits import MAX_DURATION_S, MIN_DURATION_S
from vbdesk.contract.rounding import whole
from vbdesk.contract.timestamps import bounded
from vbdesk.desk.charts.trim_range import TrimRange
from vbdesk.language import _, formats, ngettext, translated
from vbdesk.outbox.imports.take_check import CheckRating, CheckRow, Silence, TakeCheck, silence_sentence
from vbdesk.outbox.library.consent import NO_CONSENT, ConsentPolicy, ConsentStatus
from vbdesk.outbox.library.consent_gate import refusal_of
from vbdesk.outbox.library.items import RecordingItem, RecordingTarget, TakeMetadata, metadata_of
from vbdesk.outbox.library.states import OutboxState
from vbdesk.report.reader_words import with_unit

_MINUS = re.compile(r"-(?=\d)")
FLAC_SHARE = 0.55  # share of the size as 16-bit PCM, for speech


class Origin(StrEnum):
    """Origin of a recording under review."""

    TAKE = "take"
    FILE = "file"
    LIBRARY = "library"


@dataclass(frozen=True, slots=True)
class CheckSource:
    """The recording under review.

    Attributes:
        name: path of a take or a file; take id of a recording in the library.
        state: in the library; None if it is not there.
    """

    origin: Origin
    name: str
    metadata: TakeMetadata
    state: OutboxState | None = None

    @property
    def path(self) -> Path:
        """The take or file."""
        return Path(self.name)

    @property
    def open(self) -> bool:
        """Whether nothing was decided: it can be trimmed, recorded again or discarded."""
        return self.state in (None, OutboxState.CHECKED)


@dataclass(frozen=True, slots=True)
class Review:
    """A checked recording as texts; `span` is the untrimmed part of its `seconds`."""

    source: CheckSource
    check: TakeCheck
    seconds: float
    span: TrimRange
    sample_rate: int
    consent: ConsentStatus = NO_CONSENT
    policy: ConsentPolicy = ConsentPolicy.OFF

    @property
    def lacks_consent(self) -> bool:
        """Whether no consent is noted for it, and the profile asks for one."""
        return self.policy is not ConsentPolicy.OFF and not self.consent.in_force

    @property
    def refusal(self) -> str:
        """Why the consent policy does not let it be sent; empty if it does."""
        refusal = refusal_of(self.policy, self.consent)
        return translated(refusal) if refusal else ""

    @property
    def good(self) -> bool:
        """Whether no check fails."""
        return self.check.overall != "bad"

    @property
    def silence(self) -> Silence:
        """Whether there is any sound; a file of zeros says nothing about a microphone."""
        of_file = self.source.origin is Origin.FILE or bool(self.source.metadata.source_sha256)
        return Silence.SILENT if of_file and self.check.silence is Silence.MUTED else self.check.silence

    @property
    def sendable(self) -> bool:
        """Whether the consent policy lets it go, and the service would accept it."""
        return self.fits and not self.refusal

    @property
    def fits(self) -> bool:
        """Whether the service would accept it."""
        return MIN_DURATION_S <= self.span.seconds <= MAX_DURATION_S and self.silence is Silence.NONE

    @property
    def title(self) -> str:
        """The check result."""
        return check_text(good=self.good, seconds=self.span.seconds, silence=self.silence)

    @property
    def sentence(self) -> str:
        """The check result as a sentence."""
        if self.silence is not Silence.NONE:
            return translated(silence_sentence(self.silence))
        failing, watching = self._rows(CheckRating.FAIL), self._rows(CheckRating.WATCH)
        if failing:
            return translated(failing[0].sentence)
        if watching:
            passing = len(self._rows(CheckRating.PASS))
            passed = ngettext("{count} check passes.", "{count} checks pass.", passing) if passing else ""
            return f"{passed} {_('To watch: {checks}.', checks=_names(watching))}".strip()
        return _("All checks pass.")

    @property
    def reason(self) -> str:
        """Why it will probably be inconclusive; empty if it will not."""
        failing = self._rows(CheckRating.FAIL)
        if self.silence is not Silence.NONE:
            return _("The service would refuse it: there is no sound in it.")
        if not failing:
            return ""
        result = _("Likely inconclusive if sent.") if self.fits else _("The service would refuse it.")
        return " ".join((result, *(_row_text(row) for row in failing[:2])))

    @property
    def flac_bytes(self) -> int:
        """Approximate upload size."""
        return round(self.span.seconds * self.sample_rate * 2 * FLAC_SHARE)

    @property
    def trim_s(self) -> tuple[float, float] | None:
        """Start and end after trimming; None if not trimmed."""
        whole = self.span.seconds >= self.seconds - 0.01
        return None if whole else (self.span.start, self.span.end)

    @property
    def quality(self) -> Mapping[str, Any]:
        """The quality figures stored with the recording."""
        silence = {"silence": str(self.silence)} if self.silence is not Silence.NONE else {}
        return {**self.check.quality, "overall": self.check.overall, **silence}

    def _rows(self, rating: CheckRating) -> list[CheckRow]:
        return [row for row in self.check.rows if row.rating == rating]


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a recording, for comparison.

    Attributes:
        number: counted from 1, the oldest.
        take_id: empty if it is not in the library yet.
        good: no check fails; None if never checked.
        figures: (name, value) pairs to compare, in the order of the check.
        shown: whether it is under review.
    """

    number: int
    take_id: str
    recorded_at: datetime
    seconds: float
    state: OutboxState | None
    good: bool | None
    figures: tuple[tuple[str, str], ...]
    shown: bool
    silence: Silence = Silence.NONE

    @property
    def check_text(self) -> str:
        """The check result."""
        if self.good is None:
            return _("Not checked")
        return check_text(good=self.good, seconds=self.seconds, silence=self.silence)

    @property
    def state_text(self) -> str:
        """State of the recording, as text."""
        if self.state is None:
            return _("Not decided yet")
        return _("Kept here, not sent") if self.state is OutboxState.CHECKED else _("Sent")


def versions_of(items: tuple[RecordingItem, ...], review: Review) -> tuple[Version, ...]:
    """Versions in the library (`items`) and the one under review, oldest first."""
    shown = review.source.name if review.source.origin is Origin.LIBRARY else ""
    versions = [
        Version(
            index,
            item.take_id,
            item.recorded_at,
            review.span.seconds if item.take_id == shown else item.duration_s,
            item.state,
            _is_good(review.quality if item.take_id == shown else item.quality),
            _figures(review.quality if item.take_id == shown else item.quality),
            item.take_id == shown,
            _silence(review.quality if item.take_id == shown else item.quality),
        )
        for index, item in enumerate(items, start=1)
    ]
    if not shown:
        recorded_at = review.source.metadata.recorded_at
        number, seconds = len(items) + 1, review.span.seconds
        versions.append(
            Version(
                number,
                "",
                recorded_at,
                seconds,
                None,
                review.good,
                _figures(review.quality),
                shown=True,
                silence=review.silence,
            )
        )
    return tuple(versions)


def source_of(item: RecordingItem) -> CheckSource:
    """Make the source of a library recording."""
    return CheckSource(Origin.LIBRARY, item.take_id, metadata_of(item), item.state)


def rescued_metadata(take: RescuedTake) -> TakeMetadata:
    """Metadata of a take from its start."""
    about = take.about
    consented_at, recorded_at = about.get("consented_at"), about.get("recorded_at")
    return TakeMetadata(
        group_id=str(about.get("group_id", "")),
        recorded_at=datetime.fromisoformat(recorded_at) if recorded_at else take.last_written,
        target=RecordingTarget.parse(str(about.get("target", "model:pulse"))),
        protocol=str(about.get("protocol", "")),
        note=str(about.get("note", "")),
        tags=tuple(about.get("tags", ())),
        consented_at=datetime.fromisoformat(consented_at) if consented_at else None,
    )


def check_text(*, good: bool, seconds: float, silence: Silence = Silence.NONE) -> str:
    """Check result of a recording of `seconds` length."""
    if silence is Silence.MUTED:
        return _("The microphone was muted")
    if silence is Silence.SILENT:
        return _("There is no sound")
    if good:
        return _("Good to send")
    return _("Likely inconclusive") if MIN_DURATION_S <= seconds <= MAX_DURATION_S else _("Cannot be analysed")


def row_value(row: CheckRow) -> str:
    """The value of a row with unit and significant digits, never rounded onto a limit that it misses."""
    return _value(row.value, row.unit, up=misses(row) == "high")


def limit_text(row: CheckRow) -> str:
    """The limit of a row, with typographic signs."""
    return _MINUS.sub("−", translated(row.limit_text))


def misses(row: CheckRow) -> str:
    """Side of its limit on which a row's value is: `low`, `high` or empty."""
    if row.value is None:
        return ""
    if row.low is not None and row.value < row.low:
        return "low"
    return "high" if row.high is not None and row.value > row.high else ""


def _row_text(row: CheckRow) -> str:
    if misses(row):
        # Translators: {check} is Clarity, {value} 41, {limit} "at least 50".
        return _("{check}: {value}. Needed: {limit}.", check=_(row.name), value=row_value(row), limit=limit_text(row))
    return translated(row.sentence)


def _value(value: object, unit: str, *, up: bool = False) -> str:
    if not isinstance(value, int | float) or bounded(value) != value:  # a check of another origin may have any value
        return "–"
    digits = 1 if unit == "%" and value < 1 else 0
    steps = -whole(-value * 10**digits) if up else whole(value * 10**digits)
    return with_unit(steps / 10**digits, unit, digits)


def _silence(quality: Mapping[str, Any]) -> Silence:
    known = quality.get("silence")
    return Silence(known) if known in list(Silence) else Silence.NONE


def _is_good(quality: Mapping[str, Any]) -> bool | None:
    overall = quality.get("overall")
    return None if overall is None else overall != "bad"


def _figures(quality: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    named = (
        ("Speech", "voice_percentage", "%"),
        ("Clarity", "audio_clarity", ""),
        ("Clipping", "clipped_percent", "%"),
        ("Loudness", "rms_dbfs", "dB"),
    )
    return tuple((_(name), _value(quality.get(key), unit)) for name, key, unit in named)


def _names(rows: list[CheckRow]) -> str:
    return formats.list_of([_(row.name) for row in rows])
