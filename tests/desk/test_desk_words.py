"""The cause of each confusing phrase is gone, and a list of phrases that must not return."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from vbdesk.capture.device_choice import DeviceChoice, WantedDevice
from vbdesk.capture.devices import Device
from vbdesk.contract.feature_texts import feature_texts, is_finding, plain_words
from vbdesk.contract.groups import subject_fault
from vbdesk.contract.levels import Level
from vbdesk.contract.results import ExtendedMetric, Signal, ValueInterpretation, VocalFeature
from vbdesk.desk.record.page import _rescued_text
from vbdesk.desk.result.cards import feature_about
from vbdesk.desk.results.analysis_text import model_text, task_text
from vbdesk.desk.results.metric_rows import metric_rows
from vbdesk.desk.results.result_rows import feature_row, sign_rows
from vbdesk.desk.ui.cells import LevelCell
from vbdesk.report.result_texts import overall_word
from vbdesk.report.shipped_metrics import shipped_metrics
from vbdesk.report.shipped_signs import shipped_signs

ROOT = Path(__file__).parents[2]
BANNED = (
    r"the own baseline",
    r"\bthe other \{",
    r"was not decided about",
    r"in the line here",
    r"disk or the network refused",
    r"A group id",
    r"What is happening",
    r"\bToo \{",
    r"Speaker window",
    r"\{moved?\} more wait",
    r"Model \{",
    r"no personal baseline",
)
TEXTS = ("desk", "cli", "report", "outbox", "capture", "client")


def user_texts():
    """Every constant of several words in the packages that talk to people, and where it is."""
    for package in TEXTS:
        for path in (ROOT / "src" / "vbdesk" / package).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                if isinstance(node, ast.JoinedStr):
                    words = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
                    yield path.name, "".join(map(str, words)).replace("{}", "{x}")
                elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
                    yield path.name, node.value
    for path in (*(ROOT / "resources").glob("*.toml"), *(ROOT / "resources" / "report").glob("*.toml")):
        yield path.name, str(tomllib.loads(path.read_text(encoding="utf-8")))


def test_no_banned_phrase_is_in_any_text_for_people():
    pattern = re.compile("|".join(BANNED))
    assert [(where, text[:80]) for where, text in user_texts() if pattern.search(text)] == []


def signal(name, level, score=0.3, **more):
    return Signal(
        name=name, label=name.replace("-", " ").title(), level=level, score=score, flagged=level.flagged, **more
    )


def metric(name, mean, spread=0.03):
    anchors = {"low-mood": ("bright", "very low"), "vitality": ("drained", "energetic")}[name]
    return ExtendedMetric(
        metric_id=name,
        label=name.replace("-", " ").title(),
        score_mean=mean,
        score_std=spread,
        low_anchor=anchors[0],
        high_anchor=anchors[1],
    )


@pytest.mark.parametrize(
    ("name", "mean", "sign", "level", "explained"),
    [
        ("low-mood", 0.8, "mood-disruption", Level.NONE, True),
        ("low-mood", 0.8, "mood-disruption", Level.MODERATE, False),
        ("low-mood", 0.2, "mood-disruption", Level.MODERATE, True),
        ("low-mood", 0.52, "mood-disruption", Level.NONE, False),
        ("low-mood", 0.8, "mood-disruption", Level.INCONCLUSIVE, False),
        ("low-mood", 0.8, "stress", Level.NONE, False),
        ("vitality", 0.2, "fatigue", Level.NONE, True),  # its low end is the tired one
        ("vitality", 0.8, "fatigue", Level.NONE, False),
    ],
)
def test_a_metric_that_disagrees_with_the_sign_of_its_family_says_why(name, mean, sign, level, explained):
    (row,) = metric_rows([metric(name, mean)], [signal(sign, level)])
    assert bool(row.disagreement) is explained
    if explained:
        known, other = shipped_metrics()[name], shipped_signs()[sign]
        assert f"{len(known.features & other.features)} of them are the same" in row.disagreement
        assert f"evidence grade {known.evidence_grade}" in row.disagreement
        assert f"evidence grade {other.evidence_grade}" in row.disagreement


def test_a_metric_tells_its_evidence_and_where_other_words_would_have_put_it():
    (row,) = metric_rows([metric("low-mood", 0.97, 0.05)], [])
    assert row.expected == "With other words of this person mostly 0.87 to 1.00."
    assert row.evidence.startswith("Limited research support (grade C). Sounds like the state")


def test_every_family_of_a_metric_names_shipped_signs_and_an_end():
    families = [family for known in shipped_metrics().values() for family in known.same_family.items()]
    assert families
    assert all(name in shipped_signs() and end in ("low", "high") for name, end in families)


@pytest.mark.parametrize(
    ("feature", "band", "finding"),
    [
        ("voice_shimmer", ValueInterpretation.LOW, False),
        ("voice_shimmer", ValueInterpretation.HIGH, True),
        ("voice_jitter", ValueInterpretation.REDUCED, False),
        ("harmonics_to_noise", ValueInterpretation.HIGH, False),
        ("harmonics_to_noise", ValueInterpretation.LOW, True),
        ("cepstral_peak_prominence", ValueInterpretation.SLIGHTLY_ELEVATED, False),
        ("pitch_mean", ValueInterpretation.LOW, True),
        ("pitch_mean", ValueInterpretation.WITHIN_RANGE, False),
        ("of_a_lab", ValueInterpretation.LOW, True),
    ],
)
def test_less_noise_and_irregularity_is_no_finding(feature, band, finding):
    assert is_finding(feature, band) is finding
    row = feature_row(VocalFeature(feature=feature, label="L", value=1.0, unit="dB", value_interpretation=band))
    assert row.finding is finding
    outside = band is not ValueInterpretation.WITHIN_RANGE
    assert ("is no finding" in feature_about(row)) is (outside and not finding)


def test_every_feature_of_the_norms_has_plain_words():
    norms = tomllib.loads((ROOT / "resources" / "norms" / "norms.toml").read_text(encoding="utf-8"))
    assert set(feature_texts()) == set(norms["feature"])
    assert plain_words("cepstral_peak_prominence") == "How clear and strong the voicing is"


def test_a_sign_that_needs_a_baseline_tells_why_there_is_none_and_names_no_such_cause():
    for name in ("stress", "head-impact", "alcohol-use-pattern"):
        (row,) = sign_rows([signal(name, Level.NONE)])
        assert not any("baseline" in cause for cause in row.confounders)
        assert any("did not compare" in sentence for sentence in row.about)
    (row,) = sign_rows([signal("fatigue", Level.NONE)])
    assert not any("own earlier recordings" in sentence for sentence in row.about)


def test_only_the_overall_level_says_that_nothing_stood_out():
    assert overall_word(Level.NONE) == LevelCell(Level.NONE, overall=True).text == "Nothing stood out"
    assert LevelCell(Level.NONE).text == "None"
    assert overall_word(Level.MODERATE) == "Moderate"


def rescued(count, damaged):
    class Take:
        cut_s, about, duration_s = 0.0, {"group_id": "w1"}, 20.0

    return _rescued_text([Take()] * count, "w1", damaged)


def test_recordings_that_wait_are_counted_in_whole_sentences():
    assert rescued(1, 0) == "A recording of w1 is kept, 0:20 long. Decide whether to send it."
    assert rescued(2, 1).endswith("1 more recording waits for a decision. 1 damaged recording waits too.")
    assert rescued(3, 2).endswith("2 more recordings wait for a decision. 2 damaged recordings wait too.")


@pytest.mark.parametrize("text", ["", "-x", "x" * 513, "Ä"])
def test_people_are_told_of_a_subject_not_of_a_group(text):
    assert "subject" in subject_fault(text).lower()
    assert "group" not in subject_fault(text)
    assert subject_fault("ward4-0172") is None


def test_what_was_asked_and_spoken_is_named_as_people_know_it():
    assert model_text("pulse") == "Pulse analysis"
    assert task_text("reading") == "Reading passage"
    assert task_text("own-task") == "own-task"


def test_only_the_return_of_the_chosen_microphone_is_good_news():
    studio, laptop = Device("Studio", "ALSA", False), Device("Laptop", "ALSA", True)
    gone = DeviceChoice(WantedDevice("Studio", "ALSA")).listed([studio, laptop]).listed([laptop])
    assert (gone.returned, "is gone" in gone.notice) == (False, True)
    back = gone.listed([studio, laptop])
    assert (back.returned, "is back" in back.notice) == (True, True)
    assert not back.listed([studio, laptop]).returned


def test_twins_name_each_other_and_the_weaker_one_says_why_it_stays_low():
    (weaker,) = sign_rows([signal("dry-mouth", Level.LOW)])
    (better,) = sign_rows([signal("dehydration", Level.NONE)])
    (opposite,) = sign_rows([signal("elevated-androgens", Level.NONE)])
    assert any(sentence.startswith("Nearly the same as Dehydration") for sentence in weaker.about)
    assert "Dehydration has the stronger evidence, so this level never passes low." in weaker.about
    assert any(sentence.startswith("Nearly the same as Dry Mouth") for sentence in better.about)
    assert not any("never passes low" in sentence for sentence in better.about)
    assert "This sign never passes low, so it flags nobody." in weaker.about
    assert any(sentence.startswith("Of 1000 healthy people") for sentence in better.about)
    assert any("opposite of Stress" in sentence and "−0.9" in sentence for sentence in opposite.about)
