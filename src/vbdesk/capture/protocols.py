"""What a person is asked to say: read from resources/protocols, in the languages each file has.

A file is one task, or a sequence of tasks that are made in one recording. Languages are BCP-47 tags; what is asked for
is found by RFC 4647's lookup (`de-AT` finds `de`), and English stands in for what is missing.
"""

from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from vbdesk.capture.speech_meter import SpeechSoFar
from vbdesk.contract.language import look_up_language
from vbdesk.contract.limits import MAX_DURATION_S
from vbdesk.data_files import read_toml
from vbdesk.resource_files import resource

FALLBACK_LANGUAGE = "en"

LanguageTag = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$")]
Line = Annotated[str, Field(min_length=1, max_length=120)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _TaskWords(_Strict):
    title: Line
    help: Line
    act: Line
    text: Annotated[str, Field(min_length=1)]


class _SequenceWords(_Strict):
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
    languages: dict[LanguageTag, _TaskWords]


class _SequenceFile(_File):
    kind: Literal["sequence"]
    steps: Annotated[tuple[str, ...], Field(min_length=2)]
    languages: dict[LanguageTag, _SequenceWords]


_ProtocolFile = Annotated[_TaskFile | _SequenceFile, Field(discriminator="kind")]
_FILE: TypeAdapter[_TaskFile | _SequenceFile] = TypeAdapter(_ProtocolFile)


class Task(_Strict):
    """One thing that a person is asked to do, in one language.

    Attributes:
        language: of the words; a fallback where the task does not have the language that was asked for.
        seconds: about how long it takes.
        min_speech_s: how much net speech it needs.
        counts: what counts as such: speech, or any sound of the voice, as in a held vowel.
        act: what the person does, to go on after “then”.
        text: shown large while recording; blank lines part paragraphs.
        picture: a drawing to show, None for text alone.
    """

    task_id: str
    language: str
    seconds: int
    min_speech_s: float
    counts: Literal["speech", "voice"]
    title: str
    act: str
    text: str
    picture: Path | None

    def counted_s(self, so_far: SpeechSoFar) -> float:
        """How much of what it needs was said since it began."""
        return so_far.task_speech_s if self.counts == "speech" else so_far.task_sound_s

    def progress(self, so_far: SpeechSoFar) -> float:
        """The same as a share of what it needs, 0 to 1."""
        return min(1.0, self.counted_s(so_far) / self.min_speech_s)


class Protocol(_Strict):
    """One protocol in one language: a task, or several in one recording.

    Attributes:
        protocol_id, version, language: what is kept with a recording.
        tasks: in their order; one for most protocols.
    """

    protocol_id: str
    version: int
    language: str
    icon: str
    title: str
    help: str
    tasks: tuple[Task, ...]

    @property
    def seconds(self) -> int:
        """About how long it takes."""
        return sum(task.seconds for task in self.tasks)

    @property
    def min_speech_s(self) -> float:
        """How much net speech it needs altogether."""
        return sum(task.min_speech_s for task in self.tasks)

    @property
    def act(self) -> str:
        """What the person does first."""
        return self.tasks[0].act

    @property
    def text(self) -> str:
        """The words of the first task."""
        return self.tasks[0].text

    @property
    def picture(self) -> Path | None:
        """The drawing of the first task."""
        return self.tasks[0].picture

    def about(self) -> dict[str, object]:
        """What a take's manifest says of it."""
        return {"protocol": self.protocol_id, "protocol_version": self.version, "language": self.language}


@cache
def protocols(language: str = FALLBACK_LANGUAGE, folder: Path | None = None) -> tuple[Protocol, ...]:
    """Every protocol, in its order, in the nearest language it has.

    Args:
        language: BCP-47 tag.
        folder: where the files are; the ones that ship with the product if None.

    Raises:
        ValueError: a file breaks the form.
    """
    files = _shipped_files() if folder is None else _files(folder)
    return tuple(_in_language(file, files, language, folder) for file in sorted(files.values(), key=_order))


@cache
def protocol_languages(folder: Path | None = None) -> tuple[str, ...]:
    """Languages that every protocol has, English first."""
    files = (_shipped_files() if folder is None else _files(folder)).values()
    common = set.intersection(*(set(file.languages) for file in files))
    return tuple(sorted(common, key=lambda tag: (tag != FALLBACK_LANGUAGE, tag)))


def nearest_language(wanted: str, there_are: tuple[str, ...]) -> str:
    """The tag of `there_are` that `wanted` finds by RFC 4647 lookup, whatever its case; English if none."""
    return look_up_language(wanted, there_are) or FALLBACK_LANGUAGE


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
    folder: Path | None,
) -> Protocol:
    language = nearest_language(wanted, tuple(file.languages))
    steps = file.steps if isinstance(file, _SequenceFile) else (file.id,)
    tasks = (files[step] for step in steps)
    words = file.languages[language]
    return Protocol(
        protocol_id=file.id,
        version=file.version,
        language=language,
        icon=file.icon,
        title=words.title,
        help=words.help,
        tasks=tuple(_task(task, wanted, folder) for task in tasks if isinstance(task, _TaskFile)),
    )


def _task(file: _TaskFile, wanted: str, folder: Path | None) -> Task:
    language = nearest_language(wanted, tuple(file.languages))
    words = file.languages[language]
    picture = None
    if file.picture is not None:
        picture = resource("protocols", file.picture) if folder is None else folder / file.picture
    return Task(
        task_id=file.id,
        language=language,
        seconds=file.seconds,
        min_speech_s=file.min_speech_s,
        counts=file.counts,
        title=words.title,
        act=words.act,
        text=words.text.strip(),
        picture=picture,
    )
