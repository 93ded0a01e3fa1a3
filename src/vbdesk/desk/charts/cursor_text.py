"""Text about the recording at the cursor, for the tip and screen readers. No Qt."""

from dataclasses import dataclass

from vbdesk.contract.levels import Level
from vbdesk.contract.timestamps import from_unix_seconds, in_zone
from vbdesk.desk.charts.trajectory_data import SignChart, TrajectoryChart
from vbdesk.language import _, formats
from vbdesk.report.reader_words import level_in_sentence
from vbdesk.report.result_texts import OTHER_ISSUE, result_texts


@dataclass(frozen=True, slots=True)
class CursorText:
    """Text about one recording and one sign.

    Attributes:
        when: day and time, local.
        sign: name of the sign.
        level: its level; None where the recording has no reading of it.
        sentence: what stands out and why, and how good the recording was.
        note: the user's note; empty for none.
        opens: whether there is a result to open.
    """

    when: str
    sign: str
    level: Level | None
    sentence: str
    note: str
    opens: bool

    def announcement(self) -> str:
        """The whole text, for a screen reader."""
        level = _("no reading") if self.level is None else level_in_sentence(self.level)
        reading = _("{time}. {sign}: {level}.", time=self.when, sign=self.sign, level=level)
        return " ".join(part for part in (reading, self.sentence, self.note) if part)


def cursor_text(chart: TrajectoryChart, sign: SignChart, moment_s: float) -> CursorText:
    """Describe the recording at a moment."""
    index = sign.reading_at(moment_s)
    recorded = chart.job_at(moment_s) is not None
    return CursorText(
        when=_moment_text(moment_s),
        sign=sign.shown_label,
        level=None if index is None else sign.readings.levels[index],
        sentence=" ".join(_sentences(chart, sign, index, moment_s)) if recorded else _("This recording has no result."),
        note=" ".join(_("Note: {note}", note=mark.text) for mark in chart.marks if mark.t == moment_s),
        opens=recorded,
    )


def _sentences(chart: TrajectoryChart, sign: SignChart, index: int | None, moment_s: float) -> list[str]:
    if index is None:
        said = [_("{sign} could not be heard in this recording, or was not asked for.", sign=sign.shown_label)]
    else:
        said = [sign.explanation(index) or _("In line with this person's own recordings.")]
        changed = sign.change_at(moment_s)
        said += [changed] if changed else []
    others = [
        other.shown_label
        for other in chart.signs
        if other is not sign
        and (reading_index := other.reading_at(moment_s)) is not None
        and other.is_unusual(reading_index)
    ]
    if others:
        said.append(_("Also unusual: {signs}.", signs=formats.list_of(others)))
    said.extend(_quality(chart, moment_s) or [_("Quality good.")])
    question = chart.question_at(moment_s)
    return [question, *said] if question else said


def _quality(chart: TrajectoryChart, moment_s: float) -> list[str]:
    text = result_texts().issue
    reading_index = int((chart.times == moment_s).nonzero()[0][-1])
    codes = chart.issues[reading_index]
    return [_(text.get(code, text[OTHER_ISSUE]).what, code=code.replace("_", " ")) for code in codes]


def _moment_text(moment_s: float) -> str:
    """`29 May 2026, 09:12`, local."""
    return formats.day_and_time(in_zone(from_unix_seconds(moment_s)))
