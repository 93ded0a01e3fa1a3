"""Every summary that the rules can produce, in every language, obeys the wording rules."""

import re
from functools import cache
from itertools import combinations, permutations, product

import pytest

from vbdesk.contract.catalog import MODEL_SIGNS, ModelName, SignName
from vbdesk.contract.levels import LEVEL_ORDER, Level, RecommendedAction, recommended_action
from vbdesk.contract.narrative_texts import UnknownLanguage, find_language, languages
from vbdesk.contract.results import IssueCode
from vbdesk.contract.spoken_language import SpokenLanguage
from vbdesk.signs.narrative import add_history_sentence, render_summary
from vbdesk.signs.reference_data import load_reference_data
from vbdesk.signs.scoring import Reading

BANNED = {
    "en": r"(diagnos\w*|diseases?|disorders?|patients?|symptoms?|suffer\w*|abnormal\w*|normal\w*|positive\w*"
    r"|negative\w*|confirm\w*|depress\w*|drunk\w*|addict\w*|lying|lies|decepti\w*|suicid\w*|dement\w*|hormon\w*|healthy|safe|cleared"
    r"|ruled out|emergency|danger\w*|man|woman|men|women|male|female|sex|gender|ethnic\w*|accent)",
    "de": r"(diagnos\w*|\w*krank\w*|\w*störung\w*|patient\w*|symptom\w*|leide\w*|abnorm\w*|\w*normal\w*"
    r"|positiv\w*|negativ\w*|bestätig\w*|depress\w*|betrunken\w*|süchtig\w*|lüg\w*|täusch\w*|suizid\w*|selbstmord\w*|dement\w*|demenz\w*"
    r"|hormon\w*|gesund\w*|unbedenklich\w*|ausgeschlossen|notfall\w*|gefahr\w*|gefähr\w*|mann|männer|frau|frauen"
    r"|männlich\w*|weiblich\w*|geschlecht\w*|ethni\w*|akzent\w*|befund\w*)",
    "es": r"(diagn[oó]s\w*|enferm\w*|trastorn\w*|paciente\w*|síntoma\w*|sufr\w*|padec\w*|\w*normal\w*"
    r"|positiv\w*|negativ\w*|confirm\w*|depres\w*|borrach\w*|adict\w*|mienten?|mentir\w*|engañ\w*|suicid\w*|demenc\w*|dement\w*|hormon\w*"
    r"|sano|sana|salud\w*|segura?|descart\w*|emergencia\w*|urgen\w*|peligr\w*|hombres?|mujer\w*|masculin\w*|femenin\w*"
    r"|sexo|género|étnic\w*|acento)",
    "fr": r"(diagnos\w*|malad\w*|troubles?|patient\w*|symptôm\w*|souffr\w*|\w*normal\w*|positi(f|ve)\w*|négati\w*"
    r"|confirm\w*|dépress\w*|ivres?|droguée?s?|ment|menteur\w*|mensong\w*|suicid\w*|démen\w*|hormon\w*|saine?s?|santé|sûre?|exclu\w*"
    r"|urgen\w*|danger\w*|hommes?|femmes?|masculin\w*|féminin\w*|sexe|genre|ethni\w*|accent)",
    "pt-BR": r"(diagn[oó]s\w*|doen\w*|doente\w*|transtorno\w*|paciente\w*|sintoma\w*|sofr\w*|\w*norma(l|is)\w*"
    r"|positiv\w*|negativ\w*|confirm\w*|depress(ã|iv)\w*|bêbad\w*|viciad\w*|mente|mentir\w*|engan\w*|suic[ií]d\w*|demên\w*|dement\w*"
    r"|horm[oô]n\w*|saudáve\w*|saúde|descart\w*|emergência\w*|urgen\w*|perig\w*|homens?|mulher\w*|masculin\w*|feminin\w*"
    r"|sexo|gênero|étnic\w*|sotaque)",
    "ar": r"(\w*تشخيص\w*|\w*مرض\w*|\w*مريض\w*|\w*اضطراب\w*|\w*أعراض\w*|يعاني\w*|\w*طبيعي[ةا]?|إيجابي\w*|سلبي\w*"
    r"|\w*اكتئاب\w*|سكران\w*|مدمن\w*|\w*إدمان\w*|\w*كذب\w*|\w*انتحار\w*|\w*خرف|\w*هرمون\w*|سليم\w*|\w*صحة|\w*طوارئ\w*"
    r"|\w*خطر\w*|\w*رجل|\w*رجال|\w*امرأة|\w*نساء|(ال)?ذكر|\w*أنثى|\w*جنس\w*|\w*عرقي\w*)",
}
BAD_JOINTS = {
    "en": r"\ba [aeio]|\b(a|the) (a|the)\b|\band and\b",
    "de": r",,|\bund und\b|\b(der|die|das) \1\b",
    "es": r"\by h?i|\bde el\b|\ba el\b|\by y\b",
    "fr": r"\bde le\b|\bà les?\b|\bde les\b|\b(de|que|le|la|se|ne|je|ce) [aeéèêiouâô]",
    "pt-BR": r"\b(de|em|por) (o|a|os|as)\b|\ba (o|os|as)\b|\be e\b|\b(o|a|os|as) \1\b",
    "ar": r"\bو و|\bال ال|، ،|،\.|[,;?]|(^| )[وبل] ",
}
ISSUES = [None, *IssueCode]
MAX_CHARACTERS = load_reference_data().narrative.rules.length.max_characters
LANGUAGES = ("en", "ar", "de", "es", "fr", "pt-BR")
EVERY_LANGUAGE = pytest.mark.parametrize("language", LANGUAGES)


