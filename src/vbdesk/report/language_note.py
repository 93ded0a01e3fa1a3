"""What the language of a recording means for its result: how it differs from the reference, and for false alarms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from vbdesk.contract.catalog import ModelName, label_of
from vbdesk.contract.results import Signal
from vbdesk.contract.spoken_language import SpokenLanguage, is_widened, primary_language
from vbdesk.data_files import read_toml
from vbdesk.language import _, joined
from vbdesk.report.comparison_basis import Basis, comparison_basis
from vbdesk.report.shipped_signs import healthy_flagged_share
from vbdesk.resource_files import resource

_REFERENCE_LANGUAGE = "en"  # of the shipped norms


@dataclass(frozen=True, slots=True)
class SecondLanguageFlags:
    """How many healthy second-language readers have a flagged sign, by model.

    Attributes:
        readers: how many were measured.
        known: shares where the service knows that they read a second language; without it, `unknown`.
    """

    readers: int
    known: Mapping[str, float]
    unknown: Mapping[str, float]


@cache
def second_language_flags() -> SecondLanguageFlags:
    """The measured shares; the first call reads two files."""
    data = read_toml(resource("signs", "second_language_flags.toml"))
    models = read_toml(resource("signs", "signs.toml"))["model"]
    unknown = {name: entry["healthy_second_language"]["any_flagged"] for name, entry in models.items()}
    return SecondLanguageFlags(data["readers"], data["flagged"], unknown)


def language_note(signals: Sequence[Signal], spoken_language: SpokenLanguage, model: ModelName | None) -> str:
    """How the language of a recording differs from that of the reference readers, and what that does to false alarms.

    Empty where it does not differ, or where it is not known.

    Args:
        signals: of the result.
        spoken_language: what is known about the language of the recording.
        model: of the result; None for a single sign.
    """
    widened = any(is_widened(signal.sign_version) for signal in signals)
    shipped = comparison_basis(signals).kind is Basis.SHIPPED
    if not widened and not (shipped and spoken_language.differs_from(_REFERENCE_LANGUAGE)):
        return ""
    return joined(_difference(spoken_language), _false_alarms(model, widened=widened))


def _difference(spoken_language: SpokenLanguage) -> str:
    if spoken_language.language is not None and primary_language(spoken_language.language) != _REFERENCE_LANGUAGE:
        return _("This recording is not in English, the language of the reference readers.")
    if spoken_language.second_language:
        return _("The speaker reads a second language; the reference readers read English as their first language.")
    return _("The language of this recording is not that of the reference readers, or not the speaker's first one.")


def _false_alarms(model: ModelName | None, *, widened: bool) -> str:
    if model is None:
        return _("A healthy person may therefore be flagged more often than the reference readers are.")
    flags = second_language_flags()
    figures = {
        "model": label_of(model.value),
        "readers": flags.readers,
        "native": healthy_flagged_share()[model.value],
    }
    if widened:
        return _(
            "Rate and pauses were compared more cautiously, with which the {model} analysis flagged {second:.1%} of "
            "{readers} healthy second-language readers, against {native:.1%} of the reference readers; other languages "
            "were not measured.",
            second=flags.known[model.value],
            **figures,
        )
    return _(
        "It was compared as if it did not differ, with which the {model} analysis flagged {second:.1%} of {readers} "
        "healthy second-language readers, against {native:.1%} of the reference readers; other languages were not "
        "measured.",
        second=flags.unknown[model.value],
        **figures,
    )
