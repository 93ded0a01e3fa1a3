"""No text is cut in a language with 40 % longer texts, in a window of 1024x640, at 100 % and 200 % text.

`tests/soak/cut_texts.py` looks at every page with recordings and results, in every language.
"""

import pytest
from cut_words import cut_popups, cut_words

from vbdesk.desk.first_start.page import FirstStartPage
from vbdesk.desk.first_start.profile_creation import ServiceAddress, Setup
from vbdesk.desk.help.window import ABOUT, GUIDE, SHORTCUTS
from vbdesk.desk.record.page import RecordPage
from vbdesk.desk.shell.reading_language import show_in
from vbdesk.desk.ui.theme import app_theme
from vbdesk.language import Language

PSEUDO = Language("en_XA", "en_GB")


@pytest.fixture(autouse=True, params=[1.0, 2.0], ids=["100%", "200%"])
def pseudo_language(request):
    show_in(PSEUDO)
    app_theme().set_text_size(request.param)
    yield
    show_in(Language("en", "en_GB"))


def cut_texts(qtbot, window):
    """What stays cut once the layout is settled."""
    found = []

    def none():
        found[:] = [*cut_words(window), *cut_popups(window)]
        return not found

    try:
        qtbot.waitUntil(none)
    except qtbot.TimeoutError:
        return found
    return []


def test_the_first_start_has_room(qtbot, open_desk, ports):
    desk = open_desk(ports)
    desk.window.resize(1024, 640)
    qtbot.waitUntil(lambda: isinstance(desk.window.page(), FirstStartPage))
    assert cut_texts(qtbot, desk.window) == []


def test_every_page_of_the_sidebar_has_room(qtbot, open_desk, ports):
    Setup(ports).make_service(ServiceAddress("https://voice.example", "acc-1", "right-key"), "keyring")
    desk = open_desk(ports)
    desk.window.resize(1024, 640)
    qtbot.waitUntil(lambda: isinstance(desk.window.page(), RecordPage))
    cut = {}
    for page in desk.window.sidebar_pages:
        desk.window.open_page(page)
        if page == "account":
            qtbot.waitUntil(lambda: desk.window.page().built)
        cut[page] = cut_texts(qtbot, desk.window)
    assert {page: faults for page, faults in cut.items() if faults} == {}


def test_the_help_has_room(qtbot, open_desk, ports):
    desk = open_desk(ports)
    desk.open_help()
    window = desk._help
    window.resize(1024, 640)
    qtbot.waitUntil(lambda: window.chapters.count() > 0 and bool(window.licences.toPlainText()))
    cut = {}
    for part in (GUIDE, SHORTCUTS, ABOUT):
        window.show_part(part)
        cut[part] = cut_texts(qtbot, window)
    assert {part: faults for part, faults in cut.items() if faults} == {}
    window.close()
