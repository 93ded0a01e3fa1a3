"""`vbdesk signs`: evidence and calibration of each sign, including a lab's own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli.output import fail, print_json, say, table, wrapped
from vbdesk.language import N_, _, formats, pgettext

if TYPE_CHECKING:
    from vbdesk.signs.fact_sheets import SignFactSheet
    from vbdesk.signs.plugins.discovery import PluginSigns
    from vbdesk.signs.plugins.fact_sheet import PluginFactSheet

USAGE = 2
LIST_NOTE = N_(
    "Flagged: share of healthy readers expected at consider or above, by the calibration; how many affected people"
    " are "
    "missed is unknown. These are biomarker signals, not diagnoses."
)

signs = typer.Typer(no_args_is_help=True, help="Evidence and calibration of each sign.")

AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON.")]
SignsDir = Annotated[
    Path | None, typer.Option(help="Folder of signs of your own; those of installed packages are always loaded.")
]
AllowPickles = Annotated[
    bool, typer.Option("--allow-pickled-signs", help="Open signs that are pickles, which can run code.")
]


@signs.callback()
def _root() -> None:
    """Evidence and calibration of the signs."""


@signs.command("list")
def list_signs(signs_dir: SignsDir = None, allow_pickled_signs: AllowPickles = False, as_json: AsJson = False) -> None:
    """List all signs with grade of evidence, highest level, and share of healthy readers flagged."""

    from vbdesk.contract.catalog import SignName
    from vbdesk.signs.fact_sheets import sign_fact_sheet
    from vbdesk.signs.plugins.fact_sheet import plugin_fact_sheet
    from vbdesk.signs.reference_data import load_reference_data

    found, reference = _own_signs(signs_dir, allow_pickled_signs), load_reference_data()
    sheets: list[SignFactSheet | PluginFactSheet] = [sign_fact_sheet(name, reference) for name in SignName]
    sheets += [plugin_fact_sheet(sign, reference) for sign in found.available.values()]
    if as_json:
        print_json([sheet.model_dump(mode="json") for sheet in sheets], indent=2)
    else:
        heads = (pgettext("noun", "Sign"), _("Grade"), _("Highest level"), _("Flagged"), _("Models"))
        say(*table(heads, map(_row, sheets)))
        say("", *wrapped(_(LIST_NOTE)))
    for item in found.unavailable:
        say(
            _("{name} cannot be used ({place}): {reason}", name=item.name, place=item.place, reason=item.reason),
            err=True,
        )


@signs.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a sign, such as stress.")],
    signs_dir: SignsDir = None,
    allow_pickled_signs: AllowPickles = False,
    as_json: AsJson = False,
) -> None:
    """Print evidence, weights, cut-points, confounders, expected rates and sources of one sign."""
    from vbdesk.cli.sign_text import own, shipped
    from vbdesk.contract.catalog import SignName
    from vbdesk.signs.fact_sheets import sign_fact_sheet
    from vbdesk.signs.plugins.fact_sheet import plugin_fact_sheet
    from vbdesk.signs.reference_data import load_reference_data

    sheet: SignFactSheet | PluginFactSheet
    if name in list(SignName):
        sheet = sign_fact_sheet(SignName(name), load_reference_data())
        text = shipped(sheet)
    else:
        found = _own_signs(signs_dir, allow_pickled_signs)
        for item in found.unavailable:
            if item.name == name:
                fail(
                    _(
                        "The sign {name} cannot be used ({place}): {reason}",
                        name=name,
                        place=item.place,
                        reason=item.reason,
                    )
                )
        if name not in found.available:
            fail(
                _(
                    "There is no sign '{name}'. Choose one of: {names}.",
                    name=name,
                    names=", ".join([*SignName, *found.available]),
                ),
                USAGE,
            )
        sheet = plugin_fact_sheet(found.available[name], load_reference_data())
        text = own(sheet)
    if as_json:
        print_json(sheet, indent=2)
    else:
        say(*text)


def _own_signs(folder: Path | None, allow_pickles: bool) -> "PluginSigns":
    from vbdesk.signs.plugins.discovery import load_plugins
    from vbdesk.signs.plugins.source import PluginSource

    if folder is not None and not folder.is_dir():
        fail(_("There is no folder {folder}.", folder=folder), USAGE)
    return load_plugins(PluginSource(folder, allow_pickles))


def _row(sheet: "SignFactSheet | PluginFactSheet") -> tuple[str, ...]:
    from vbdesk.contract.levels import Level
    from vbdesk.report.reader_words import level_word

    grade = str(sheet.evidence_grade)
    if getattr(sheet, "placeholder", False):
        grade = _("{grade} (placeholder)", grade=grade)
    flagged = next(cut.expected_share if cut.reported else 0.0 for cut in sheet.cuts if cut.level.flagged)
    models = ", ".join(sheet.models) or _("none, a sign of your own")
    return sheet.name, grade, level_word(Level(sheet.max_level)), formats.number(flagged, ".1%"), models
