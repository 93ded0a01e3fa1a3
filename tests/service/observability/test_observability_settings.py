"""Settings of the operations port, the log and the traces."""

from pathlib import Path

import pytest

from vbdesk.service.kernel.settings import SettingsInvalid, load_settings


def test_operations_port_and_traces_are_off_by_default(tmp_path: Path):
    settings = load_settings(tmp_path)
    assert (settings.ops_port, settings.otlp_endpoint, settings.log_format) == (None, None, "text")


@pytest.mark.parametrize(
    "given",
    [{"ops_port": 70_000}, {"log_format": "xml"}, {"otlp_endpoint": "collector:4318"}, {"otlp_endpoint": "file:///x"}],
)
def test_an_invalid_setting_is_refused(tmp_path: Path, given: dict[str, object]):
    with pytest.raises(SettingsInvalid, match=next(iter(given))):
        load_settings(tmp_path, **given)


def test_a_trailing_slash_of_the_collectors_address_is_removed(tmp_path: Path):
    assert load_settings(tmp_path, otlp_endpoint="http://collector:4318/").otlp_endpoint == "http://collector:4318"