def reading(name, level, sign=None):
    moved = {} if sign is None else {row.feature: abs(row.weight) * 3 for row in sign.evidence}
    return Reading(name, 2.0, 0.5, level, moved)


def bundle(reference, model, named, level, rest=Level.NONE):
    signs = reference.calibration.signs
    return [reading(name, level, signs[name]) if name in named else reading(name, rest) for name in MODEL_SIGNS[model]]


def moving_z(readings, reference):
    """Each feature at its z limit, in the direction that raises a sign."""
    z = {}
    for one in readings:
        if one.contributions:
            z |= {
                row.feature: 3.0 if row.weight > 0 else -3.0 for row in reference.calibration.signs[one.sign].evidence
            }
    return z


def write(reference, readings, issues=(), z=None):
    action = recommended_action([one.level for one in readings])
    z = moving_z(readings, reference) if z is None else z
    return render_summary(readings, z, issues, action, reference), action


def sentences(text):
    return re.split(r"(?<=\.) ", text)


def starts_as(sentence, language):
    """With a capital; Arabic has none."""
    return "\u0621" <= sentence[0] <= "\u064a" if language == "ar" else sentence[0].isupper()


@cache  # the same sentences come again and again
def assert_well_formed(text, language):
    """Check a text: no banned words, no broken joints, no extra spaces."""
    assert not re.search(rf"\b{BANNED[language]}\b", text, re.IGNORECASE), text
    assert not re.search(r"  |^ | $| [,.;:]|,\.|\.\.|[{}]", text), text
    assert not re.search(BAD_JOINTS[language], text), text


def assert_well_worded(text, action, words):
    assert "  " not in text
    assert len(text) <= MAX_CHARACTERS, text
    said = sentences(text)
    assert 2 <= len(said) <= 8, text
    for sentence in said:
        assert_well_formed(sentence, words.language)
    assert all(
        starts_as(sentence, words.language) and sentence.endswith(".") and sentence.count(".") == 1 for sentence in said
    ), text
    assert re.findall(r"\d+", text) in ([], ["30"])
    assert text.endswith(words.action[action])


def bundles_of(reference, model):
    yield bundle(reference, model, (), Level.NONE)
    yield bundle(reference, model, (), Level.NONE, Level.INCONCLUSIVE)
    for count in (1, 2, 3):
        for named, level in product(combinations(MODEL_SIGNS[model], count), LEVEL_ORDER[1:]):
            yield bundle(reference, model, named, level)


@EVERY_LANGUAGE
@pytest.mark.parametrize("model", list(ModelName))
def test_every_combination_of_signs_levels_and_issues_obeys_the_rules(model, language):
    reference = load_reference_data(language)
    words = reference.narrative.texts
    longest = max(words.history.model_dump().values(), key=len)
    moved = [(readings, moving_z(readings, reference)) for readings in bundles_of(reference, model)]
    for (readings, z), issue in product(moved, ISSUES):
        text, action = write(reference, readings, [issue.value] if issue else [], z)
        assert_well_worded(text, action, words)
        if action is not RecommendedAction.INCONCLUSIVE:
            told = add_history_sentence(text, longest, words)
            assert longest in told
            assert_well_worded(told, action, words)
            cautious = told if issue else f"{words.features.compared_cautiously} {told}"
            assert_well_worded(cautious, action, words)


