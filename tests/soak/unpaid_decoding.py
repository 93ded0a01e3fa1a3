"""What recordings that nobody pays for cost other accounts: how long a submit of another account takes meanwhile.

Starts a service as a process, has one account or several send small files that take long to read on several
connections, and times submits of an honest account before and during the attack.

    python tests/soak/unpaid_decoding.py [--seconds 30] [--senders 8] [--accounts 1]
"""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import httpx

TESTS = Path(__file__).parents[1]
sys.path.append(str(TESTS / "voice"))

from constant_flac import constant_flac  # noqa: E402

SPEECH = (TESTS / "data" / "speech_kathleen_20s.flac").read_bytes()
ATTACKS = {
    "20 minutes at 655 kHz (178 kB)": constant_flac(seconds=1199, sample_rate=655_350),
    "11 hours at 48 kHz (437 kB)": constant_flac(seconds=40_000, sample_rate=48_000),
    "20 minutes of stereo silence at 48 kHz (15 kB)": constant_flac(seconds=1199, sample_rate=48_000, channels=2),
}


def operate(data_dir: Path, *arguments: object) -> dict[str, str]:
    command = [sys.executable, "-m", "vbdesk", "admin", *map(str, arguments), "--data-dir", str(data_dir), "--json"]
    answer: dict[str, str] = json.loads(subprocess.check_output(command))
    return answer


def account(data_dir: Path, name: str) -> dict[str, str]:
    made = operate(data_dir, "account", "create", "--name", name, "--plan", "enterprise", "--credits", 10**9)
    key = operate(data_dir, "key", "create", "--account", made["account_id"], "--name", "soak")
    return {"X-Account-ID": made["account_id"], "X-API-Key": key["api_key"]}


def submit(client: httpx.Client, audio: bytes) -> tuple[int, float]:
    began = time.perf_counter()
    answer = client.post("/v2/signs/stress/analyze", files={"audio": ("a.flac", audio, "audio/flac")})
    return answer.status_code, time.perf_counter() - began


def honest(client: httpx.Client, seconds: float) -> list[float]:
    taken: list[float] = []
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        status, took = submit(client, SPEECH)
        assert status == 200, status
        taken.append(took)
        time.sleep(0.2)
    return sorted(taken)


def told(name: str, taken: list[float]) -> None:
    print(f"{name}: {len(taken)} submits, median {taken[len(taken) // 2]:.2f} s, slowest {taken[-1]:.2f} s", flush=True)


def attack(base_url: str, headers: dict[str, str], file: bytes, stop: threading.Event, answers: Counter[int]) -> None:
    with httpx.Client(base_url=base_url, headers=headers, timeout=120, trust_env=False) as client:
        while not stop.is_set():
            status, _ = submit(client, file)
            answers[status] += 1
            if status == 429:
                stop.wait(0.5)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=30)
    options.add_argument("--senders", type=int, default=8)
    options.add_argument("--accounts", type=int, default=1)
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="vbdesk-soak-") as name:
        data_dir, ready = Path(name) / "service", Path(name) / "ready.json"
        command = [sys.executable, "-m", "vbdesk", "serve", "--data-dir", str(data_dir), "--port", "0"]
        command += ["--storage-port", "0", "--workers", "0", "--ready-file", str(ready)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                while not ready.exists():
                    assert process.poll() is None
                    time.sleep(0.1)
                base_url = json.loads(ready.read_text())["base_url"]
                victim = account(data_dir, "honest")
                with httpx.Client(base_url=base_url, headers=victim, timeout=120, trust_env=False) as client:
                    told("alone", honest(client, 5))
                    for kind, file in ATTACKS.items():
                        stop, answers = threading.Event(), Counter[int]()
                        hostile = [account(data_dir, f"hostile {number}") for number in range(given.accounts)]
                        senders = [
                            threading.Thread(target=attack, args=(base_url, headers, file, stop, answers))
                            for headers, _ in zip(itertools.cycle(hostile), range(given.senders), strict=False)
                        ]
                        for sender in senders:
                            sender.start()
                        time.sleep(1)
                        told(f"during {kind}", honest(client, given.seconds))
                        stop.set()
                        for sender in senders:
                            sender.join()
                        print(f"  answers to the attack: {dict(answers)}", flush=True)
            finally:
                process.terminate()


if __name__ == "__main__":
    main()
