"""A bundle without the GPL encoders of PyAV's wheel decodes bit for bit as with them."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import av
import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "packaging"))

import codec_stubs  # noqa: E402

DATA = ROOT / "tests" / "data"
LIBRARIES = Path(av.__file__).parents[1] / "av.libs"

DECODE = """
import hashlib, sys
from vbdesk.voice.decode import _read
from vbdesk.voice.container import identify
for path in sys.argv[1:]:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        kind = identify(file)
        file.seek(0)
        for rate, block in _read(file, kind):
            digest.update(block.tobytes())
    print(kind, digest.hexdigest())
mapped = {line.split()[-1] for line in open("/proc/self/maps") if "libx26" in line}
print(sorted(mapped))
"""


def decoded(files, folder=None):
    inherited = dict(os.environ) if folder is None else {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", DECODE, *map(str, files)], capture_output=True, text=True, check=False, env=inherited
    )
    assert (done.returncode, done.stderr) == (0, "")
    *sounds, mapped = done.stdout.splitlines()
    return sounds, mapped


@pytest.mark.skipif(not LIBRARIES.is_dir() or not all(map(shutil.which, ("cc", "nm", "strip"))), reason="Linux only")
def test_nothing_of_the_encoders_is_left_and_every_sample_is_the_same(tmp_path):
    for source in (LIBRARIES, LIBRARIES.with_name("av")):
        shutil.copytree(source, tmp_path / source.name, copy_function=os.link)
    before = {path: hashlib.sha256(path.read_bytes()).digest() for path in LIBRARIES.glob("libx26*")}

    replaced = codec_stubs.replace_encoders(tmp_path)

    assert [name[:7] for name, _, _ in replaced] == ["libx264", "libx265"]
    assert all(now < 20_000 < 1_000_000 < then for _, then, now in replaced)
    assert {path: hashlib.sha256(path.read_bytes()).digest() for path in LIBRARIES.glob("libx26*")} == before
    files = sorted(path for path in DATA.rglob("*") if path.suffix in (".mp3", ".m4a"))
    made = tmp_path / "made.m4a"
    write_aac(made)
    with_encoders, _ = decoded([*files, made])
    without, mapped = decoded([*files, made], tmp_path)
    assert without == with_encoders
    assert with_encoders[-1].startswith("m4a ")
    assert str(tmp_path) in mapped


def write_aac(path):
    """Three seconds of noise."""
    import numpy as np

    with av.open(str(path), "w", format="ipod") as file:
        stream = file.add_stream("aac", rate=48_000, layout="mono")
        noise = np.random.default_rng(1).normal(0, 0.1, (1, 3 * 48_000)).astype(np.float32)
        for start in range(0, noise.shape[1], 1024):
            frame = av.AudioFrame.from_ndarray(noise[:, start : start + 1024].copy(), format="fltp", layout="mono")
            frame.sample_rate, frame.pts = 48_000, start
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
