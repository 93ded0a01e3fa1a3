"""How the reason of a recording is stored: as the message that it is, so that every reader has it in their language.

Versions of the library up to 6 stored the English sentence. It stays as it is; when it is read, the sentences that
those versions wrote with values, such as a time, are found in it, so that they are translated as well.
"""

import json
import re
import string

from vbdesk.language import N_, Message, joined, plural_message, read_message, written_message

UNREADABLE = N_("The reason that was stored with this recording cannot be read.")
_MOST_BYTES = 50_000
_LONGEST_EARLIER = 1000  # characters; earlier versions wrote at most a few sentences
_LONGEST = 4000  # characters; what `read_message` accepts


def written_reason(reason: object) -> str | None:
    """A sentence as the column `reason` stores it; None for none."""
    if reason is None or reason == "":
        return None
    text = reason if isinstance(reason, str) else str(reason)
    return json.dumps(written_message(text[:_LONGEST] if len(text) > _LONGEST else text), ensure_ascii=False)


def read_reason(stored: object) -> Message | None:
    """The sentence of a stored reason. Never raises."""
    if not isinstance(stored, str) or not stored:
        return None
    if not stored.startswith("{"):
        made = _of_earlier_version(stored) if len(stored) <= _LONGEST_EARLIER else None
        return made if made == stored else joined(stored)
    try:
        if len(stored) > _MOST_BYTES:
            return joined(UNREADABLE)
        return read_message(json.loads(stored))
    except (ValueError, RecursionError):
        return joined(UNREADABLE)


_WITH_VALUES = (
    N_("{length} s of sound, under the {least:.0f} s minimum, so it was not sent."),
    N_("The service cannot be reached: {cause}"),
    N_("The service's storage cannot be reached: {cause}"),
    N_("The clock here was ahead: it gave {noted} for this recording, and by the service's clock it was {time}."),
    N_("The clock here was behind: it gave {noted} for this recording, and by the service's clock it was {time}."),
    N_(
        "The clock here was wrong: it gave {noted} for this recording, and by the service's clock it was after "
        "{after} and not later than {before}."
    ),
    N_(
        "The clock here was behind: it gave {noted} for this recording, and by the service's clock it was after "
        "{after}."
    ),
    N_("The time of this recording is {noted}, and by the service's clock it was made not later than {before}."),
    N_("The clock here was wrong: it gave {noted} for this recording, and this program did not exist then."),
    N_("The time of this recording was corrected from {original} to {noted}."),
)
"""Sentences with values that versions up to 6 wrote."""

_AT_THE_END = (
    N_("The recording is kept."),
    N_("It is kept and will be retried automatically."),
    N_("It is tried again automatically."),
    N_("Decide which time is right. It is not sent before."),
    N_("By the service's clock it was made at {time}."),
    N_("By the service's clock it was made after {after} and not later than {before}."),
    N_("By the service's clock it was made after {after}."),
    N_("By the service's clock it was made not later than {before}."),
)
"""Sentences that they added to another one."""

NO_LONGER_WRITTEN = (
    N_("The service asks for a pause; it will be tried again shortly."),
    N_("The service has a problem of its own; it will be tried again."),
    N_("The uploaded recording is no longer there; it will be uploaded again."),
    N_("The upload took too long to begin; it will be tried again."),
)
"""Sentences that are stored with recordings, though nothing writes them now. They stay in the catalogs."""

_TRIED = re.compile(r"(?P<rest>.+) It was tried (?P<count>\d{1,9}) times\.")
_VALUE = {"cause": r".{1,300}"}
_SHORT = r"[^.]{1,30}"  # a number, or a time


def _of_earlier_version(text: str) -> Message:
    """A stored sentence, with the template and the values that it was made of."""
    tried = _TRIED.fullmatch(text)
    if tried is not None:
        times = plural_message("It was tried {count} time.", "It was tried {count} times.", int(tried["count"]))
        return joined(_of_earlier_version(tried["rest"]), times)
    for template in _AT_THE_END:
        found = re.fullmatch(f"(?P<rest>.+) {_pattern(template)}", text)
        if found is not None:
            return joined(_of_earlier_version(found["rest"]), _made_again(template, found))
    for template in _WITH_VALUES:
        found = re.fullmatch(_pattern(template), text)
        if found is not None:
            return _made_again(template, found)
    return joined(text)


def _pattern(template: str) -> str:
    """A regular expression for the texts of a template."""
    return "".join(
        re.escape(text) + ("" if name is None else f"(?P<{name}>{_VALUE.get(name, _SHORT)})")
        for text, name, _spec, _conversion in string.Formatter().parse(template)
    )


def _made_again(template: str, found: re.Match[str]) -> Message:
    values = {name: value for name, value in found.groupdict().items() if name != "rest"}
    if "cause" in values:  # a text of ours, too
        values["cause"] = joined(values["cause"])
    return Message.make(template, fields=values)
