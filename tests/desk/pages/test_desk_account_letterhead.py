"""The letterhead on the Account page."""

SQUARE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9"/></svg>'


def test_name_address_and_logo_are_stored_and_a_hostile_logo_is_not(account, workspace, tmp_path, qtbot):
    card, setting = account.letterhead, workspace.library.letterhead
    assert not card.choose.isEnabled()
    card.address.setText("Markt 1، Haus 2, Dresden")
    card.address.editingFinished.emit()
    qtbot.waitUntil(lambda: "needs a name" in card.fault.text())
    card.name.setText("Praxis am Markt")
    card.name.editingFinished.emit()
    qtbot.waitUntil(card.choose.isEnabled)
    assert setting.read().address == ("Markt 1", "Haus 2", "Dresden")
    (tmp_path / "logo.svg").write_text(SQUARE)
    (tmp_path / "bad.svg").write_text(SQUARE.replace("<rect", "<script/><rect"))
    card.logo_chosen(str(tmp_path / "logo.svg"))
    qtbot.waitUntil(card.remove.isVisible)
    card.logo_chosen(str(tmp_path / "bad.svg"))
    qtbot.waitUntil(lambda: "does not draw" in card.fault.text())
    card.logo_chosen(str(tmp_path / "gone.svg"))
    qtbot.waitUntil(lambda: "missing" in card.fault.text())
    assert setting.read().logo == SQUARE.encode()
    card.remove.click()
    qtbot.waitUntil(lambda: not card.remove.isVisible())
    assert setting.read().logo == b""
    card.name.setText("")
    card.address.setText("")
    card.name.editingFinished.emit()
    qtbot.waitUntil(lambda: not card.choose.isEnabled())
    assert setting.read() is None
