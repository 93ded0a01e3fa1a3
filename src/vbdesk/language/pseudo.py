"""A pseudo-language that finds texts which are cut or not translatable: accents, and 40 % more length."""

import gettext
import string

PSEUDO = "en_XA"
"""The usual name of the accented pseudo-locale."""

_GROWTH = 0.4
_ACCENTED = str.maketrans("aeiouycnAEIOUYCN", "áéïöûýçñÁÉÏÖÛÝÇÑ")
_FILLING = "one two three four five six seven eight nine ten "


class PseudoTranslations(gettext.NullTranslations):
    """Translates every text into its pseudo form; fields stay."""

    def gettext(self, message: str) -> str:
        """The pseudo form of a text."""
        return pseudo(message)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        """The pseudo form of a text with a count."""
        return pseudo(msgid1 if n == 1 else msgid2)

    def pgettext(self, context: str, message: str) -> str:
        """The pseudo form of a text with a context."""
        return pseudo(message)

    def npgettext(self, context: str, msgid1: str, msgid2: str, n: int) -> str:
        """The pseudo form of a text with a context and a count."""
        return pseudo(msgid1 if n == 1 else msgid2)


def pseudo(text: str) -> str:
    """Accents on letters, 40 % more characters, and brackets that show where it is cut."""
    try:
        parsed = list(string.Formatter().parse(text))
    except ValueError:  # a text with a bracket that is no field, such as an error of the system
        parsed = [(text, None, None, None)]
    pieces = []
    for literal, name, spec, conversion in parsed:
        pieces.append(literal.translate(_ACCENTED).replace("{", "{{").replace("}", "}}"))
        if name is not None:
            pieces.append("{" + name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "") + "}")
    more = max(1, round(len(text) * _GROWTH))
    filling = (_FILLING * (more // len(_FILLING) + 1))[:more].rstrip()
    return f"[{''.join(pieces)} {filling}]"
