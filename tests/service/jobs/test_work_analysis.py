"""The analysis as a child runs it."""

import json
from pathlib import Path

import pytest

from vbdesk.service.work.analysis import AnalysisRequest, analyse_file
from vbdesk.signs.plugins.source import PluginSource

SPEECH = Path(__file__).parents[2] / "data" / "speech_kathleen_20s.flac"


@pytest.fixture(scope="module")
def summaries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    no_own_signs = PluginSource(tmp_path_factory.mktemp("signs"))

    def summary(language: str) -> str:
        request = AnalysisRequest(SPEECH, "model", "pulse", diarize=False, plugins=no_own_signs, language=language)
        text: str = json.loads(analyse_file(request))["summary"]["description"]["summary"]
        return text

    return {language: summary(language) for language in ("en", "de")}


def test_the_summary_is_in_the_language_that_was_asked_for(summaries: dict[str, str]) -> None:
    assert " the " in summaries["en"]
    assert " der " in summaries["de"] or " die " in summaries["de"]
