"""The guide in the help window: in the reader's language, in its direction, with pictures and links that lead on."""

import shutil

import pytest
from PySide6.QtCore import Qt, QUrl

from vbdesk.desk.help import reads
from vbdesk.desk.help.guide import PAGES, anchor_of, guide_folder, read_guide, right_to_left
from vbdesk.desk.help.reads import translation_notes
from vbdesk.desk.help.window import ABOUT, GUIDE, GuideText, HelpWindow
from vbdesk.desk.shell.reading_language import show_in
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, Scheme, app_theme
from vbdesk.language import Language, available_languages, formats, language_of, load_language, reading_in

ENGLISH, ARABIC = Language("en", "en_GB"), Language("ar", "ar")
PAGE = """# تسجيل

![صورة](record-light.png) ![أخرى](gone.png)

الأمر `--from=a b` في [الصفحة](record.md#موافقة) وفي [وثيقة](../../exports.md).

1. واحد

| مفتاح | عمل |
|---|---|
| P | تشغيل |

## موافقة

نص
"""


@pytest.fixture(autouse=True)
def english_again():
    yield
    show_in(ENGLISH)


@pytest.fixture
def folder(tmp_path):
    """A guide of two pages and a picture; one page is in Arabic, too."""
    (tmp_path / "README.md").write_text("# Guide\n\nSee [Record](record.md).\n", encoding="utf-8")
    (tmp_path / "record.md").write_text("# Record\n\n## Consent\n\nText\n", encoding="utf-8")
    (tmp_path / "ar").mkdir()
    shutil.copy(guide_folder() / "record-light.png", tmp_path / "ar")
    (tmp_path / "ar" / "record.md").write_text(PAGE, encoding="utf-8")
    return tmp_path


@pytest.fixture
def window_of(qtbot, program, folder, monkeypatch):
    """The help, with this guide, in a language."""

    def make(language):
        load_language(language.tag)
        show_in(language)
        formats.load()
        read = read_guide
        monkeypatch.setattr(reads, "read_guide", lambda name: read(name, folder))
        window = HelpWindow(program, None)
        qtbot.addWidget(window)
        window.open()
        qtbot.waitUntil(lambda: window.chapters.count() == 2)
        return window

    return make


@pytest.mark.parametrize("name", available_languages())
def test_the_guide_is_whole_and_its_pictures_show(qtbot, name):
    guide = read_guide(name)
    assert [chapter.name for chapter in guide.chapters] == list(PAGES)
    shown = GuideText()
    qtbot.addWidget(shown)
    shown.pictures = guide.pictures
    folders = {picture.rpartition("/")[0] for picture in guide.pictures}
    assert folders == {"" if name == "en" else name}, "a page shows the pictures of its language"
    for chapter in guide.chapters:
        shown.show_chapter(chapter)
        assert len(pictures_of(shown)) == chapter.text.count("![")
        assert all(not shown.loadResource(2, picture.name()).isNull() for picture in pictures_of(shown))


def test_a_page_is_in_the_readers_language_or_else_in_english(folder):
    first, second = read_guide("ar", folder).chapters
    assert (first.title, first.language) == ("Guide", "en")
    assert (second.title, second.language) == ("تسجيل", "ar")
    assert {chapter.language for chapter in read_guide("en_XA", folder).chapters} == {"en"}


def test_without_pictures_a_page_has_no_gaps_for_them(folder):
    (folder / "ar" / "record-light.png").unlink()
    text = read_guide("ar", folder).chapters[1].text
    assert "![" not in text


def test_a_page_that_is_in_english_says_so(window_of):
    window = window_of(ARABIC)
    assert window.note.isVisible()
    window.chapters.setCurrentRow(1)
    assert not window.note.isVisible()
    assert not window_of(ENGLISH).note.isVisible()


def test_a_page_from_right_to_left_is_so_in_every_part(window_of):
    window = window_of(ARABIC)
    assert directions(window.text) == {Qt.LayoutDirection.LeftToRight}
    window.chapters.setCurrentRow(1)
    assert directions(window.text) == {Qt.LayoutDirection.RightToLeft}
    assert [picture.name() for picture in pictures_of(window.text)] == ["ar/record-light.png"]
    assert "\u2066--from=a b\u2069" in window.text.toPlainText()


def test_code_keeps_its_order_and_is_copied_without_marks():
    assert right_to_left("x `a = 1` y") == "x \u2066`a = 1`\u2069 y"


