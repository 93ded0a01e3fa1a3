"""What `packaging/bootstrap.py` installs works wherever the checkout is."""

import importlib.util
import os
import subprocess
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_a_checkout_in_a_path_beyond_ascii_is_imported_in_the_c_locale(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("bootstrap", ROOT / "packaging" / "bootstrap.py")
    bootstrap = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bootstrap)
    checkout = tmp_path / "Ä b ü" / "vb desk"
    (checkout / "src" / "vbdesk").mkdir(parents=True)
    (checkout / "src" / "vbdesk" / "__init__.py").write_text('print("found")\n')
    place = checkout / ".venv"
    venv.create(place, symlinks=os.name == "posix")
    python = bootstrap.venv_bin("python", place)
    asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(asked, capture_output=True, encoding="utf-8", check=True).stdout.strip())
    (site / "_editable_impl_vbdesk.pth").write_text(f"{checkout / 'src'}\n", encoding="utf-8")  # as hatchling does
    monkeypatch.setattr(bootstrap, "ROOT", checkout)
    bootstrap.make_path_relative(place)
    command = [python, "-c", "import vbdesk"]
    surroundings = {"LC_ALL": "C", "PATH": os.environ["PATH"]}
    done = subprocess.run(command, capture_output=True, text=True, env=surroundings, check=False)
    assert done.stdout == "found\n", done.stderr
