"""What a child imports before it is forked for a recording."""

import subprocess
import sys
from pathlib import Path

SPEECH = Path(__file__).parents[2] / "data" / "speech_kathleen_20s.flac"
ANALYSES = """
import sys
from pathlib import Path
from vbdesk.service.engine.analysis import AnalysisRequest, analyse_file, prepare
from vbdesk.signs.plugins.source import PluginSource
prepare()
ahead = set(sys.modules)
for kind, name, diarize in (("model", "pulse", False), ("model", "haven", True), ("sign", "stress", False)):
    with open(sys.argv[1], "rb") as recording:
        analyse_file(recording, AnalysisRequest(kind, name, diarize, PluginSource(Path(sys.argv[2])), "de"))
print(*sorted(name for name in set(sys.modules) - ahead if name.partition(".")[0] not in sys.stdlib_module_names))
print(len(ahead))
"""


def test_an_analysis_imports_no_library_that_was_not_imported_ahead(tmp_path):
    """A child is forked for each few recordings, and its sandbox need not let it read libraries."""
    done = subprocess.run(
        [sys.executable, "-c", ANALYSES, SPEECH, tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    late, ahead = done.stdout.splitlines()
    assert late == ""
    assert int(ahead) > 500
