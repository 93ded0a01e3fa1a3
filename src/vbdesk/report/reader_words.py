"""Single words of a result in the reader's language: levels, bands, units, names of signs and features."""

from vbdesk.contract.jobs import JobStatus
from vbdesk.contract.levels import Level
from vbdesk.contract.results import ValueInterpretation
from vbdesk.language import _, formats, pgettext


def level_word(level: Level) -> str:
    """The level of a sign."""
    match level:
        case Level.NONE:
            return pgettext("level", "None")
        case Level.LOW:
            return pgettext("level", "Low")
        case Level.CONSIDER:
            return pgettext("level", "Consider")
        case Level.MODERATE:
            return pgettext("level", "Moderate")
        case Level.ELEVATED:
            return pgettext("level", "Elevated")
        case Level.INCONCLUSIVE:
            return pgettext("level", "Inconclusive")


def level_in_sentence(level: Level) -> str:
    """The level of a sign, not at the beginning of a text: most languages write it without a capital letter there."""
    match level:
        case Level.NONE:
            return pgettext("level inside of a sentence", "None")
        case Level.LOW:
            return pgettext("level inside of a sentence", "Low")
        case Level.CONSIDER:
            return pgettext("level inside of a sentence", "Consider")
        case Level.MODERATE:
            return pgettext("level inside of a sentence", "Moderate")
        case Level.ELEVATED:
            return pgettext("level inside of a sentence", "Elevated")
        case Level.INCONCLUSIVE:
            return pgettext("level inside of a sentence", "Inconclusive")


def status_word(status: JobStatus) -> str:
    """The state of a job of the service."""
    match status:
        case JobStatus.QUEUED | JobStatus.PENDING:
            return pgettext("state of an analysis", "Queued")
        case JobStatus.RUNNING:
            return _("Running")
        case JobStatus.DONE:
            return _("Done")
        case JobStatus.FAILED:
            return _("Failed")
        case JobStatus.TIMED_OUT:
            return _("Timed out")


def band_word(band: ValueInterpretation) -> str:
    """The band of a vocal feature against the reference."""
    match band:
        case ValueInterpretation.LOW:
            return pgettext("band of a measure", "Low")
        case ValueInterpretation.REDUCED:
            return pgettext("band of a measure", "Reduced")
        case ValueInterpretation.WITHIN_RANGE:
            return pgettext("band of a measure", "Within range")
        case ValueInterpretation.SLIGHTLY_ELEVATED:
            return pgettext("band of a measure", "Slightly elevated")
        case ValueInterpretation.HIGH:
            return pgettext("band of a measure", "High")


def label_word(label: str) -> str:
    """The display name of a sign, a feature or a metric, as the service names it in English."""
    return _(label)


def unit_word(unit: str) -> str:
    """The unit of a measure."""
    match unit:
        case "semitones":
            return _("semitones")
        case "syllables/s":
            return _("syllables/s")
        case "pauses/min":
            return _("pauses/min")
    return unit.replace("^2", "²")


def with_unit(value: float, unit: str, digits: int | None = None) -> str:
    """A measured value with its unit, as `178 Hz` or `12.5%`.

    Args:
        value: the value; of `%`, in percent.
        unit: as the service names it, or `points` for a difference of percentages; empty for none.
        digits: after the point; None for about three significant digits.
    """
    if digits is None:
        digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    if unit == "%":  # the place of this sign depends on the language
        return formats.figure(value / 100, f".{digits}%")
    figure = formats.figure(value, f".{digits}f")
    match unit:
        case "":
            return figure
        case "semitones":
            return _("{value} semitones", value=figure)
        case "syllables/s":
            return _("{value} syllables/s", value=figure)
        case "pauses/min":
            return _("{value} pauses/min", value=figure)
        case "points":
            # Translators: a difference in percentage points.
            return _("{value} points", value=figure)
    # Translators: a measured value with the symbol of its unit, as in "178 Hz"; symbols are in Latin letters.
    return _("{value} {unit}", value=figure, unit=unit_word(unit))


def speaker_word(speaker: str) -> str:
    """A voice of a recording, which the service calls `speaker_1`."""
    number = speaker.removeprefix("speaker_")
    return _("Voice {number}", number=int(number)) if number.isdecimal() else speaker.replace("_", " ")
