"""The language of the window changes at once, at the same place, and nothing that was typed or recorded is lost."""

import pytest
import shiboken6
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from PySide6.QtCore import QCoreApplication, QLocale, Qt
from PySide6.QtWidgets import QComboBox, QMenu, QTableView, QWidget

from other_catalogs import catalogs_in
from vbdesk.contract.catalog import ModelName
from vbdesk.desk.account.page import AccountPage
from vbdesk.desk.first_start.page import FirstStartPage
from vbdesk.desk.first_start.profile_creation import ServiceAddress, Setup
from vbdesk.desk.preferences import PreferenceStore
from vbdesk.desk.record.page import RecordPage
from vbdesk.desk.shell.all_pages import PAGES
from vbdesk.desk.shell.reading_language import begin_reading, own_name, show_in, wanted_language
from vbdesk.desk.subjects.page import SubjectsPage
from vbdesk.desk.ui.theme import app_theme
from vbdesk.language import Language, _, current, language_of, use

CHOSEN_DIRECTION = Qt.WidgetAttribute.WA_SetLayoutDirection
NAMES = {"vbdesk", "File microphone", "https://", "English", "Deutsch", "Français", "Español", "Português"}
NAMES |= {
    "Português (Brasil)",
    "العربية",
    "voice.example",
    "https://voice.example",
    "F9",
    *(model.capitalize() for model in ModelName),
}
PSEUDO, ENGLISH = "en-XA", Language("en", "en_GB")


@pytest.fixture(autouse=True)
def english_again():
    yield
    show_in(ENGLISH)


@pytest.fixture
def arabic(tmp_path):
    """An Arabic catalog with one text, in place of the shipped ones."""
    catalog = Catalog(locale="ar")
    catalog.add("Account", "الحساب", context="page")
    with (tmp_path / "ar.mo").open("wb") as file:
        write_mo(file, catalog)
    with catalogs_in(tmp_path):
        yield


@pytest.fixture
def desk(qtbot, open_desk, ports):
    Setup(ports).make_service(ServiceAddress("https://voice.example", "acc-1", "right-key"), "keyring")
    desk = open_desk(ports)
    qtbot.waitUntil(lambda: isinstance(desk.window.page(), RecordPage))
    return desk


def account_of(qtbot, desk) -> AccountPage:
    desk.window.open_page("account")
    page = desk.window.page()
    assert isinstance(page, AccountPage)
    qtbot.waitUntil(lambda: page.built)
    return page


def choose(qtbot, desk, tag):
    box = account_of(qtbot, desk).desk.reading
    box.addItem(tag, tag)
    box.setCurrentIndex(box.count() - 1)
    with qtbot.waitSignal(desk.reading.changed):
        box.activated.emit(box.currentIndex())


def test_account_shows_the_window_in_another_language_at_the_same_place(qtbot, desk, ports):
    before = account_of(qtbot, desk)
    profile = desk.workspace.profile
    choose(qtbot, desk, PSEUDO)
    page = desk.window.page()
    assert isinstance(page, AccountPage)
    assert page is not before
    qtbot.waitUntil(lambda: page.built)
    assert page.sections.option("service").text().startswith("[")
    assert desk.window.sidebar.entry("account").text().startswith("[")
    assert desk.window.sidebar.entry("account").lit
    qtbot.waitUntil(lambda: desk.window.focusWidget() is page.desk.reading)
    area = page._area
    assert area.viewport().rect().contains(page.desk.reading.mapTo(area.viewport(), page.desk.reading.rect().center()))
    assert desk.workspace.profile is profile
    assert PreferenceStore(ports.config_dir).load().reading_language == PSEUDO


def test_account_that_is_closed_before_it_shows_its_place_does_not_fail(qtbot, desk):
    choose(qtbot, desk, PSEUDO)
    page = desk.window.page()
    assert isinstance(page, AccountPage)
    with qtbot.captureExceptions() as raised:
        while not page.built:
            page._build_next()
        shiboken6.delete(page)
        QCoreApplication.processEvents()
    assert not raised


def test_other_pages_are_in_the_new_language_and_keep_what_was_searched(qtbot, desk):
    desk.window.open_page("subjects")
    desk.window.page().search.setText("ward4")
    choose(qtbot, desk, PSEUDO)
    desk.window.open_page("subjects")
    page = desk.window.page()
    assert isinstance(page, SubjectsPage)
    assert page.search.text() == "ward4"
    desk.window.open_page("record")
    assert isinstance(desk.window.page(), RecordPage)


def test_what_was_typed_is_not_lost(qtbot, desk):
    desk.window.open_page("record")
    subject = desk.window.page().ready.setup.subject
    subject.setFocus()
    qtbot.keyClicks(subject, "ward4-0172")
    page = account_of(qtbot, desk)
    assert desk.reading.choose(PSEUDO) == (
        "Save or clear what you typed on the page “Record”, then change the language."
    )
    page.desk.reading.activated.emit(1)
    assert "on the page “Record”" in page.desk.reading_field.below_text()
    assert page.desk.reading.currentData() == ""
    assert current() == ENGLISH
    subject.clear()
    page.key.setText("a secret")
    assert "on the page “Account”" in desk.reading.choose(PSEUDO)


def test_the_language_waits_for_the_end_of_a_recording(qtbot, desk):
    page = desk.window.page()
    page.ready.setup.subject.setText("ward4-0172")
    qtbot.waitUntil(lambda: page.model.setup.device is not None)
    page.ready.setup.consent.tick.setChecked(True)
    qtbot.waitUntil(page.ready.stage.record.isEnabled)
    page.model.press()
    qtbot.waitUntil(page.is_recording)
    assert desk.reading.choose(PSEUDO).startswith("A recording is running.")
    assert desk.window.page() is page
    assert current() == ENGLISH


