"""Make the fonts that reports embed: `python packaging/report_fonts.py DEJAVU_FOLDER` (needs fonttools).

The PDF writer reads TrueType outlines alone, and Inter ships as OpenType with cubic ones. Inter is cut to the letters
of Latin, Greek and Cyrillic and set with figures of equal width; DejaVu Sans keeps the scripts that Inter lacks.
"""

import sys
from pathlib import Path

from fontTools.pens.cu2quPen import Cu2QuPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont, newTable

FONTS = Path(__file__).parents[1] / "resources" / "fonts"
MAX_ERROR_UNITS = 1.0
INTER_RANGES = [
    (0x20, 0x7E), (0xA0, 0x24F), (0x2B0, 0x36F), (0x370, 0x3FF), (0x400, 0x52F), (0x1E00, 0x1EFF),
    (0x2000, 0x206F), (0x2070, 0x209F), (0x20A0, 0x20BF), (0x2100, 0x214F), (0x2190, 0x21FF), (0x2200, 0x22FF),
]  # fmt: skip
DEJAVU_RANGES = [(0x530, 0x6FF), (0x10A0, 0x10FF), (0xFB13, 0xFDFF), (0xFE70, 0xFEFF), (0x25A0, 0x25FF)]


def main(dejavu: Path) -> None:
    """Write the fonts into resources/fonts."""
    for weight in ("Regular", "SemiBold"):
        font = TTFont(FONTS / f"Inter-{weight}.otf", recalcTimestamp=False)
        figures_of_equal_width(font)
        cut(font, INTER_RANGES)
        to_truetype(font)
        font.save(FONTS / f"Inter-{weight}.ttf")
    for weight, source in (("Regular", "DejaVuSans.ttf"), ("Bold", "DejaVuSans-Bold.ttf")):
        font = TTFont(dejavu / source, recalcTimestamp=False)
        cut(font, DEJAVU_RANGES)
        font.save(FONTS / f"DejaVuSans-{weight}.ttf")


def figures_of_equal_width(font: TTFont) -> None:
    """Let the figures be those of the feature tnum."""
    lookups = font["GSUB"].table.LookupList.Lookup
    wide: dict[str, str] = {}
    for feature in font["GSUB"].table.FeatureList.FeatureRecord:
        if feature.FeatureTag == "tnum":
            for index in feature.Feature.LookupListIndex:
                for subtable in lookups[index].SubTable:
                    wide |= getattr(subtable, "mapping", {})
    for table in font["cmap"].tables:
        for code in range(ord("0"), ord("9") + 1):
            if table.cmap.get(code) in wide:
                table.cmap[code] = wide[table.cmap[code]]


def cut(font: TTFont, ranges: list[tuple[int, int]]) -> None:
    """Keep the letters of `ranges`, and no layout features: the PDF writer sets letter by letter."""
    options = Options(layout_features=[], name_IDs=["*"], notdef_outline=True, hinting=False)
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=[code for low, high in ranges for code in range(low, high + 1)])
    subsetter.subset(font)


def to_truetype(font: TTFont) -> None:
    """Replace cubic outlines by quadratic ones, at most a thousandth of the em away."""
    glyphs = font.getGlyphSet()
    order = font.getGlyphOrder()
    outlines = {}
    for name in order:
        pen = TTGlyphPen(glyphs)
        glyphs[name].draw(Cu2QuPen(pen, MAX_ERROR_UNITS * font["head"].unitsPerEm / 1000, reverse_direction=True))
        outlines[name] = pen.glyph()
    font["loca"] = newTable("loca")
    font["glyf"] = glyf = newTable("glyf")
    glyf.glyphOrder, glyf.glyphs = order, outlines
    maxp = font["maxp"]
    maxp.tableVersion = 0x00010000
    for field in ("maxZones", "maxTwilightPoints", "maxStorage", "maxFunctionDefs", "maxInstructionDefs",
                  "maxStackElements", "maxSizeOfInstructions", "maxComponentElements"):  # fmt: skip
        setattr(maxp, field, 1 if field == "maxZones" else 0)
    post = font["post"]
    post.formatType, post.extraNames, post.mapping, post.glyphOrder = 2.0, [], {}, order
    glyf.compile(font)
    for table in ("CFF ", "VORG"):
        if table in font:
            del font[table]
    font.sfntVersion = "\000\001\000\000"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
