"""The letterhead of a profile, among the encrypted settings of its library."""

from vbdesk.report.letterhead import Letterhead

SQUARE = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9"/></svg>'
HEAD = Letterhead("Praxis am Markt", ("Markt 1", "Dresden"), SQUARE)


def test_it_survives_encrypted_and_the_audit_log_does_not_repeat_it(library, reopen, tmp_path):
    assert library.letterhead.read() is None
    library.letterhead.store(HEAD)
    notes = [row["detail"] for row in library.store.rows("SELECT detail FROM audit")]
    assert notes[-1] == "letterhead=with logo"
    library.close()
    stored = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"Praxis am Markt" not in stored
    assert b"<rect" not in stored
    again = reopen()
    assert again.letterhead.read() == HEAD
    again.letterhead.store(None)
    assert again.letterhead.read() is None
