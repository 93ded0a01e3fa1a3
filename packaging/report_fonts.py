"""Make the fonts that reports embed: `python packaging/report_fonts.py DEJAVU_FOLDER` (needs fonttools).

DejaVu Sans keeps the letters and marks that Inter and Noto Sans lack.
"""

import sys
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

FONTS = Path(__file__).parents[1] / "resources" / "fonts"
DEJAVU_RANGES = [(0x530, 0x58F), (0x10A0, 0x10FF), (0xFB13, 0xFB17), (0x25A0, 0x25FF)]


def main(dejavu: Path) -> None:
    """Write the fonts into resources/fonts."""
    for weight, source in (("Regular", "DejaVuSans.ttf"), ("Bold", "DejaVuSans-Bold.ttf")):
        font = TTFont(dejavu / source, recalcTimestamp=False)
        cut(font, DEJAVU_RANGES)
        font.save(FONTS / f"DejaVuSans-{weight}.ttf")


def cut(font: TTFont, ranges: list[tuple[int, int]]) -> None:
    """Keep the letters of `ranges`."""
    options = Options(name_IDs=["*"], notdef_outline=True, hinting=False)
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=[code for low, high in ranges for code in range(low, high + 1)])
    subsetter.subset(font)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
