"""Texts that are made in one place and shown in another: English in logs and data, translated where people read."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, Self

from vbdesk.language.catalogs import SOURCE, catalog
from vbdesk.language.fields import filled
from vbdesk.language.reader import ENGLISH, current

_LONGEST = 4000  # characters of a message that is read
_DEEPEST, _MOST = 8, 50  # messages inside of each other; parts or fields of one


class Message(str):
    """An English text that remembers its template and fields.

    Attributes:
        template: the text with its fields, as catalogs have it.
        many: its form for several; None without a count.
        amount: the count that chooses the form; also the field `count`.
        fields: values by name; texts, numbers, or messages.
        parts: the messages that it consists of; then it has no template.
    """

    template: str
    many: str | None
    amount: int | None
    fields: Mapping[str, object]
    parts: "tuple[Message, ...]"

    @classmethod
    def make(
        cls,
        template: str,
        many: str | None = None,
        amount: int | None = None,
        fields: Mapping[str, object] | None = None,
        parts: "tuple[Message, ...]" = (),
    ) -> Self:
        """The message with its English text."""
        everything = {
            **({} if amount is None else {"count": amount}),
            **{name: _stored_value(each) for name, each in (fields or {}).items()},
        }
        chosen = template if many is None or amount == 1 else many
        made = super().__new__(cls, " ".join(parts) if parts else filled(chosen, everything, ENGLISH))
        made.template, made.many, made.amount, made.fields, made.parts = template, many, amount, everything, parts
        return made

    def translated(self) -> str:
        """The text in the reader's language."""
        language = current()
        if language.name == SOURCE:
            return str(self)
        if self.parts:
            return " ".join(part.translated() for part in self.parts)
        found = catalog(language.name)
        if self.many is not None and self.amount is not None:
            template = found.ngettext(self.template, self.many, self.amount)
        else:
            template = found.gettext(self.template) if self.template else ""
        return filled(template, self.fields, language)

    def __reduce__(self) -> Any:
        return Message.make, (self.template, self.many, self.amount, self.fields, self.parts)


def message(template: str, /, **fields: object) -> Message:
    """A message; `template` is an English sentence with named fields."""
    return Message.make(template, fields=fields)


def plural_message(one: str, many: str, count: int, /, **fields: object) -> Message:
    """A message with a count, which is also the field `count`."""
    return Message.make(one, many, count, fields)


def joined(*sentences: str | BaseException) -> Message:
    """Several whole sentences, or the sentences of errors, one after the other; empty ones are left out."""
    texts = [_stored_value(each) for each in sentences]
    parts = tuple(each if isinstance(each, Message) else literal(str(each)) for each in texts if each)
    return parts[0] if len(parts) == 1 else Message.make("", parts=parts)


def literal(text: str) -> Message:
    """A text that is already written; translated only if a catalog has exactly this text."""
    return Message.make(text)


def message_of(error: BaseException) -> Message:
    """What an error says, with its template and fields if it was made of a message."""
    text = _stored_value(error)
    return text if isinstance(text, Message) else literal(str(text))


def translated(text: object) -> str:
    """A message or an error in the reader's language.

    A plain text is looked up as it is, so that constants and older stored sentences are translated, too.
    """
    text = _stored_value(text)
    if isinstance(text, Message):
        return text.translated()
    plain = str(text)
    return catalog(current().name).gettext(plain) if plain else plain


def _stored_value(value: object) -> object:
    """A field; an error as its text, since its traceback must not be kept."""
    if not isinstance(value, BaseException):
        return value
    first = value.args[0] if value.args else None
    return first if isinstance(first, Message) and first == str(value) else str(value)


def written_message(text: str) -> dict[str, Any]:
    """A message as JSON data, to be kept; see `read_message`. Fields that are no texts or numbers become texts."""
    kept = text if isinstance(text, Message) else literal(text)
    if kept.parts:
        return {"parts": [written_message(part) for part in kept.parts]}
    written: dict[str, Any] = {"text": kept.template}
    if kept.many is not None:
        written |= {"many": kept.many, "count": kept.amount}
    if kept.fields:
        written["fields"] = {name: _written(value) for name, value in kept.fields.items()}
    return written


def read_message(data: object) -> Message:
    """A message from `written_message`. The data may come from a damaged or foreign file.

    Raises:
        ValueError: it is no such data, or too large for a text that a person reads.
    """
    return _read(data, _DEEPEST)


def _read(data: object, depth: int) -> Message:
    if not isinstance(data, dict) or depth == 0:
        raise ValueError("These are not the data of a message.")
    parts, written = data.get("parts"), data.get("fields", {})
    text, many, count = data.get("text"), data.get("many"), data.get("count")
    if isinstance(parts, list) and 0 < len(parts) <= _MOST:
        return _limited(joined(*(_read(part, depth - 1) for part in parts)))
    counted = isinstance(count, int) and not isinstance(count, bool)
    if not isinstance(text, str) or not isinstance(written, dict) or len(written) > _MOST:
        raise ValueError("The data of this message are damaged.")
    if (many, count) != (None, None) and not (isinstance(many, str) and counted):
        raise ValueError("The count of this message is damaged.")
    fields = {name: _read_field(value, depth - 1) for name, value in written.items()}
    return _limited(Message.make(text, many, count, fields))


def _read_field(value: object, depth: int) -> object:
    if isinstance(value, dict):
        return _read(value, depth)
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return value
    raise ValueError("A field of this message is damaged.")


def _limited(text: Message) -> Message:
    """Nested fields could fill all memory from a few bytes."""
    if len(text) > _LONGEST:
        raise ValueError("This message is too long.")
    return text


def _written(value: object) -> object:
    if isinstance(value, Message):
        return written_message(value)
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    return float(value) if isinstance(value, Real) and not isinstance(value, bool) else str(value)
