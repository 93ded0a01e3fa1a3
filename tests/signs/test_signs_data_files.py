"""The data files are validated at load, and errors are named."""

import tomllib
from pathlib import Path

import pytest

from vbdesk.contract.catalog import SignName
from vbdesk.contract.levels import Level
from vbdesk.contract.narrative_texts import NarrativeRules, NarrativeTexts
from vbdesk.data_files import DataFileError, read_data
from vbdesk.resource_files import resource
from vbdesk.signs.bibliography import read_bibliography
from vbdesk.signs.calibration import Calibration
from vbdesk.signs.metrics import MetricSet
from vbdesk.signs.norms import Norms
from vbdesk.voice.measurement import MISSING_CODES


def edited(path, tmp_path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    copy = tmp_path / path.name
    copy.write_text(text.replace(old, new, 1), encoding="utf-8")
    return copy


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("weight = 0.2594", "weight = 0.2", r"mood-disruption: the absolute weights sum to 0\.9406"),
        ("weight = 0.2594", "weight = -0.2594", "must have the sign of its direction"),
        ("cut_low = 1.282", "cut_low = 1.7", "the cuts must ascend"),
        ("logit_slope = 0.84273", "logit_slope = 0.9", r"the score at index 1\.645 must be 0\.5"),
        ('label = "Anxiety"', 'label = "Worry"', "anxiety: label"),
        ("[sign.anxiety]", "[sign.worry]", "worry"),
        ('feature = "pause_duration"', 'feature = "pause_lenght"', "pause_lenght is not among the features"),
        ('cites = ["laukka2008"]', 'cites = ["nobody2000"]', "nobody2000 is not among the citations"),
        ("min_speech_seconds = 10.0", "", "min_speech_seconds"),
        ('signs = ["airway-obstruction-pattern", "allergy"]', 'signs = ["allergy"]', "the signs of breath"),
        ("[meta]", "[meta", "not valid TOML"),
    ],
)
def test_an_error_in_the_calibration_is_named(tmp_path, reference, old, new, fault):
    path = edited(resource("signs", "signs.toml"), tmp_path, old, new)
    known = {
        "features": reference.norms.features,
        "citations": frozenset(read_bibliography(resource("signs", "bibliography.bib"))),
    }
    with pytest.raises(DataFileError, match=f"signs.toml.*{fault}"):
        read_data(path, Calibration, known)


def test_a_twin_with_less_evidence_may_not_reach_above_low(tmp_path, calibration):
    twins = {(one, other) for one in SignName for other in calibration.separability.twins(one)}
    assert (SignName.DRY_MOUTH, SignName.DEHYDRATION) in twins
    for one, other in twins:
        assert Level.LOW in (calibration.signs[one].max_level, calibration.signs[other].max_level)
    dry_mouth = (
        'label = "Dry Mouth"\nstandalone = false\nmodels = ["tide"]\nevidence_grade = "D"\nplaceholder = false\n'
    )
    path = edited(
        resource("signs", "signs.toml"),
        tmp_path,
        dry_mouth + 'max_level = "low"',
        dry_mouth + 'max_level = "consider"',
    )
    with pytest.raises(DataFileError, match="dry-mouth is a twin of dehydration"):
        read_data(path, Calibration)


def test_anxiety_is_its_evidence_without_the_arousal_axis(calibration, reference):
    sign = calibration.signs[SignName.ANXIETY]
    arousal = reference.metrics.metrics["vad-arousal"].weights
    left = {
        row.feature: row.evidence_weight - sign.arousal_removed * arousal.get(row.feature, 0) for row in sign.evidence
    }
    assert set(arousal) <= set(left)
    total = sum(map(abs, left.values()))
    assert sign.weights == pytest.approx({feature: weight / total for feature, weight in left.items()}, abs=1e-3)
    assert sign.max_level is Level.LOW