@EVERY_LANGUAGE
def test_every_two_clauses_and_every_two_signs_join(language):
    words = load_reference_data(language).narrative.texts
    clauses = {text for clause in words.clauses.values() for text in (clause.higher, clause.lower)}
    for pair in permutations(sorted(clauses), 2):
        assert_well_formed(words.features.heard.format(clauses=words.list.join([*pair])), language)
    for pair in permutations(words.signs.values(), 2):
        for level in LEVEL_ORDER[1:]:
            assert_well_formed(words.finding[level].format(signals=words.list.join([*pair])), language)


@EVERY_LANGUAGE
def test_every_cause_and_every_other_sentence_obeys_the_rules(language):
    words = load_reference_data(language).narrative.texts
    said = [words.causes.sentence.format(cause=cause) for cause in words.causes.phrase.values()]
    groups = (words.quality, words.missing, words.special, words.action)
    said += [sentence for group in groups for sentence in group.values()]
    said.append(words.features.compared_cautiously)
    for section in (words.history, words.evidence, words.evidence_of_several):
        said += section.model_dump().values()
    for sentence in said:
        assert_well_formed(sentence, language)
    assert language != "en" or all(sentence.isascii() for sentence in said)


@EVERY_LANGUAGE
def test_high_and_low_clauses_differ_and_all_texts_are_translated(language):
    words, english = load_reference_data(language).narrative.texts, load_reference_data().narrative.texts
    for name, clause in words.clauses.items():
        assert clause.higher != clause.lower
        assert language == "en" or clause != english.clauses[name]
    assert len(set(words.causes.phrase.values())) == len(words.causes.phrase)
    assert language == "en" or not set(words.finding.values()) & set(english.finding.values())


def test_the_languages_are_those_of_the_files():
    assert languages() == LANGUAGES


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("en", "en"),
        ("pt-BR", "pt-BR"),
        ("ar-EG", "ar"),
        ("de-AT", "de"),
        ("es-419", "es"),
        ("FR", "fr"),
        ("fr_CA", "fr"),
        ("en-GB", "en"),
    ],
)
def test_a_language_tag_finds_its_language(tag, language):
    assert find_language(tag) == language


@pytest.mark.parametrize("tag", ["pt", "", "narrative", "../en", "deu"])
def test_an_unknown_language_is_rejected_with_the_available_ones(tag):
    with pytest.raises(UnknownLanguage, match=r"Choose one of: en, ar, de, es, fr, pt-BR\."):
        load_reference_data(tag)


def test_one_sign_at_consider_reads_as_written(reference):
    readings = bundle(reference, ModelName.PULSE, (), Level.NONE)
    moved = {"pause_duration": 0.5, "pause_duration_variability": 0.6, "speech_rate": 0.4, "vowel_space": 0.3}
    readings[0] = Reading(SignName.MOOD_DISRUPTION, 1.8, 0.53, Level.CONSIDER, moved)
    z = {"pause_duration": 2.0, "pause_duration_variability": 2.2, "speech_rate": -1.5, "vowel_space": -1.4}
    text, action = write(reference, readings, z=z)
    assert action is RecommendedAction.CONSIDER
    assert text == (
        "The recording shows voice features linked in research with low mood, at a level worth weighing with other "
        "information. Compared with the reference, the voice pauses irregularly, has long pauses and speaks slowly. "
        "Research support for this link is fair, but this index has not been clinically validated. Reading in a second "
        "language can sound the same. Consider this together with what you know of the person and the day."
    )


def test_another_language_is_said_where_no_issue_of_quality_is(reference):
    cautious = load_reference_data(spoken=SpokenLanguage("de"))
    readings = bundle(reference, ModelName.CLARITY, (), Level.NONE)
    sentence = "Rate and pauses were compared more cautiously, because of the language."
    assert write(cautious, readings)[0].startswith(sentence)
    for text in (write(cautious, readings, ["clipping"])[0], write(reference, readings)[0]):
        assert sentence not in text
    unusable = bundle(reference, ModelName.CLARITY, (), Level.NONE, Level.INCONCLUSIVE)
    assert sentence not in write(cautious, unusable)[0]


def test_nothing_found_reads_as_written(reference):
    text, _ = write(reference, bundle(reference, ModelName.CLARITY, (), Level.NONE))
    assert text == (
        "None of the signals in this set stood out in this recording. "
        "No follow-up is suggested by this recording alone."
    )


def test_an_inconclusive_recording_stops_after_reason_and_action(reference):
    readings = bundle(reference, ModelName.PULSE, (), Level.NONE, Level.INCONCLUSIVE)
    text, _ = write(reference, readings, ["insufficient_speech"])
    assert text == (
        "There was little speech, so timing measures are less certain. This recording does not allow a reading. Please "
        "record again in a quiet place with at least 30 seconds of continuous speech."
    )


