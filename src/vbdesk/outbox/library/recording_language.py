"""The language of a recording: stated, from its protocol, or from its subject."""

from dataclasses import replace

from vbdesk.contract.spoken_language import SpokenLanguage
from vbdesk.outbox.library.items import TakeMetadata, metadata_of
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.store import Store

_GIVEN_WORDS = frozenset({"reading", "counting", "sequence"})
"""Protocols whose words are spoken as they are shown, so that their language is that of the recording."""

_NOT_SENT = (OutboxState.CHECKED, OutboxState.WAITING, OutboxState.NEEDS_ATTENTION, OutboxState.FAILED)


def with_language_of_subject(metadata: TakeMetadata, subject: SpokenLanguage) -> TakeMetadata:
    """The metadata with the missing parts of the language; `subject` is what is noted about the subject."""
    prompts = metadata.capture.get("language")
    shown = prompts if isinstance(prompts, str) and prompts else None
    noted = shown or subject.language if metadata.protocol in _GIVEN_WORDS else subject.language or shown
    stated = metadata.spoken
    second = subject.second_language if stated.second_language is None else stated.second_language
    return replace(metadata, spoken=SpokenLanguage(stated.language or noted, second))


def follow_subject(store: Store, group_id: str, before: SpokenLanguage, after: SpokenLanguage) -> None:
    """Correct the recordings that took `before` from their subject and that nobody has sent. Within a transaction."""
    marks = ", ".join("?" * len(_NOT_SENT))
    rows = store.rows(
        f"SELECT take_id FROM recordings WHERE group_id = ? AND bundle_id IS NULL AND state IN ({marks})",  # noqa: S608
        (group_id, *_NOT_SENT),
    )
    for row in rows:
        item = store.get(row["take_id"])
        if item.fault is None and not store.asked(item.take_id):
            changed = with_language_of_other(metadata_of(item), before, after)
            if changed.spoken != item.spoken:
                store.store_details(item.take_id, changed)


def with_language_of_other(metadata: TakeMetadata, before: SpokenLanguage, after: SpokenLanguage) -> TakeMetadata:
    """The metadata with `after` in place of what it took from its subject's language `before`."""
    taken = with_language_of_subject(replace(metadata, spoken=SpokenLanguage()), before).spoken
    stated = metadata.spoken
    own = SpokenLanguage(
        None if stated.language == taken.language else stated.language,
        None if stated.second_language == taken.second_language else stated.second_language,
    )
    return with_language_of_subject(replace(metadata, spoken=own), after)
