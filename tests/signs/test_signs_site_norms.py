"""Site norms in place of the shipped norms."""

import shutil
import tomllib
from pathlib import Path

import pytest
import tomli_w

from vbdesk.contract.catalog import SignName
from vbdesk.data_files import DataFileError
from vbdesk.resource_files import resource
from vbdesk.signs.analysis import ScoringTarget, analyze, measure_recording
from vbdesk.signs.plugins.analysis import analyze_sign
from vbdesk.signs.plugins.source import PluginSource
from vbdesk.signs.reference_data import load_reference_data, version_with_norms
from vbdesk.voice.decode import decode

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture
def write_site_norms(tmp_path):
    """Write the shipped norms with changes."""

    def write(change=lambda content: None, version="2.0+site"):
        content = tomllib.loads(resource("norms", "norms.toml").read_text(encoding="utf-8"))
        content["meta"]["version"] = version
        change(content)
        path = tmp_path / "site.toml"
        path.write_text(tomli_w.dumps(content), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="module")
def recording():
    return decode(DATA / "speech_male_20s.flac")


def faster(content):
    """A site where all speakers speak much faster."""
    for part in ("male", "female", "mixed", "reference"):
        content["feature"]["speech_rate"][part]["t_mean"] += content["feature"]["speech_rate"][part]["t_sd"]


def test_a_voice_is_compared_with_the_norms_of_the_site(write_site_norms, recording):
    path = write_site_norms(faster)
    shipped, here = (measure_recording(recording, norms_file=norms).passages[0] for norms in (None, path))
    assert here.features == shipped.features
    inflation = load_reference_data().norms.features["speech_rate"].sd_inflation_free_speech
    assert here.z["speech_rate"] == pytest.approx(shipped.z["speech_rate"] - 1 / inflation)
    assert {name for name in here.z if here.z[name] != shipped.z[name]} == {"speech_rate"}


def test_every_result_names_the_norms(write_site_norms, recording, tmp_path):
    path, source = write_site_norms(faster), PluginSource(tmp_path / "own")
    source.folder.mkdir()
    shutil.copy(DATA / "slow-speech.toml", source.folder)
    result = analyze(recording, ScoringTarget.model("pulse"), norms_file=path)
    assert {signal.sign_version for signal in result.signals} == {"2.0.0+norms.2.0.site"}
    own = analyze_sign(recording, "slow-speech", source, norms_file=path).signal
    assert own.sign_version == "3.0+norms.2.0.site"
    assert analyze_sign(recording, "slow-speech", source).signal.sign_version == "3.0"
    assert analyze(recording, ScoringTarget.model("pulse")).signals[0].sign_version == "2.0.0"


def test_the_same_numbers_under_another_version_give_the_same_levels(write_site_norms, recording):
    here = analyze(recording, ScoringTarget.model("haven"), norms_file=write_site_norms())
    shipped = analyze(recording, ScoringTarget.model("haven"))
    renamed = [signal.model_copy(update={"sign_version": "2.0.0"}) for signal in here.signals]
    assert renamed == shipped.signals
    assert here.summary == shipped.summary


def test_the_sign_reference_of_site_norms_replaces_that_of_the_calibration(write_site_norms):
    path = write_site_norms(
        lambda content: content.update(sign_reference={"stress": {"mean": 0.1, "sd": 0.5, "n": 60}})
    )
    signs = load_reference_data(norms_file=path).calibration.signs
    stress, shipped = signs[SignName.STRESS], load_reference_data().calibration.signs
    assert (stress.reference_mean, stress.reference_sd) == (0.1, 0.5)
    assert stress.cuts == shipped[SignName.STRESS].cuts
    assert signs[SignName.FATIGUE] == shipped[SignName.FATIGUE]


@pytest.mark.parametrize(
    ("change", "version", "reason"),
    [
        (faster, "2.0.0", "Set another version"),
        (lambda content: content["feature"].pop("speech_rate"), "2.0", "there is no speech_rate"),
        (lambda content: content["meta"].pop("version"), "2.0", "meta.version"),
        (lambda content: content["feature"]["speech_rate"]["male"].update(t_sd=0), "2.0", "speech_rate.male.t_sd"),
        (lambda content: content.update(sign_reference={"joy": {"mean": 0, "sd": 1}}), "2.0", "sign_reference.joy"),
    ],
)
def test_unsuitable_norms_are_rejected(write_site_norms, change, version, reason):
    with pytest.raises(DataFileError, match=reason) as refused:
        load_reference_data(norms_file=write_site_norms(change, version))
    assert "site.toml" in str(refused.value)


def test_a_version_with_build_metadata_is_extended():
    assert version_with_norms("1.0+fit.3", "2.0+measured.ab") == "1.0+fit.3.norms.2.0.measured.ab"
