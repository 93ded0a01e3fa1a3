"""The analysis as a child runs it."""

import json
from pathlib import Path
from typing import Literal

import pytest

from vbdesk.contract.spoken_language import SpokenLanguage, is_widened
from vbdesk.resource_files import resource
from vbdesk.service.engine.analysis import AnalysisRequest, analyse_file
from vbdesk.signs.plugins.source import PluginSource

SPEECH = Path(__file__).parents[2] / "data" / "speech_kathleen_20s.flac"


@pytest.fixture(scope="module")
def summaries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    no_own_signs = PluginSource(tmp_path_factory.mktemp("signs"))

    def summary(language: str) -> str:
        request = AnalysisRequest("model", "pulse", diarize=False, plugins=no_own_signs, language=language)
        with SPEECH.open("rb") as recording:
            result = json.loads(analyse_file(recording, request).result)
        text: str = result["summary"]["description"]["summary"]
        return text

    return {language: summary(language) for language in ("en", "de")}


@pytest.mark.parametrize(("kind", "name"), [("model", "haven"), ("sign", "stress")])
def test_the_analysis_is_on_the_norms_of_the_site(tmp_path: Path, kind: Literal["model", "sign"], name: str) -> None:
    shipped = resource("norms", "norms.toml").read_text(encoding="utf-8")
    own = tmp_path / "site.toml"
    own.write_text(shipped.replace('version = "2.0.0"', 'version = "2.0+site"', 1), encoding="utf-8")
    request = AnalysisRequest(kind, name, False, PluginSource(tmp_path / "none"), "en", own)
    with SPEECH.open("rb") as recording:
        result = json.loads(analyse_file(recording, request).result)
    signal = result["signals"][0] if kind == "model" else result["signal"]
    assert signal["sign_version"] == "2.0.0+norms.2.0.site"


@pytest.mark.parametrize(("kind", "name"), [("model", "haven"), ("sign", "stress")])
def test_the_analysis_is_told_the_language(tmp_path: Path, kind: Literal["model", "sign"], name: str) -> None:
    spoken = SpokenLanguage("en", second_language=True)
    request = AnalysisRequest(kind, name, False, PluginSource(tmp_path / "none"), "en", spoken=spoken)
    with SPEECH.open("rb") as recording:
        result = json.loads(analyse_file(recording, request).result)
    signal = result["signals"][0] if kind == "model" else result["signal"]
    assert is_widened(signal["sign_version"])


def test_the_summary_is_in_the_language_that_was_asked_for(summaries: dict[str, str]) -> None:
    assert " the " in summaries["en"]
    assert " der " in summaries["de"] or " die " in summaries["de"]