def test_features_in_range_or_with_a_negative_contribution_are_not_mentioned(reference):
    readings = bundle(reference, ModelName.CLARITY, (), Level.NONE)
    moved = {"pause_rate": 0.9, "pause_ratio": -0.8, "speech_rate": 0.2}
    readings[0] = Reading(SignName.COGNITIVE_IMPAIRMENT, 1.7, 0.51, Level.CONSIDER, moved)
    text, _ = write(reference, readings, z={"pause_rate": 2.0, "pause_ratio": -2.0, "speech_rate": -1.0})
    assert "the voice pauses often." in text


def test_a_summary_says_if_no_feature_stands_out(reference):
    readings = bundle(reference, ModelName.CLARITY, MODEL_SIGNS[ModelName.CLARITY], Level.LOW)
    text, _ = write(reference, readings, z=dict.fromkeys(reference.norms.features, 1.0))
    assert reference.narrative.texts.features.none_stood_out in text


def test_excluded_features_are_never_mentioned(reference):
    readings = bundle(reference, ModelName.ARIA, (SignName.ELEVATED_ANDROGENS,), Level.MODERATE)
    text, _ = write(reference, readings)
    assert reference.narrative.texts.clauses["pitch_tract_residual"].lower not in text
    assert reference.narrative.texts.clauses["pitch_mean"].lower in text


def test_the_strongest_three_at_the_highest_level_are_named(reference):
    readings = [
        Reading(name, 2.0, score, Level.LOW)
        for name, score in zip(MODEL_SIGNS[ModelName.PULSE], (0.41, 0.44, 0.42, 0.43, 0.40, 0.39), strict=True)
    ]
    text, _ = write(reference, readings, z={})
    assert "a faint signal of anxious speaking, tiredness or sleep loss and acute stress." in text


def test_with_mixed_grades_the_weakest_is_mentioned(reference):
    named = (SignName.MOOD_DISRUPTION, SignName.FATIGUE)
    text, _ = write(reference, bundle(reference, ModelName.PULSE, named, Level.CONSIDER))
    assert "Research support for at least one of these links is limited." in text
    assert reference.narrative.texts.evidence.B not in text
    text, _ = write(
        reference, bundle(reference, ModelName.TIDE, (SignName.FATIGUE, SignName.IRON_DEFICIENCY), Level.LOW)
    )
    assert "At least one of these has no established voice marker" in text


def test_noise_is_the_first_cause_when_it_is_there(reference):
    readings = bundle(reference, ModelName.PULSE, (SignName.DEHYDRATION,), Level.CONSIDER)
    assert "A cold or a sore throat can sound the same." in write(reference, readings)[0]
    assert "A noisy recording can sound the same." in write(reference, readings, ["high_background_noise"])[0]


@pytest.mark.parametrize("level", [*LEVEL_ORDER[:3], Level.INCONCLUSIVE])
def test_head_impact_never_clears_anyone(reference, level):
    readings = bundle(reference, ModelName.APEX, (), Level.NONE, level)
    assert "must not be used to clear anyone" in write(reference, readings)[0]


@pytest.mark.parametrize(
    ("model", "name", "sentence"),
    [
        (ModelName.PULSE, SignName.ELEVATED_BLOOD_PRESSURE, "Blood pressure can only be known by measuring it."),
        (ModelName.HARBOR, SignName.ALCOHOL_USE_PATTERN, "Voice cannot show what a person has taken."),
    ],
)
def test_special_sentences_come_from_low_on(reference, model, name, sentence):
    assert sentence in write(reference, bundle(reference, model, (name,), Level.LOW))[0]
    assert sentence not in write(reference, bundle(reference, model, (), Level.NONE))[0]
    assert sentence not in write(reference, bundle(reference, model, (), Level.NONE, Level.INCONCLUSIVE))[0]


def test_history_follows_the_features(reference):
    named = (SignName.STRESS,)
    text, _ = write(reference, bundle(reference, ModelName.PULSE, named, Level.CONSIDER))
    told = sentences(add_history_sentence(text, "It changed.", reference.narrative.texts))
    assert told[1].startswith("Compared with the reference")
    assert told[2] == "It changed."


def test_history_follows_the_finding_without_features(reference):
    text, _ = write(reference, bundle(reference, ModelName.PULSE, (), Level.NONE), ["clipping"])
    assert sentences(add_history_sentence(text, "It changed.", reference.narrative.texts))[2] == "It changed."
