"""The name of an imported file is shown where its recording is."""

from datetime import UTC, datetime

import pytest

from vbdesk.desk.results.result_source import Found
from vbdesk.desk.results.result_state import view_of
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata


@pytest.fixture
def imported(workspace, tmp_path, speech_file):
    """Take id of an imported file with a name of its own."""
    named = tmp_path / "visit 3.flac"
    named.write_bytes(speech_file.read_bytes())
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    return workspace.library.import_file(named, TakeMetadata("a-1", moment, RecordingTarget("model", "pulse")))


def test_the_outbox_names_the_file(imported, shelf, open_outbox):
    shelf.put("b-1")
    page = open_outbox(2)
    table = page.view_model.table
    first = {table.row(place).cells[0].first: table.row(place).cells[0].second for place in range(2)}
    assert first["a-1"].endswith(" · visit 3.flac")
    assert "·" not in first["b-1"]


def test_a_result_names_the_file(imported, workspace):
    item = workspace.library.get(imported)
    view = view_of(Found(RecordingRoute(imported), item))
    assert view.caption.endswith("visit 3.flac")