def test_a_placeholder_may_not_reach_above_low(calibration):
    data = calibration.signs[SignName.IRON_DEFICIENCY].model_dump(by_alias=True)
    with pytest.raises(ValueError, match="max_level"):
        type(calibration.signs[SignName.IRON_DEFICIENCY]).model_validate(data | {"max_level": "moderate"})


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("weight = 0.3\n", "weight = 0.4\n", "the absolute weights sum to"),
        ('low_anchor = "at ease"', 'low_anchor = "very anxious"', "the two anchors are the same"),
        ("tide = []", 'tide = ["wit"]', "tide carries wit"),
        ('id = "pitch_mean"', 'id = "pitch"', "pitch is not among the features"),
    ],
)
def test_an_error_in_the_metrics_is_named(tmp_path, reference, old, new, fault):
    path = edited(resource("metrics", "metrics.toml"), tmp_path, old, new)
    with pytest.raises(DataFileError, match=f"metrics.toml.*{fault}"):
        read_data(path, MetricSet, {"features": reference.norms.features})


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('"smoking" = "smoking"\n', "", "there are no words for smoking"),
        ('filler = ["pitch_mean"', 'filler = ["pitch"', "there are no words for pitch"),
        ("max_signals = 3", "max_signals = 0", "length.max_signals"),
    ],
)
def test_an_error_in_the_narrative_rules_is_named(tmp_path, reference, old, new, fault):
    path = edited(resource("narrative", "narrative.toml"), tmp_path, old, new)
    confounders = {name: sign.confounders for name, sign in reference.calibration.signs.items()}
    with pytest.raises(DataFileError, match=f"narrative.toml.*{fault}"):
        read_data(path, NarrativeRules, {"features": reference.norms.features, "confounders": confounders})


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("[clause.pitch_mean]", "[clause.pitch]", "there are no words for pitch_mean"),
        ('monitor = "A repeat recording at the usual time is enough."\n', "", "there are no words for monitor"),
        ('stress = "acute stress"\n', "", "there are no words for stress"),
        ('a-cold = "A cold"\n', "", "there are no words for a-cold"),
        ('noise = "Not measurable', 'din = "Not measurable', "there are no words for noise"),
        ('"Dry air"', '"Dry air."', "cause.phrase.dry-air"),
        ('low = "There is', 'slight = "There is', "finding"),
        ("the voice {clauses}.", "the voice stands out.", "features.heard"),
    ],
)
def test_an_error_in_the_narrative_texts_is_named(tmp_path, reference, old, new, fault):
    path = edited(resource("narrative", "en.toml"), tmp_path, old, new)
    context = {"features": reference.norms.features, "rules": reference.narrative.rules, "missing": MISSING_CODES}
    with pytest.raises(DataFileError, match=f"en.toml.*{fault}"):
        read_data(path, NarrativeTexts, context)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataFileError, match=r"norms\.toml cannot be read"):
        read_data(tmp_path / "norms.toml", Norms)


def test_every_cause_is_used(reference):
    confounders = {confounder for sign in reference.calibration.signs.values() for confounder in sign.confounders}
    causes = reference.narrative.rules.causes
    assert causes.unspoken | causes.in_noise.keys() | causes.always.keys() <= confounders


def test_a_folder_in_place_of_a_file_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataFileError, match=f"^{tmp_path.name} cannot be read"):
        read_data(Path(), Norms)


def test_every_citation_is_in_the_bibliography():
    keys = read_bibliography(resource("signs", "bibliography.bib")).keys()
    norms = tomllib.loads(resource("norms", "norms.toml").read_text(encoding="utf-8"))
    cited = {
        key
        for norm in norms["feature"].values()
        for field in ("method_cites", "norm_cites", "icc_cites", "age_cites")
        for key in norm.get(field, ())
    }
    assert cited <= keys
    assert len(keys) > 80


def test_no_sign_with_weak_evidence_can_cause_escalation(calibration):
    highest = {"A": Level.ELEVATED, "B": Level.ELEVATED, "C": Level.MODERATE, "D": Level.CONSIDER}
    for name, sign in calibration.signs.items():
        expected = highest[sign.evidence_grade]
        if sign.placeholder or name in (
            SignName.ELEVATED_ANDROGENS,
            SignName.DRY_MOUTH,
        ):  # twins of stress, dehydration
            expected = Level.LOW
        elif name is SignName.COGNITIVE_IMPAIRMENT:
            expected = Level.MODERATE
        assert sign.max_level is expected, name


def test_expected_rates_are_below_those_of_the_cuts(reference):
    for name, sign in reference.calibration.signs.items():
        rates = reference.calibration.expected_rates(name, reference.norms)
        nominal = reference.calibration.levels.expected_rate[sign.evidence_grade]
        values = list(rates.values())
        assert values == sorted(values, reverse=True)
        assert all(0 < rates[level] < nominal.at(level) for level in rates)


def test_a_publication_is_cited_with_its_authors_and_says_whether_it_was_read(tmp_path):
    entry = "@article{{{key},\n  author = {{{authors}}},\n  year = {{2019}},\n  title = {{Voices}},\n{more}}}\n"
    file = tmp_path / "some.bib"
    three, four = " and ".join(['M\\"{u}ller, A.', "B", "C"]), " and ".join("ABCD")
    read = "  journal = {Speech},\n  doi = {10.1/x},\n  verified = {true},\n"
    file.write_text(
        entry.format(key="one", authors=three, more=read) + entry.format(key="two", authors=four, more=""), "utf-8"
    )
    cited = {key: publication.citation() for key, publication in read_bibliography(file).items()}
    assert cited == {
        "one": "Müller, A.; B; C (2019). Voices. Speech. doi:10.1/x",
        "two": "A and others (2019). Voices. [not seen by us]",
    }
