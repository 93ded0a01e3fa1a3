"""Numbers, dates, times and lists in the forms of the reader's region, from CLDR."""

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from vbdesk.language.reader import current

if TYPE_CHECKING:
    from babel import Locale

_ARABIC_DIGITS = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
_LARGEST = 1e21
"""Babel's decimals end there; larger numbers and NaN are written as Python does."""
_SPEC = re.compile(r"(?P<plus>\+?)(?P<group>,?)(?:\.(?P<digits>\d{1,2}))?(?P<kind>[fd%g]?)")


def is_number_format(spec: str) -> bool:
    """Whether `formatted_number` has this format."""
    return _SPEC.fullmatch(spec) is not None


def unsigned_zero(value: float, spec: str) -> float:
    """The value, or zero without a sign if this format of Python rounds it to zero: nobody writes `-0.0`."""
    return value if format(value, spec).strip("+-,.%0") else abs(value * 0)


def formatted_number(value: float, spec: str, locale: "Locale") -> str:
    """A number by a format of Python: sign, comma for groups, digits, `f`, `d`, `%` or `g`.

    Raises:
        ValueError: the format has something else.
    """
    from babel.numbers import format_decimal, format_percent, get_minus_sign_symbol, get_plus_sign_symbol

    match = _SPEC.fullmatch(spec)
    if match is None:
        raise ValueError(f"The number format {spec!r} is not supported.")
    if not abs(value) < _LARGEST:
        return _in_digits(format(value, spec), locale)
    if match["kind"] != "d":
        value = unsigned_zero(value, spec)
    if match["kind"] == "g":
        value, digits = float(format(value, spec.replace(",", "").replace("+", ""))), None
    elif match["digits"] is not None:
        digits = int(match["digits"])
    else:
        digits = 6 if match["kind"] in ("f", "%") else 0 if isinstance(value, int) else None
    decimals = "" if digits == 0 else ".###############" if digits is None else "." + "0" * digits
    pattern = ("#,##0" if match["group"] else "0") + decimals
    if match["kind"] == "%":
        pattern = locale.percent_formats[None].pattern.replace("#,##0", pattern)  # where the sign stands
        text = format_percent(value, pattern, locale=locale, numbering_system="default")
        if locale.language == "fr":  # as everywhere before a sign in French; Babel's pattern has the wider blank
            text = text.replace("\N{NO-BREAK SPACE}%", "\N{NARROW NO-BREAK SPACE}%")
        if locale.text_direction == "rtl":  # as CLDR has it; otherwise the sign goes before the digits
            text = text.replace("%", "\N{LEFT-TO-RIGHT MARK}%\N{LEFT-TO-RIGHT MARK}")
    else:
        text = format_decimal(value, pattern, locale=locale, numbering_system="default")
    if text.startswith("-"):  # Arabic's sign keeps its place before the digits
        text = get_minus_sign_symbol(locale, numbering_system="default") + text[1:]
    plus = get_plus_sign_symbol(locale, numbering_system="default") if match["plus"] and value >= 0 else ""
    return _in_digits(plus + text, locale)


def _in_digits(text: str, locale: "Locale") -> str:
    """Digits of the region; Babel has its signs only."""
    return text.translate(_ARABIC_DIGITS) if locale.default_numbering_system == "arab" else text


def load() -> None:
    """Read what the region of the reader needs; otherwise the first use reads it. Blocks on the disk."""
    day_and_time(datetime(2026, 1, 1))
    list_of([ago(timedelta(days=1)), number(1)])


def number(value: float, spec: str = ",") -> str:
    """A number by a format of Python, in the reader's region."""
    return formatted_number(value, spec, current().locale)


def figure(value: float, spec: str = ",") -> str:
    """A number that stands alone, with a minus sign as long as the plus sign: `−1.20`."""
    return number(value, spec).replace("-", "−")


def day(when: date) -> str:
    """A day: `21 Nov 2026`."""
    from babel.dates import format_date

    locale = current().locale
    return _in_digits(format_date(when, "medium", locale=locale), locale)


def day_without_year(when: date) -> str:
    """A day of this year: `21 Nov`."""
    return _by_skeleton("MMMd", when)


def time_of_day(when: datetime) -> str:
    """Hours and minutes, in the zone of `when`: `16:30`."""
    from babel.dates import format_time

    locale = current().locale
    return _in_digits(format_time(when.time(), "short", locale=locale), locale)


def month(when: date) -> str:
    """A month, short: `Nov`."""
    return _by_skeleton("MMM", when)


def month_and_year(when: date) -> str:
    """A month with its year: `Nov 2026`."""
    return _by_skeleton("yMMM", when)


def long_day(when: date) -> str:
    """A day with the whole name of its month: `21 November 2026`."""
    from babel.dates import format_date

    locale = current().locale
    return _in_digits(format_date(when, "long", locale=locale), locale)


def _by_skeleton(skeleton: str, when: date) -> str:
    from babel.dates import format_skeleton

    locale = current().locale
    return _in_digits(format_skeleton(skeleton, datetime(when.year, when.month, when.day), locale=locale), locale)


def clock(seconds: int) -> str:
    """A length in minutes and seconds: `1:05`."""
    minutes, rest = divmod(seconds, 60)
    return _in_digits(f"{minutes}:{rest:02d}", current().locale)


def day_and_time(when: datetime) -> str:
    """Day and time, in the zone of `when`: `21 Nov 2026, 16:30`."""
    return _at(day(when), when)


def long_day_and_time(when: datetime, *, year: bool) -> str:
    """Day and time with the whole name of the month, in the zone of `when`: `21 November, 16:30`."""
    return _at(long_day(when) if year else _by_skeleton("MMMMd", when), when)


def _at(day_text: str, when: datetime) -> str:
    from babel.dates import get_datetime_format

    pattern = str(get_datetime_format("medium", locale=current().locale)).replace("'", "")
    pattern = pattern.replace("{1} {0}", "{1}, {0}")  # Portuguese: "23 de novembro 15:26" runs together
    return pattern.replace("{1}", day_text).replace("{0}", time_of_day(when))


def duration(span: timedelta) -> str:
    """A span in its largest unit: `3 days`."""
    from babel.dates import format_timedelta

    locale = current().locale
    return _in_digits(format_timedelta(span, threshold=1, locale=locale), locale)


def ago(span: timedelta) -> str:
    """How long ago: `3 days ago`."""
    from babel.dates import format_timedelta

    locale = current().locale
    return _in_digits(format_timedelta(-span, threshold=1, add_direction=True, locale=locale), locale)


def list_of(items: Sequence[str]) -> str:
    """Items as a list within a sentence: `a, b and c`."""
    from babel.lists import format_list

    return format_list(list(items), "standard", locale=current().locale)
