"""What a person is asked to say: read from resources/protocols, in the languages each file has."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from vbdesk.resource_files import resource

FALLBACK_LANGUAGE = "en"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Words(_Strict):
    title: str
    help: str
    act: str
    text: str


class _ProtocolFile(_Strict):
    id: str
    order: int
    icon: str
    seconds: Annotated[int, Field(gt=0)]
    picture: str | None = None
    languages: dict[str, _Words]


class Protocol(_Strict):
    """One protocol in one language.

    Attributes:
        protocol_id: what is kept with a recording.
        seconds: about how long it takes.
        act: what the person does, to go on after “then”.
        text: shown large while recording; blank lines part paragraphs.
        picture: a drawing to show, None for text alone.
    """

    protocol_id: str
    icon: str
    seconds: int
    title: str
    help: str
    act: str
    text: str
    picture: Path | None


@cache
def protocols(language: str = FALLBACK_LANGUAGE) -> tuple[Protocol, ...]:
    """Every protocol, in its order; in English where a file does not have `language`.

    Raises:
        ValueError: a file breaks the form.
    """
    files = [_read(path) for path in resource("protocols").glob("*.toml")]
    return tuple(_in_language(file, language) for file in sorted(files, key=lambda file: file.order))


def _read(path: Path) -> _ProtocolFile:
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    languages = {key: document.pop(key) for key in list(document) if isinstance(document[key], dict)}
    return _ProtocolFile.model_validate({**document, "languages": languages})


def _in_language(file: _ProtocolFile, language: str) -> Protocol:
    words = file.languages.get(language) or file.languages[FALLBACK_LANGUAGE]
    return Protocol(
        protocol_id=file.id,
        icon=file.icon,
        seconds=file.seconds,
        title=words.title,
        help=words.help,
        act=words.act,
        text=words.text.strip(),
        picture=None if file.picture is None else resource("protocols", file.picture),
    )
