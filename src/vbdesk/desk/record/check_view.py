"""The Record page after a recording: versions, playback, trim, check and actions."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.capture.protocols import protocol_titles
from vbdesk.clock import local_now
from vbdesk.desk.charts.trim_range import TrimRange
from vbdesk.desk.charts.waveform import TakeWaveform
from vbdesk.desk.playback import Loaded
from vbdesk.desk.record.check_model import TakeReviewViewModel
from vbdesk.desk.record.check_text import CheckSource, Origin, Review
from vbdesk.desk.record.findings_card import CheckResultCard
from vbdesk.desk.record.versions_card import VersionStrip
from vbdesk.desk.subject_data.consent_text import missing_text
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.buttons import Button, ButtonKind, ButtonSize, RoundButton, quiet_button, secondary_button
from vbdesk.desk.ui.card import Card, scroll_area, scroll_whole
from vbdesk.desk.ui.flow_layout import FlowLayout
from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.notice import Tone
from vbdesk.desk.ui.page_header import PageHeader
from vbdesk.desk.ui.segmented_choice import SegmentedChoice
from vbdesk.desk.ui.text import ElidedText, Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.desk.ui.time_text import clock_text, moment_in_sentence
from vbdesk.language import _, pgettext

_ROOMY, _NARROW, _REASON = 940, 760, 340
_LOW = 700  # at 100 % text: with less height, all rows of the check are visible without scrolling
_WAVEFORM, _SPECTROGRAM = "waveform", "spectrogram"


class CheckView(QWidget):
    """Everything after a recording; binds `TakeReviewViewModel`."""

    def __init__(self, model: TakeReviewViewModel) -> None:
        self._theme = app_theme()
        super().__init__()
        self._model = model
        self._review: Review | None = None
        self._subject, self._about = ElidedText("", Role.BODY_STRONG), Text("", Role.BODY, "text2")
        self._kept = Text(_("Take saved and encrypted"), Role.LABEL, "text2")
        self.speaker = Banner()
        self.versions = VersionStrip()
        self.play = RoundButton(_("Play"), "play", diameter=48)
        self.waveform = TakeWaveform(trimmable=True)
        self.picture = SegmentedChoice(
            _("Picture"), [(_WAVEFORM, _("Waveform"), "wave"), (_SPECTROGRAM, _("Spectrogram"), "grid")]
        )
        self.zoom_in, self.zoom_out = (
            Button("", ButtonKind.QUIET, icon=icon, size=ButtonSize.ROW) for icon in ("plus", "minus")
        )
        for button, text in ((self.zoom_in, _("Zoom in")), (self.zoom_out, _("Zoom out"))):
            button.setAccessibleName(text)
            button.setToolTip(text)
        self.zoom_out.setEnabled(False)
        self.zoom_in.clicked.connect(self._zoom_in)
        self.zoom_out.clicked.connect(self._zoom_out)
        self._position, self._length = Text(clock_text(0), Role.BODY_STRONG), Text("", Role.LABEL, "text2")
        self._trimmed = Text("", Role.LABEL, "text2")
        self.undo_trim = secondary_button(_("Undo trim"), icon="trim", size=ButtonSize.ROW)
        self.check_card = CheckResultCard()
        self.title, self.rows = self.check_card.title, self.check_card.rows
        self._reason_icon = IconView("error", "fail", 18)
        self.reason = Text("", Role.LABEL_MEDIUM, wrap=True)
        self._reason_below = Text("", Role.CAPTION, "text2", wrap=True)
        self.discard = quiet_button(_("Discard"), size=ButtonSize.LARGE)
        self.keep = quiet_button(_("Keep, do not send"), size=ButtonSize.LARGE)
        self.retake = Button(_("Retake"), ButtonKind.SECONDARY, icon="retake", key="R", size=ButtonSize.LARGE)
        self.send = Button(
            _("Send"), ButtonKind.PRIMARY, icon="arrow-right", key=pgettext("key", "Enter"), size=ButtonSize.LARGE
        )
        self._lay_out()
        self._bind()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        """In narrow windows hide key hints first, then put the text above the buttons."""
        px = self._theme.px
        for button in (self.retake, self.send):
            button.show_key(self.width() >= px(_ROOMY))
        low = self.height() < px(_LOW)
        self.waveform.set_low(low)
        self.check_card.set_low(low)
        self._playback.setContentsMargins(22, *((2, 22, 6) if low else (8, 22, 14)))
        self._playback.setVerticalSpacing(2 if low else 6)
        self._inner.setSpacing(10 if low else 16)
        self._outer.setSpacing(10 if low else 16)
        self._foot.setContentsMargins(0, *((0, 0, 0) if low else (8, 0, 8)))
        narrow = self.width() < max(px(_NARROW), px(_REASON) + self._buttons.sizeHint().width())
        across, down = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._foot.setDirection(down if narrow else across)
        self._below.setDirection(down if self.width() < px(_NARROW) else across)
        self.keep.setText(_("Keep") if narrow else _("Keep, do not send"))
        self.keep.setAccessibleName(_("Keep, do not send"))

    def _lay_out(self) -> None:
        text = FlowLayout(spacing=16)
        text.addWidget(Text(pgettext("page", "Check"), Role.PAGE_TITLE))
        text.addWidget(self._subject)
        text.addWidget(self._about)
        content = QWidget()
        inner = self._inner = QVBoxLayout(content)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(16)
        for part in (self.versions, self._playback_card(), self.speaker, self.check_card):
            inner.addWidget(part)
        inner.addStretch(1)
        whole = QWidget()
        column = self._outer = QVBoxLayout(whole)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(PageHeader(text, IconView("lock", "ok", 16), self._kept, texts_width=460))
        column.addWidget(scroll_area(content), 1)
        column.addLayout(self._actions())
        scroll_whole(self, whole)

    def _playback_card(self) -> Card:
        card = Card(padding=0)
        card.setAccessibleName(_("Playback"))
        position_row, part = QHBoxLayout(), QHBoxLayout()
        for row in (position_row, part):
            row.setSpacing(16)
        for widget in (self._position, self._length, self.picture):
            position_row.addWidget(widget)
        position_row.addStretch(1)
        for button in (self.zoom_in, self.zoom_out):
            part.addWidget(button)
        part.addStretch(1)
        part.addWidget(self._trimmed)
        part.addWidget(self.undo_trim)
        self._below = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._below.setSpacing(16)
        self._below.addLayout(position_row)
        self._below.addLayout(part, 1)
        grid = self._playback = QGridLayout()
        grid.setHorizontalSpacing(18)
        grid.addWidget(self.play, 0, 0, Qt.AlignmentFlag.AlignVCenter)
        grid.addWidget(self.waveform, 0, 1)
        grid.addLayout(self._below, 1, 1)
        card.body.addLayout(grid)
        return card

    def _actions(self) -> QBoxLayout:
        text_column = QVBoxLayout()
        text_column.setSpacing(2)
        text_column.addWidget(self.reason)
        text_column.addWidget(self._reason_below)
        texts = QHBoxLayout()
        texts.setSpacing(12)
        texts.addWidget(self._reason_icon)
        texts.addLayout(text_column, 1)
        self._foot = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._foot.setContentsMargins(0, 8, 0, 8)
        self._foot.setSpacing(12)
        self._foot.addLayout(texts, 1)
        self._buttons = FlowLayout(spacing=12)
        for button in (self.discard, self.keep, self.retake, self.send):
            self._buttons.addWidget(button)
        self._foot.addLayout(self._buttons)
        return self._foot

    def _bind(self) -> None:
        model, playback, findings = self._model, self._model.playback, self._model.findings
        self.play.clicked.connect(playback.toggle)
        self.waveform.sought.connect(playback.seek)
        self.waveform.trimmed.connect(self._on_trimmed)
        self.picture.chosen.connect(self._on_picture)
        self.versions.chosen.connect(model.review_library)
        self.undo_trim.clicked.connect(model.undo_trim)
        self.discard.clicked.connect(model.discard)
        self.keep.clicked.connect(model.keep)
        self.retake.clicked.connect(model.retake)
        self.send.clicked.connect(model.send)
        model.started.connect(self._show_source)
        model.progressed.connect(self.check_card.show_progress)
        model.checked.connect(self._show_review)
        findings.versions_changed.connect(self.versions.show_versions)
        findings.warned.connect(self._show_speaker)
        findings.spectrogram_ready.connect(self.waveform.show_picture)
        self.waveform.viewed.connect(self._on_viewed)
        playback.loaded.connect(self._show_sound)
        playback.moved.connect(self._show_position)
        playback.playing_changed.connect(self._show_playing)

    @Slot(object)
    def _on_trimmed(self, span: TrimRange) -> None:
        self._model.trim(span)

    @Slot(object)
    def _on_viewed(self, part: TrimRange) -> None:
        self._model.findings.want_part(part)
        whole = part.start <= 0 and part.end >= self.waveform.seconds
        self.zoom_out.setEnabled(not whole)

    @Slot()
    def _zoom_in(self) -> None:
        self.waveform.zoom(0.5)

    @Slot()
    def _zoom_out(self) -> None:
        self.waveform.zoom(2.0)

    @Slot(str)
    def _on_picture(self, picture: str) -> None:
        if picture == _WAVEFORM:
            self.waveform.show_spectrogram(None)
        self._model.findings.want_spectrogram(picture == _SPECTROGRAM)

    def toggle_picture(self) -> None:
        """Switch between spectrogram and waveform."""
        other = _SPECTROGRAM if self.picture.choice() == _WAVEFORM else _WAVEFORM
        self.picture.option(other).click()

    @Slot(object)
    def _show_source(self, source: CheckSource) -> None:
        self._review = None
        file = source.origin is Origin.FILE
        self._subject.setText(self._model.subject(source.metadata.group_id).text)
        title = protocol_titles().get(source.metadata.protocol, "")
        what = source.path.name if file else source.metadata.file_name or title
        when = moment_in_sentence(source.metadata.recorded_at, local_now())
        self._about.setText(_("{recording} · {when}", recording=what, when=when) if what else when)
        self._kept.setText(_("Copied and encrypted when kept") if file else _("Take saved and encrypted"))
        self.retake.setVisible(source.open and not file)
        self.discard.setVisible(source.open)
        self.discard.setText(_("Skip") if file else _("Discard"))
        self.waveform.set_trimmable(source.open)
        self.waveform.show_spectrogram(None)
        self.speaker.clear()
        self.versions.show_versions(())
        self.check_card.show_checking()
        self.undo_trim.setVisible(False)
        self._trimmed.setVisible(False)
        self.reason.setText("")
        self._reason_below.setText(_("This take is kept until you decide."))
        self._reason_icon.setVisible(False)
        for button in (self.send, self.keep):
            button.setEnabled(False)

    @Slot(object)
    def _show_sound(self, sound: Loaded) -> None:
        span = None if self._review is None else self._review.span
        self.waveform.show_take(sound.envelope, sound.seconds, span)
        self.waveform.show_markers(sound.marks_s)
        # Translators: after the position in a recording, such as 0:12.
        self._length.setText(_("of {length}", length=clock_text(sound.seconds)))

    @Slot(object)
    def _show_review(self, review: Review) -> None:
        self._review = review
        self.check_card.show_review(review)
        self.waveform.show_span(review.span)
        self._model.playback.show_part(review.span)
        trimmed_s = self._model.trimmed_s
        self._trimmed.setText(_("Trimmed at the ends: {seconds:.1f} s", seconds=trimmed_s))
        self._trimmed.setVisible(trimmed_s > 0.05)
        self.undo_trim.setVisible(trimmed_s > 0.05 and review.source.open)
        self._show_actions(review)

    def _show_actions(self, review: Review) -> None:
        self._reason_icon.setVisible(not review.good)
        self.reason.set_ink("text" if review.good else "fail")
        if review.good:
            self.reason.setText(_("Sends about {size:.1f} MB as lossless FLAC", size=review.flac_bytes / 1e6))
            self._reason_below.setText(_("Goes to the Outbox at once. The next subject can begin."))
        else:
            self.reason.setText(review.reason)
            self._reason_below.setText(_("This take is kept until you decide."))
        if review.lacks_consent:
            self._show_missing_consent(review)
        main, other = (self.send, self.retake) if review.good else (self.retake, self.send)
        main.set_kind(ButtonKind.PRIMARY)
        other.set_kind(ButtonKind.SECONDARY)
        self._buttons.removeWidget(main)
        self._buttons.addWidget(main)
        self.send.setText(_("Send") if review.good else _("Send anyway"))
        self.send.set_key(pgettext("key", "Enter") if review.good else "")
        self.send.setEnabled(review.sendable)
        self.keep.setEnabled(True)

    def _show_missing_consent(self, review: Review) -> None:
        """Say at Send that no consent is noted, and what follows."""
        self._reason_icon.setVisible(True)
        missing = missing_text(review.consent)
        if review.good:
            self.reason.setText(missing)
            self.reason.set_ink("fail" if review.refusal else "warn")
        sentence = review.refusal or _("It can be sent without consent. Every list shows that it is missing.")
        with_missing = _("{missing}. {consequence}", missing=missing, consequence=sentence)
        self._reason_below.setText(sentence if review.good else with_missing)

    @Slot(str)
    def _show_speaker(self, warning: str) -> None:
        if warning:
            self.speaker.say(Tone.WARN, warning, title=_("Another voice?"))
        else:
            self.speaker.clear()

    @Slot(float)
    def _show_position(self, seconds: float) -> None:
        self.waveform.show_position(seconds)
        self._position.setText(clock_text(seconds))

    @Slot(bool)
    def _show_playing(self, playing: bool) -> None:
        self.play.show_action(_("Pause") if playing else _("Play"), "pause" if playing else "play")
