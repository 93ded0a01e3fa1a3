"""Cautions for every result: it is no diagnosis, how often it is wrong, and the people it is compared with."""

from vbdesk.language import _
from vbdesk.report.comparison_basis import Basis, ComparisonBasis


def caution_title() -> str:
    """Heading of the cautions."""
    return _("A signal, not a diagnosis")


def caution_text() -> str:
    """What holds for every analysis."""
    return _(
        "Acoustic patterns of one recording, compared with healthy adult speakers. They have not been validated"
        " clinically and decide nothing alone. Illness, tiredness, a second language, the room and the microphone"
        " change a voice too."
    )


def flagged_text(model: str, share: float | None) -> str:
    """How often a model flags healthy speakers; `share` is None where it is not known."""
    if share is None:
        return _("How often this analysis flags healthy speakers has not been measured.")
    return _(
        "The {model} analysis flags about {share:.0%} of healthy speakers: of 100 people with none of these conditions,"
        " about {count} would show at least one signal at consider or above.",
        model=model,
        share=share,
        count=round(share * 100),
    )


def compared_text(basis: ComparisonBasis) -> str:
    """The people that a result was compared with, as a sentence."""
    match basis.kind:
        case Basis.SHIPPED:
            return _(
                "How this was compared: with {readers} adults who read English aloud (norms {norms}, calibration"
                " {calibration}).",
                readers=basis.readers,
                norms=basis.norms,
                calibration=basis.calibration,
            )
        case Basis.SITE:
            return _(
                "How this was compared: with the service's own reference recordings (norms {norms}, calibration"
                " {calibration}).",
                norms=basis.norms,
                calibration=basis.calibration,
            )
        case Basis.OWN_SIGN:
            return _(
                "How this was compared: with the reference of this sign, which is not one of vbdesk (version"
                " {calibration}).",
                calibration=basis.calibration,
            )
        case Basis.OTHER_RELEASE:
            return _(
                "How this was compared: with the reference of calibration {calibration}, which this vbdesk cannot"
                " describe.",
                calibration=basis.calibration,
            )
        case Basis.UNKNOWN:
            return _("How this was compared: the service does not tell the version of its reference.")
