"""Cost of encryption at rest in a bulk analysis: the same recordings with and without a key, alternating.

    python tests/benchmarks/encryption_figures.py [--recordings 30] [--rounds 4]

Prints one JSON object: seconds of each round, the ratio of the medians (limit: 1.03), and the processor's share:
encrypting and decrypting one recording and its result, relative to its analysis, in one process.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "service" / "support"))

from served import Served  # noqa: E402

from vbdesk.service.encryption.data_keys import open_data_keys  # noqa: E402
from vbdesk.service.encryption.keys import create_key_file, new_key  # noqa: E402
from vbdesk.service.encryption.recording_files import RecordingFiles  # noqa: E402
from vbdesk.service.engine.analysis import AnalysisRequest, analyse_file, prepare  # noqa: E402
from vbdesk.service.engine.slot_children import in_memory  # noqa: E402
from vbdesk.service.kernel.db.migrate import upgrade  # noqa: E402
from vbdesk.service.kernel.db.session import open_database  # noqa: E402
from vbdesk.service.kernel.settings import load_settings  # noqa: E402

SPEECH = ROOT / "tests" / "data" / "speech_kathleen_20s.flac"
BAR = 1.03


def seconds_of_a_batch(served: Served, recordings: int) -> float:
    """Seconds from the first submit to the last result."""
    with served.client() as client, SPEECH.open("rb") as file:
        content = file.read()
        began = time.perf_counter()
        ids = []
        for _ in range(recordings):
            answer = client.post("/v2/models/pulse/analyze", files={"audio": ("a.flac", content, "audio/flac")})
            answer.raise_for_status()
            ids.append(answer.json()["job_id"])
        while ids:
            time.sleep(0.05)
            ids = [job_id for job_id in ids if client.get(f"/v2/jobs/{job_id}").json()["status"] != "done"]
        return time.perf_counter() - began


def in_turns(folder: Path, recordings: int, rounds: int) -> dict[str, list[float]]:
    key_file = folder / "key"
    create_key_file(key_file)
    seconds: dict[str, list[float]] = {"plain": [], "encrypted": []}
    running = {}
    for name, settings in (("plain", {}), ("encrypted", {"key_file": str(key_file)})):
        (folder / name).mkdir()
        running[name] = Served(folder / name, **settings)
        running[name].start()
        running[name].make_account(10**9)
        seconds_of_a_batch(running[name], 2)
    try:
        for number in range(rounds):
            for name in sorted(running, reverse=bool(number % 2)):
                seconds[name].append(round(seconds_of_a_batch(running[name], recordings), 2))
    finally:
        for served in running.values():
            served.stop(60)
    return seconds


def processor_share(folder: Path, times: int = 15) -> float:
    """Processor seconds of encryption per second of analysis."""
    prepare()
    request = AnalysisRequest("model", "pulse", False, load_settings(folder).plugin_source, "en")
    content = SPEECH.read_bytes()
    with closing(open_database(load_settings(folder))) as database:
        upgrade(database, folder)
        keys = open_data_keys(database, (new_key(),), lambda: datetime.now(UTC))
        files = RecordingFiles(folder, keys)
        plain_files = RecordingFiles(folder)
        analysing, encrypting = 0.0, 0.0
        for number in range(times + 1):
            began = time.process_time()
            with SPEECH.open("rb") as file:
                result = analyse_file(file, request).result
            analysed = time.process_time()
            with files.writing() as (path, writer):
                writer.write(content)
            with files.at(path).open("rb") as reader, in_memory(reader) as copy:
                copy.read(1)
            for purpose in ("jobs.result", "jobs.reading"):
                keys.decrypt_text(keys.encrypt_text(result, purpose), purpose)
            encrypted = time.process_time()
            path.unlink()
            with plain_files.writing() as (path, writer):
                writer.write(content)
            with plain_files.at(path).open("rb") as reader:
                reader.read(1)
            plain = time.process_time() - encrypted
            path.unlink()
            if number:  # the first run includes loading
                analysing += analysed - began
                encrypting += encrypted - analysed - plain
    return encrypting / analysing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recordings", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=4)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "alone").mkdir()
        share = processor_share(folder / "alone")
        seconds = in_turns(folder, asked.recordings, asked.rounds)
    ratio = statistics.median(seconds["encrypted"]) / statistics.median(seconds["plain"])
    figures = {"seconds": seconds, "ratio": round(ratio, 4), "bar": BAR, "processor_share": round(share, 5)}
    print(json.dumps(figures))
    return 0 if ratio <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
