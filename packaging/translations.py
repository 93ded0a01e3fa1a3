"""Keep the translations complete: `translations.py update | check | compile | missing | fill | guide`.

    update    take the texts of the code and of resource files into every catalog, and compile
    check     list missing texts, damaged fields, wrong plural forms, and pages of the guide that are missing, damaged
              or older than their English pages; ends with 1 if there are any
    compile   write the compiled catalogs, which the program reads
    missing   LANGUAGE: print the texts without a translation as JSON; `fill` takes them back with translations
    fill      LANGUAGE FILE.json: put translations into its catalog
    guide     LANGUAGE: list what is missing, damaged or older in its pages of the guide
              LANGUAGE PAGE.md...: record that these pages translate the present English pages; no damaged page is
              recorded

Needs the packages of the test environment: `.venv/bin/python packaging/translations.py check`.
"""

import argparse
import json
import re
import string
import sys
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_file
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "vbdesk"
RESOURCES = ROOT / "resources"
FOLDER = RESOURCES / "translations"

KEYWORDS: dict[str, Any] = {
    "_": None,
    "N_": None,
    "ngettext": (1, 2),
    "pgettext": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
    "message": None,
    "plural_message": (1, 2),
}
TRANSLATOR = ["Translators:"]
"""Comments that begin so, above a text, are shown to translators."""

RESOURCE_TEXTS: dict[str, tuple[str, ...]] = {
    "check.toml": ("*", "*.*"),
    "capture/enhancement.toml": ("texts.*",),
    "capture/room.toml": ("texts.*", "texts.silent.*"),
    "capture/speaker_guard.toml": ("warning",),
    "features.toml": ("*.plain",),
    "metrics/metrics.toml": (
        "kind.*",
        "metric.*.label",
        "metric.*.low_anchor",
        "metric.*.high_anchor",
        "metric.*.definition",
    ),
    "norms/norms.toml": ("feature.*.label", "feature.*.method", "feature.*.higher_means", "feature.*.lower_means"),
    "report/tables.toml": ("*.title",),
    "result_words.toml": ("action.*.*", "issue.*.*"),
    "signs/signs.toml": (
        "grade.*",
        "sign.*.known",
        "sign.*.construct",
        "sign.*.cut_rationale",
        "sign.*.confounders.*",
        "sign.*.evidence.*.direction",
        "sign.*.evidence.*.strength",
    ),
}
"""Resource files with texts for people: path in `resources` to patterns of keys, such as `action.*.title`."""

TEMPLATES = ROOT / "resources" / "console" / "templates"
"""Templates of Jinja with texts for people."""

_OF_INSTALLERS = {
    "GenericName": "What the program is; in menus, below its name",
    "Comment": "What the program does; in menus",
    "Keywords": "Words to find the program by, with a semicolon after each",
    "summary": "What the program does; in software catalogues",
    "p": "Description of the program in software catalogues",
    "comment": "Kind of a file, in file managers",
}
_OF_TEMPLATES = {"silent": "false", "trim_blocks": "true", "lstrip_blocks": "true"}
_HEADER = {"project": "vbdesk", "version": "1", "copyright_holder": "the vbdesk authors", "msgid_bugs_address": ""}


@cache
def source_texts() -> Catalog:
    """Every text for people, with where it stands; by file and line."""
    from jinja2.ext import babel_extract
    from typer.main import get_command  # none of these is known where a wheel is built

    from installers import localized
    from vbdesk.cli.command_language import help_texts
    from vbdesk.cli.main import app
    from vbdesk.contract.catalog import SignName

    catalog = Catalog(**_HEADER, creation_date=datetime(2026, 1, 1, tzinfo=UTC))
    for path in sorted([*SOURCE.rglob("*.py"), *(ROOT / "packaging" / "installers").rglob("*.py")]):
        place = path.relative_to(ROOT).as_posix()
        for _line, texts, comments, context in extract_from_file(
            "python", str(path), keywords=KEYWORDS, comment_tags=TRANSLATOR, strip_comment_tags=True
        ):
            catalog.add(texts, locations=[(place, None)], auto_comments=comments, context=context)
    for path in sorted(TEMPLATES.glob("*.html")):
        place = path.relative_to(ROOT).as_posix()
        for _line, texts, comments, context in extract_from_file(
            babel_extract, str(path), keywords=KEYWORDS, comment_tags=TRANSLATOR, options=_OF_TEMPLATES,
            strip_comment_tags=True,
        ):  # fmt: skip
            catalog.add(texts, locations=[(place, None)], auto_comments=comments, context=context)
    for name, patterns in RESOURCE_TEXTS.items():
        data = _toml(RESOURCES / name)
        for key, text in texts_of(data):
            if any(re.fullmatch(pattern.replace(".", r"\.").replace("*", "[^.]+"), key) for pattern in patterns):
                catalog.add(text, locations=[(f"resources/{name}", None)], auto_comments=[key])
    for path, name, text in localized.english_texts():
        catalog.add(text, locations=[(path.relative_to(ROOT).as_posix(), None)], auto_comments=[_OF_INSTALLERS[name]])
    for text in help_texts(get_command(app)):
        catalog.add(text, locations=[("src/vbdesk/cli/main.py", None)], auto_comments=["Help of a command"])
    for sign in SignName:
        catalog.add(sign.label, locations=[("src/vbdesk/contract/catalog.py", None)], auto_comments=["Name of a sign"])
    return catalog