def test_a_window_with_arabic_runs_from_right_to_left(qtbot, arabic, desk, qapp):
    choose(qtbot, desk, "ar")
    assert qapp.layoutDirection() is Qt.LayoutDirection.RightToLeft
    assert desk.window.sidebar.x() > desk.window.page().mapTo(desk.window, desk.window.page().rect().center()).x()
    assert desk.window.sidebar.entry("account").text() == "الحساب"
    assert QLocale().language() is QLocale.Language.Arabic
    choose(qtbot, desk, "en")
    assert qapp.layoutDirection() is Qt.LayoutDirection.LeftToRight
    assert desk.window.sidebar.x() == 0


def texts(window: QWidget) -> set[str]:
    """Everything that a window and its parts show or tell, but names."""
    found: set[str] = set()
    for part in (window, *window.findChildren(QWidget)):
        for name in ("text", "title", "windowTitle", "placeholderText", "toolTip"):
            found.add(str(part.property(name) or ""))
        found |= {part.accessibleName(), part.accessibleDescription()}
        if isinstance(part, QComboBox):
            found |= {part.itemText(place) for place in range(part.count())}
        elif isinstance(part, QMenu):
            found |= {action.text() for action in part.actions()}
        elif isinstance(part, QTableView):
            heads = range(part.model().columnCount())
            found |= {str(part.model().headerData(place, Qt.Orientation.Horizontal)) for place in heads}
    return {text for text in found if any(map(str.isalpha, text))} - NAMES


def arabic_texts(window: QWidget) -> set[str]:
    return {text for text in texts(window) if any("\u0600" <= letter <= "\u06ff" for letter in text)}


def against(window: QWidget, direction: Qt.LayoutDirection) -> list[QWidget]:
    """Parts that run in another direction than the window should, and did not choose it."""
    chosen = {part for part in window.findChildren(QWidget) if part.testAttribute(CHOSEN_DIRECTION)}
    chosen |= {inner for part in chosen for inner in part.findChildren(QWidget)}
    return [part for part in window.findChildren(QWidget) if part not in chosen and part.layoutDirection() != direction]


def line_of(sidebar: QWidget) -> str:
    """The side that has the line."""
    picture, line = sidebar.grab().toImage(), app_theme().colour("border")
    places = {"left": 0, "right": picture.width() - 1}
    return " ".join(side for side, x in places.items() if picture.pixelColor(x, 5) == line)


def read_in(qtbot, desk, tag):
    with qtbot.waitSignal(desk.reading.changed):
        assert desk.reading.choose(tag) == ""


@pytest.mark.parametrize("key", [spec.key for spec in PAGES])
def test_every_page_is_all_in_the_language_and_the_direction_that_was_chosen(qtbot, desk, key):
    window = desk.window
    window.open_page(key)
    qtbot.waitUntil(lambda: getattr(window.page(), "built", True))
    for _there_and_back in range(2):
        english = texts(window)
        assert english
        read_in(qtbot, desk, "ar")
        qtbot.waitUntil(lambda: getattr(window.page(), "built", True))
        qtbot.waitUntil(lambda english=english: not english & texts(window))
        assert against(window, Qt.LayoutDirection.RightToLeft) == []
        assert line_of(window.sidebar) == "left", "beside the page"
        read_in(qtbot, desk, "en")
        qtbot.waitUntil(lambda: getattr(window.page(), "built", True))
        qtbot.waitUntil(
            lambda: not [text for text in texts(window) if any("\u0600" <= letter <= "\u06ff" for letter in text)]
        )
        assert against(window, Qt.LayoutDirection.LeftToRight) == []
        assert line_of(window.sidebar) == "right"


def test_the_first_start_offers_the_language_and_keeps_what_was_typed(qtbot, arabic, open_desk, ports):
    desk = open_desk(ports)
    qtbot.waitUntil(lambda: isinstance(desk.window.page(), FirstStartPage))
    page = desk.window.page()
    names = [page.language.itemText(place) for place in range(page.language.count())]
    assert names == ["English", "العربية"]
    page.address.setText("https://voice.example")
    with qtbot.waitSignal(desk.reading.changed):
        page.language.activated.emit(1)
    again = desk.window.page()
    assert again is not page
    assert again.address.text() == "https://voice.example"
    assert again.language.currentText() == "العربية"
    qtbot.waitUntil(lambda: desk.window.focusWidget() is again.language)


def test_qt_speaks_the_language_too(arabic):
    show_in(Language("de", "de_AT"))
    assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "Abbrechen"
    show_in(ENGLISH)
    assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "Cancel"


def test_a_named_language_wins_over_the_preference_and_that_over_the_system(monkeypatch):
    monkeypatch.setenv("LC_ALL", "C")
    try:
        begin_reading(PSEUDO)
        assert current().tag == PSEUDO
        begin_reading("")
        assert current().name == "en"
        use(ENGLISH, named=True)
        begin_reading(PSEUDO)
        assert current() == ENGLISH
    finally:
        use(ENGLISH)
    assert wanted_language("xx").name == "en", "a catalog that has gone"


def test_languages_have_their_own_names():
    names = [own_name(name) for name in ("en", "de", "fr", "es", "pt_BR", "ar")]
    assert names == ["English", "Deutsch", "Français", "Español", "Português (Brasil)", "العربية"]


def test_the_pseudo_language_is_never_offered(arabic, desk):
    assert language_of(PSEUDO) is not None
    assert [tag for tag, _name in desk.reading.choices()] == ["en", "ar"]
    assert _("Open") == "Open"