def test_a_table_from_right_to_left_begins_at_the_right(window_of):
    window = window_of(ARABIC)
    window.chapters.setCurrentRow(1)
    (table,) = window.text.document().rootFrame().childFrames()
    shown = [[table.cellAt(row, column).firstCursorPosition().block().text() for column in (0, 1)] for row in (0, 1)]
    assert shown == [["عمل", "مفتاح"], ["تشغيل", "P"]]
    place = window.text.document().documentLayout().frameBoundingRect(table)
    assert place.left() > window.text.document().size().width() - place.right()


def test_the_point_follows_the_number_from_right_to_left(window_of):
    window = window_of(ARABIC)
    window.chapters.setCurrentRow(1)
    assert [block.textList().itemText(block) for block in window.text._blocks() if block.textList()] == ["1."]


def test_links_lead_to_chapters_and_headings_and_others_are_text(qtbot, window_of):
    window = window_of(ARABIC)
    window._on_link(QUrl("record.md"))
    assert window.chapters.currentRow() == 1
    assert [target for target in links_of(window.text) if not target.startswith("record.md#")] == []
    (target,) = set(links_of(window.text))
    window._on_link(QUrl(target))
    assert window.text.textCursor().block().text() == "موافقة"


def test_a_heading_of_the_page_itself_is_found(window_of):
    window = window_of(ENGLISH)
    window.chapters.setCurrentRow(1)
    window._on_link(QUrl("#consent"))
    assert window.text.textCursor().block().text() == "Consent"


def test_anchors_are_those_of_the_usual_sites():
    assert anchor_of("Subject: one person over time") == "subject-one-person-over-time"
    assert anchor_of("Petición – ¿cómo?") == "petición--cómo"


def test_a_picture_is_never_wider_than_the_page(window_of):
    window = window_of(ARABIC)
    window.chapters.setCurrentRow(1)
    window.resize(500, 500)
    assert window.text.horizontalScrollBar().maximum() == 0


def test_an_open_help_follows_a_change_of_the_language(qtbot, open_desk, ports):
    desk = open_desk(ports)
    desk.open_help()
    before = desk._help
    qtbot.waitUntil(lambda: before.chapters.count() == len(PAGES))
    before._on_link(QUrl("outbox.md"))
    with qtbot.waitSignal(desk.reading.changed):
        desk.reading.choose("en-XA")
    after = desk._help
    assert after is not before
    assert not before.isVisible()
    assert after.isVisible()
    qtbot.waitUntil(lambda: after.chapters.count() == len(PAGES))
    assert after.position().chapter == "outbox.md"
    assert after.position().part == GUIDE
    assert after.note.text().startswith("[")
    after.close()
    with qtbot.waitSignal(desk.reading.changed):
        desk.reading.choose("en")
    assert desk._help is None


def test_an_open_chapter_follows_colours_and_size_of_text(window_of):
    window = window_of(ENGLISH)
    theme = app_theme()
    for scheme, size in ((Scheme.DARK, 1.5), (Scheme.LIGHT, 1.0)):
        theme.set_scheme(scheme)
        theme.set_text_size(size)
        (link,) = {look.foreground().color().name() for look in looks_of(window.text) if look.isAnchor()}
        assert link == window.palette().link().color().name()
        assert window.text.document().defaultFont().pixelSize() == theme.font(Role.BODY).pixelSize()


def test_about_says_what_the_translations_are_worth(qtbot, window_of):
    window = window_of(ENGLISH)
    window.show_part(ABOUT)
    assert "No translation has been read by a native clinician yet." in translation_notes()
    qtbot.waitUntil(lambda: set(translation_notes()) <= {text.text() for text in window.findChildren(Text)})


@pytest.mark.parametrize("name", available_languages())
def test_the_guide_says_the_same_as_about(name):
    path = guide_folder() / ("" if name == "en" else name) / "README.md"
    with reading_in(language_of(name)):
        clinicians, report = translation_notes()
    text = " ".join(path.read_text(encoding="utf-8").split())
    assert f"**{clinicians}**" in text
    assert report in text


def test_a_translation_that_a_clinician_has_read_is_named():
    assert translation_notes(["fr", "de"])[0] == (
        "A native clinician has read these translations: Deutsch and Français."
    )


def directions(text):
    """Of every block."""
    return {block.blockFormat().layoutDirection() for block in text._blocks()}


def pictures_of(text):
    return [look.toImageFormat() for look in looks_of(text) if look.isImageFormat()]


def links_of(text):
    return [look.anchorHref() for look in looks_of(text) if look.isAnchor()]


def looks_of(text):
    """The format of every piece of text that has one format."""
    for block in text._blocks():
        place = block.begin()
        while not place.atEnd():
            for _ in range(place.fragment().length() if place.fragment().charFormat().isImageFormat() else 1):
                yield place.fragment().charFormat()
            place += 1
