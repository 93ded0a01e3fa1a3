"""Recording protocols: what a person is asked to say, from resources/protocols, in several languages.

A file is one task, or a sequence of tasks that are recorded together. Languages are BCP-47 tags, matched by RFC 4647
lookup (`de-AT` finds `de`), then by the language alone (`pt` finds `pt-BR`), with English as the fallback. The prompt
is in the language of the subject; title, help and begin are in that of the reader, who operates the desk.
"""

from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from vbdesk.capture.speech_meter import SpeechProgress
from vbdesk.contract.language import match_language
from vbdesk.contract.limits import MAX_DURATION_S
from vbdesk.data_files import read_toml
from vbdesk.language import current
from vbdesk.resource_files import resource

FALLBACK_LANGUAGE = "en"

LanguageTag = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$")]
Line = Annotated[str, Field(min_length=1, max_length=120)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _TaskTexts(_Strict):
    title: Line
    help: Line
    begin: Annotated[str, Field(min_length=1, max_length=120, pattern=r"\{seconds\}")]
    text: Annotated[str, Field(min_length=1)]


class _SequenceTexts(_Strict):
    title: Line
    help: Line


class _File(_Strict):
    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    version: Annotated[int, Field(ge=1)]
    order: int
    icon: str


class _TaskFile(_File):
    kind: Literal["task"]
    seconds: Annotated[int, Field(gt=0, le=MAX_DURATION_S)]
    min_speech_s: Annotated[float, Field(gt=0, le=MAX_DURATION_S)]
    counts: Literal["speech", "voice"]
    picture: str | None = None
    languages: dict[LanguageTag, _TaskTexts]


class _SequenceFile(_File):
    kind: Literal["sequence"]
    steps: Annotated[tuple[str, ...], Field(min_length=2)]
    languages: dict[LanguageTag, _SequenceTexts]


_ProtocolFile = Annotated[_TaskFile | _SequenceFile, Field(discriminator="kind")]
_FILE: TypeAdapter[_TaskFile | _SequenceFile] = TypeAdapter(_ProtocolFile)


class ProtocolTask(_Strict):
    """One task for a person.

    Attributes:
        language: of the text; a fallback if the task lacks the requested language.
        seconds: approximate duration.
        min_speech_s: net speech that it needs.
        counts: what counts as such: speech, or any voiced sound, as in a held vowel.
        title, begin: in the reader's language; `begin` says what happens first, with the field `{seconds}`.
        text: shown large while recording; blank lines separate paragraphs.
        picture: a drawing to show; None for text only.
    """

    task_id: str
    language: str
    seconds: int
    min_speech_s: float
    counts: Literal["speech", "voice"]
    title: str
    begin: str
    text: str
    picture: Path | None

    def counted_s(self, so_far: SpeechProgress) -> float:
        """How much of the required speech was said since it began."""
        return so_far.task_speech_s if self.counts == "speech" else so_far.task_sound_s

    def progress(self, so_far: SpeechProgress) -> float:
        """The same as a share, 0 to 1."""
        return min(1.0, self.counted_s(so_far) / self.min_speech_s)


class RecordingProtocol(_Strict):
    """One protocol: a task, or several in one recording.

    Attributes:
        protocol_id, version: stored with a recording.
        language: of the prompts, stored with a recording; a fallback if the protocol lacks the requested language.
        title, help: in the reader's language.
        tasks: in their order; most protocols have one.
    """

    protocol_id: str
    version: int
    language: str
    icon: str
    title: str
    help: str
    tasks: tuple[ProtocolTask, ...]

    @property
    def seconds(self) -> int:
        """Approximate duration in seconds."""
        return sum(task.seconds for task in self.tasks)

    @property
    def min_speech_s(self) -> float:
        """Net speech that all tasks need."""
        return sum(task.min_speech_s for task in self.tasks)

    @property
    def begin(self) -> str:
        """What happens first, with the field `{seconds}` of countdown."""
        return self.tasks[0].begin

    @property
    def text(self) -> str:
        """The words of the first task."""
        return self.tasks[0].text

    @property
    def picture(self) -> Path | None:
        """The drawing of the first task."""
        return self.tasks[0].picture

    def about(self) -> dict[str, object]:
        """The protocol's entry in a take's manifest."""
        return {"protocol": self.protocol_id, "protocol_version": self.version, "language": self.language}


@cache
def protocols(
    language: str = FALLBACK_LANGUAGE, folder: Path | None = None, reader: str | None = None
) -> tuple[RecordingProtocol, ...]:
    """Every protocol, in order, in the nearest available language.

    Args:
        language: BCP-47 tag of the prompts.
        folder: of the files; the shipped ones if None.
        reader: tag of titles and help; that of the prompts if None.

    Raises:
        ValueError: a file is invalid.
    """
    files = _shipped_files() if folder is None else _files(folder)
    reader = language if reader is None else reader
    return tuple(_in_language(file, files, language, reader, folder) for file in sorted(files.values(), key=_order))


def protocol_titles() -> dict[str, str]:
    """The title of each protocol by its id, in the reader's language."""
    return {protocol.protocol_id: protocol.title for protocol in protocols(current().tag)}


@cache
def protocol_languages(folder: Path | None = None) -> tuple[str, ...]:
    """Languages of all protocols, English first."""
    files = (_shipped_files() if folder is None else _files(folder)).values()
    common = set.intersection(*(set(file.languages) for file in files))
    return tuple(sorted(common, key=lambda tag: (tag != FALLBACK_LANGUAGE, tag)))


def nearest_language(wanted: str, there_are: tuple[str, ...]) -> str:
    """The tag of `there_are` that matches `wanted` by RFC 4647 lookup or by its language; English if none."""
    return match_language(wanted, there_are) or FALLBACK_LANGUAGE


def is_available(wanted: str, there_are: tuple[str, ...]) -> bool:
    """Whether `nearest_language` is no fallback."""
    return match_language(wanted, there_are) is not None


def _order(file: _File) -> int:
    return file.order


@cache
def _shipped_files() -> dict[str, _TaskFile | _SequenceFile]:
    return _files(resource("protocols"))


def _files(folder: Path) -> dict[str, _TaskFile | _SequenceFile]:
    files = {path.stem: _read(path) for path in folder.glob("*.toml")}
    for name, file in files.items():
        if file.id != name:
            raise ValueError(f"The protocol in {name}.toml calls itself {file.id}.")
        if FALLBACK_LANGUAGE not in file.languages:
            raise ValueError(f"The protocol in {name}.toml has no English.")
        if isinstance(file, _SequenceFile):
            for step in file.steps:
                if not isinstance(files.get(step), _TaskFile):
                    raise ValueError(f"The sequence in {name}.toml names {step}, and there is no such task.")
    return files


def _read(path: Path) -> _TaskFile | _SequenceFile:
    document = read_toml(path)
    languages = {key: document.pop(key) for key in list(document) if isinstance(document[key], dict)}
    return _FILE.validate_python({**document, "languages": languages})


def _in_language(
    file: _TaskFile | _SequenceFile,
    files: dict[str, _TaskFile | _SequenceFile],
    wanted: str,
    reader: str,
    folder: Path | None,
) -> RecordingProtocol:
    there_are = tuple(file.languages)
    steps = file.steps if isinstance(file, _SequenceFile) else (file.id,)
    tasks = (files[step] for step in steps)
    text = file.languages[nearest_language(reader, there_are)]
    return RecordingProtocol(
        protocol_id=file.id,
        version=file.version,
        language=nearest_language(wanted, there_are),
        icon=file.icon,
        title=text.title,
        help=text.help,
        tasks=tuple(_task(task, wanted, reader, folder) for task in tasks if isinstance(task, _TaskFile)),
    )


def _task(file: _TaskFile, wanted: str, reader: str, folder: Path | None) -> ProtocolTask:
    there_are = tuple(file.languages)
    language = nearest_language(wanted, there_are)
    text = file.languages[nearest_language(reader, there_are)]
    picture = None
    if file.picture is not None:
        picture = resource("protocols", file.picture) if folder is None else folder / file.picture
    return ProtocolTask(
        task_id=file.id,
        language=language,
        seconds=file.seconds,
        min_speech_s=file.min_speech_s,
        counts=file.counts,
        title=text.title,
        begin=text.begin,
        text=file.languages[language].text.strip(),
        picture=picture,
    )