def texts_of(data: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text of nested data with its key, such as `action.none.title`; items of lists have their number."""
    if isinstance(data, str):
        yield key, data
    elif isinstance(data, dict):
        for name, value in data.items():
            yield from texts_of(value, f"{key}.{name}" if key else name)
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield from texts_of(value, f"{key}.{number}")


def languages() -> list[str]:
    """Languages that have a catalog."""
    return sorted(path.stem for path in FOLDER.glob("*.po"))


def read(language: str) -> Catalog:
    """The catalog of a language."""
    with (FOLDER / f"{language}.po").open("rb") as file:
        return read_po(file, locale=language)


def write(language: str, catalog: Catalog) -> None:
    """Write it, in the order of the source, without line numbers."""
    with (FOLDER / f"{language}.po").open("wb") as file:
        write_po(file, catalog, width=120, ignore_obsolete=True, omit_header=False)


def update(added: list[str]) -> None:
    """Take new texts into every catalog; translations of texts that are gone are dropped."""
    source = source_texts()
    for language in sorted({*languages(), *added}):
        old = read(language) if (FOLDER / f"{language}.po").exists() else Catalog()
        new = Catalog(locale=language, **_HEADER, fuzzy=False, creation_date=source.creation_date)
        new.revision_date = source.creation_date
        for entry in source:
            if not entry.id:
                continue
            known = old.get(_key(entry), entry.context)
            new.add(
                entry.id,
                known.string if known is not None and _fits(known, entry) else None,
                locations=entry.locations,
                auto_comments=entry.auto_comments,
                user_comments=known.user_comments if known is not None else (),
                context=entry.context,
            )
        write(language, new)
        print(f"{language}: {len(missing(new))} of {len(new)} texts are not translated")


def compile_catalogs() -> None:
    """Write the `.mo` file of each catalog that is newer."""
    for source in FOLDER.glob("*.po"):
        target = source.with_suffix(".mo")
        if is_compiled(source):
            continue
        unfinished = target.with_suffix(".part")
        with unfinished.open("wb") as file:
            write_mo(file, read(source.stem))
        unfinished.replace(target)


def is_compiled(source: Path) -> bool:
    """Whether the compiled form of a catalog is newer than the catalog."""
    target = source.with_suffix(".mo")
    return target.exists() and target.stat().st_mtime_ns > source.stat().st_mtime_ns


def missing(catalog: Catalog) -> list[Message]:
    """Entries without a complete translation."""
    return [entry for entry in catalog if entry.id and not _complete(entry, catalog.num_plurals)]


def faults(language: str) -> list[str]:
    """What is wrong with a catalog, as sentences."""
    catalog = read(language)
    known = {(_key(entry), entry.context) for entry in catalog if entry.id}
    found = [
        f"{_key(entry)!r} is not in the catalog. Run `translations.py update`."
        for entry in source_texts()
        if entry.id and (_key(entry), entry.context) not in known
    ]
    for entry in catalog:
        if not entry.id:
            continue
        if entry.fuzzy or not _complete(entry, catalog.num_plurals):
            found.append(f"{_key(entry)!r} is not translated.")
            continue
        found += _field_faults(entry)
    return found


def resource_faults(language: str) -> Iterator[str]:
    """What is wrong with the narrative and the protocols of a language, as sentences: they have the keys of English."""
    tag = language.replace("_", "-")
    narrative = RESOURCES / "narrative" / f"{language}.toml"
    english = _toml(narrative.with_name("en.toml"))
    if not narrative.exists():
        yield f"resources/narrative/{language}.toml is missing. Translate en.toml."
    else:
        translated = _toml(narrative)
        yield from _differences(f"resources/narrative/{language}.toml", translated, english)
        if translated.get("language") != tag:
            yield f"resources/narrative/{language}.toml has to begin with language = {tag!r}."
    for protocol in sorted((RESOURCES / "protocols").glob("*.toml")):
        texts = _toml(protocol)
        yield from _differences(f"resources/protocols/{protocol.name} [{tag}]", texts.get(tag, {}), texts["en"])


def _differences(place: str, translated: dict[str, Any], english: dict[str, Any]) -> Iterator[str]:
    there, wanted = ({key for key, _text in texts_of(data)} for data in (translated, english))
    if lacking := wanted - there:
        yield f"{place} does not have {', '.join(sorted(lacking))}."
    if unknown := there - wanted:
        yield f"{place} has {', '.join(sorted(unknown))}, which English does not have."


def _toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def words_of_the_window(language: str) -> dict[str, set[str]]:
    """Texts without fields in English, with their translations; for the guide, which quotes them."""
    words: dict[str, set[str]] = {}
    for entry in read(language):
        if isinstance(entry.id, str) and isinstance(entry.string, str) and entry.id and not fields_of(entry.id):
            words.setdefault(entry.id, set()).add(entry.string)
    return words


def guide_faults(language: str) -> list[str]:
    """What is wrong with the pages of the guide, as sentences."""
    import guide_pages  # beside this file; needs more than is there where a wheel is built

    return guide_pages.faults(language, words_of_the_window(language))


def record_pages(language: str, pages: list[str]) -> list[str]:
    """Record pages of the guide as translations of the present English pages, unless one is damaged: then say how."""
    import guide_pages

    words = words_of_the_window(language)
    found = [fault for page in pages for fault in guide_pages.damages(language, page, words)]
    if not found:
        guide_pages.record(language, pages)
    return found


def _field_faults(entry: Message) -> Iterator[str]:
    ids = entry.id if isinstance(entry.id, tuple) else (entry.id,)
    strings = entry.string if isinstance(entry.string, tuple) else (entry.string,)
    wanted = fields_of(ids[-1])
    for text in strings:
        try:
            there = fields_of(text)
        except ValueError:
            yield f"{ids[0]!r} has a wrong bracket in {text!r}."
            continue
        uncounted = {name for name in wanted if name.partition(":")[0] != "count"}  # "one recording" needs no figure
        if there != wanted and not (len(ids) > 1 and there == uncounted):
            yield f"{ids[0]!r} has the fields {sorted(wanted)}, and its translation {text!r} has {sorted(there)}."
        if text[:1].isspace() != ids[-1][:1].isspace() or text[-1:].isspace() != ids[-1][-1:].isspace():
            yield f"{ids[0]!r} and its translation {text!r} differ in spaces at an end."


def fields_of(text: str) -> set[str]:
    """Names of the fields of a text, with their formats. Raises ValueError for a wrong bracket."""
    return {name + (f":{spec}" if spec else "") for _text, name, spec, _how in string.Formatter().parse(text) if name}


def _key(entry: Message) -> str:
    return entry.id[0] if isinstance(entry.id, tuple) else entry.id


def _fits(known: Message, entry: Message) -> bool:
    return isinstance(known.id, tuple) == isinstance(entry.id, tuple)


def _complete(entry: Message, plurals: int) -> bool:
    if isinstance(entry.id, tuple):
        return isinstance(entry.string, tuple) and len(entry.string) == plurals and all(entry.string)
    return bool(entry.string)


def as_data(entry: Message, plurals: int) -> dict[str, Any]:
    """An entry for a translator who works with JSON."""
    data: dict[str, Any] = {"text": _key(entry)}
    if isinstance(entry.id, tuple):
        data |= {"many": entry.id[1], "translation": [""] * plurals}
    else:
        data["translation"] = ""
    if entry.context:
        data["context"] = entry.context
    if entry.auto_comments:
        data["note"] = " ".join(entry.auto_comments)
    return {**data, "where": sorted({place for place, _line in entry.locations})}


def fill(language: str, filled: list[dict[str, Any]]) -> None:
    """Put translations into a catalog.

    Raises:
        KeyError: the catalog does not have a text.
        TypeError: a text with plural forms has no list of translations, or another text has one.
    """
    catalog = read(language)
    for each in filled:
        entry = catalog.get(each["text"], each.get("context"))
        if entry is None:
            raise KeyError(f"The catalog {language} does not have {each['text']!r}.")
        translation = each["translation"]
        if isinstance(translation, list) != isinstance(entry.id, tuple):
            raise TypeError(f"{each['text']!r} has {entry.id!r}: give a list of its plural forms, or one text.")
        entry.string = tuple(translation) if isinstance(translation, list) else translation
    write(language, catalog)


def main() -> int:
    """Run the command that was given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["update", "check", "compile", "missing", "fill", "guide"])
    parser.add_argument("arguments", nargs="*", help="languages; for fill and guide: see above")
    chosen = parser.parse_args()
    if chosen.command == "update":
        update(chosen.arguments)
    if chosen.command in ("update", "compile"):
        compile_catalogs()
    elif chosen.command == "missing":
        catalog = read(chosen.arguments[0])
        print(
            json.dumps(
                [as_data(entry, catalog.num_plurals) for entry in missing(catalog)], ensure_ascii=False, indent=1
            )
        )
    elif chosen.command == "fill":
        language, file = chosen.arguments
        fill(language, json.loads(Path(file).read_text(encoding="utf-8")))
    elif chosen.command == "guide":
        language, *pages = chosen.arguments
        sentences = record_pages(language, pages) if pages else guide_faults(language)
        print("\n".join(sentences) or f"{language}: nothing is left to do.")
        return int(bool(sentences))
    else:
        found = {
            each: [*faults(each), *resource_faults(each), *guide_faults(each)]
            for each in chosen.arguments or languages()
        }
        for language, sentences in found.items():
            if not is_compiled(FOLDER / f"{language}.po"):
                sentences.append("The program still reads an older form. Run `translations.py compile`.")
            for sentence in sentences:
                print(f"{language}: {sentence}")
        return int(any(found.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
