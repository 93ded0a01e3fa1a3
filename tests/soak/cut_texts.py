"""Every page of the real window, in every language, at 1024x640 and 1280x800, 100 % and 200 % text: no text is cut.

    python tests/soak/cut_texts.py [LANGUAGE ...]

Runs `packaging/page_pictures.py` once for each language and text size. The pictures are kept in the folder that
VBDESK_PICTURES names, if it is set. Arabic is shown from right to left, and English once more as well.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from vbdesk.language import available_languages
from vbdesk.language.pseudo import PSEUDO

PICTURES = Path(__file__).parents[2] / "packaging" / "page_pictures.py"
SIZES = ("1024x640", "1280x800")
TEXT_SIZES = (1, 2)
MIRRORED = "en-mirrored"
HANGS_S = 900


def cut_texts(name: str, text_size: int, folder: Path) -> list[str] | None:
    """What is cut in a language; None if the window did not come to its end."""
    here = folder / f"{name}-{text_size}00"
    command = [sys.executable, str(PICTURES), str(here), "--cut", "--theme", "light"]
    command += [option for size in SIZES for option in ("--size", size)]
    command += ["--language", "en" if name == MIRRORED else name.replace("_", "-"), "--text-scale", str(text_size)]
    command += ["--right-to-left"] if name == MIRRORED else []
    done = subprocess.run(
        command,
        env=os.environ | {"QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    found = [line for line in done.stdout.splitlines() if line]
    if done.returncode and not found:
        print(done.stderr[-2000:], file=sys.stderr)
        return None
    return found


def main(names: list[str]) -> int:
    """Look at the named languages, or all; 1 if a text is cut."""
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(os.environ.get("VBDESK_PICTURES", temporary))
        for name in names or [*available_languages(), PSEUDO, MIRRORED]:
            for text_size in TEXT_SIZES:
                found = cut_texts(name, text_size, folder)
                failed += found is None or bool(found)
                print(f"{name}, {text_size}00 % text: {'no end' if found is None else f'{len(found)} cut'}", flush=True)
                for line in found or ():
                    print(f"  {line}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
