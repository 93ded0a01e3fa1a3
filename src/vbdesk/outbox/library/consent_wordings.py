"""The wordings of consent, from resources/consent: one file per language, with a version."""

from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from vbdesk.contract.language import match_language
from vbdesk.data_files import DataFileError, StrictDataModel, read_data
from vbdesk.language import message
from vbdesk.outbox.library.consent import ConsentKind
from vbdesk.resource_files import resource

FALLBACK = "en"


class _KindWording(StrictDataModel):
    text: Annotated[str, Field(min_length=1, max_length=4000)]


class ConsentWording(StrictDataModel):
    """What is read to a person in one language.

    Attributes:
        version: stored with each consent.
        language: BCP-47 tag, as in `en`.
    """

    version: Annotated[str, Field(pattern=r"^[A-Za-z0-9.-]{1,20}$")]
    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")]
    title: Annotated[str, Field(min_length=1, max_length=120)]
    clinical: _KindWording
    research: _KindWording
    both: _KindWording

    def is_for(self, language: str) -> bool:
        """Whether it is in the language of a tag, in any region."""
        return match_language(language, (self.language,)) is not None

    def text(self, kind: ConsentKind) -> str:
        """The wording for a kind; blank lines separate paragraphs."""
        parts = {ConsentKind.CLINICAL: self.clinical, ConsentKind.RESEARCH: self.research}
        return parts.get(kind, self.both).text.strip()


@cache
def consent_wordings(folder: Path | None = None) -> dict[str, ConsentWording]:
    """The wordings by language, English first.

    Args:
        folder: of the files; the shipped ones if None.

    Raises:
        DataFileError: a file is invalid, or there is no English.
    """
    place = resource("consent") if folder is None else folder
    found = {path.stem.replace("_", "-"): read_data(path, ConsentWording) for path in place.glob("*.toml")}
    for name, wording in found.items():
        if wording.language != name:
            raise DataFileError(message("{name}.toml: language: the file is named for another language.", name=name))
    if FALLBACK not in found:
        raise DataFileError(message("There is no en.toml: consent needs an English wording."))
    return dict(sorted(found.items(), key=lambda entry: (entry[0] != FALLBACK, entry[0])))


def consent_wording(language: str) -> ConsentWording:
    """The wording in the nearest language; English if there is none."""
    known = consent_wordings()
    return known[match_language(language, known) or FALLBACK]
