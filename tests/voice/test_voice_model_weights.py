import shutil
from pathlib import Path

import numpy as np
import pytest

from vbdesk.resource_files import resource
from vbdesk.voice.denoise import denoise
from vbdesk.voice.errors import ModelUnavailable
from vbdesk.voice.level import active_rms
from vbdesk.voice.lstm import multiply, run_lstm
from vbdesk.voice.model_weights import load_weights, read_weights
from vbdesk.voice.recording import Recording
from vbdesk.voice.speaker_embedding import MEL_BANDS, embed_windows, mel_energies, mel_filters


@pytest.fixture
def models_folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(resource("models"), tmp_path / "models"))


@pytest.mark.parametrize("name", ["dtln", "ge2e"])
def test_shipped_weights_are_the_ones_described(name: str) -> None:
    weights = load_weights(name)
    assert all(array.dtype == np.float32 and np.isfinite(array).all() for array in weights.values())


def test_a_changed_model_is_rejected(models_folder: Path) -> None:
    content = bytearray((models_folder / "dtln.npz").read_bytes())
    content[1000] ^= 1
    (models_folder / "dtln.npz").write_bytes(content)
    with pytest.raises(ModelUnavailable, match="changed or damaged"):
        read_weights(models_folder, "dtln")


def test_a_missing_model_is_named(models_folder: Path) -> None:
    (models_folder / "ge2e.npz").unlink()
    with pytest.raises(ModelUnavailable, match="ge2e is missing"):
        read_weights(models_folder, "ge2e")
    with pytest.raises(ModelUnavailable, match="nobody is missing"):
        read_weights(models_folder, "nobody")


def test_a_recurrent_layer_follows_its_definition() -> None:
    generator = np.random.default_rng(0)
    units = 3
    weights = {
        "a_input": generator.standard_normal((5, 4 * units)).astype(np.float32),
        "a_recurrent": generator.standard_normal((units, 4 * units)).astype(np.float32),
        "a_bias": generator.standard_normal(4 * units).astype(np.float32),
    }
    inputs = generator.standard_normal((7, 2, 5)).astype(np.float32)
    hidden = cell = np.zeros((2, units))
    for step, state in zip(inputs, run_lstm(inputs, weights, "a"), strict=True):
        gates = step @ weights["a_input"] + hidden @ weights["a_recurrent"] + weights["a_bias"]
        enter, forget, candidate, leave = np.split(gates, 4, axis=1)
        cell = cell / (1 + np.exp(-forget)) + np.tanh(candidate) / (1 + np.exp(-enter))
        hidden = np.tanh(cell) / (1 + np.exp(-leave))
        assert np.abs(state - hidden).max() < 1e-5


def test_the_denoiser_removes_noise_and_keeps_speech(kathleen: Recording) -> None:
    clean = kathleen.samples[: 6 * 16_000] * np.float32(0.05 / active_rms(kathleen.samples))
    noise = 0.02 * np.random.default_rng(5).standard_normal(len(clean)).astype(np.float32)
    cleaned, untouched = denoise(np.stack([clean + noise, clean]))
    assert np.mean((cleaned - clean) ** 2) < 0.25 * np.mean(noise**2)
    assert np.corrcoef(untouched, clean)[0, 1] > 0.99


def test_windows_denoised_together_equal_windows_denoised_alone(kathleen: Recording) -> None:
    windows = kathleen.samples[: 4 * 16_000].reshape(4, 16_000)
    together = denoise(windows)
    for window, result in zip(windows, together, strict=True):
        assert np.abs(denoise(window[None])[0] - result).max() < 1e-5


def test_mel_filters_are_triangles_of_unit_area() -> None:
    filters = mel_filters()
    assert filters.shape == (201, MEL_BANDS)
    assert (filters.max(axis=0) > 0).all()
    wide = filters[:, MEL_BANDS // 2 :]
    assert wide.sum(axis=0) * 40 == pytest.approx(1, abs=0.1)  # bins are 40 Hz apart


def test_embeddings_are_unit_vectors_nearer_to_their_own_voice(kathleen: Recording, male: Recording) -> None:
    voices = []
    for recording in (kathleen, male):
        mel = mel_energies(recording.samples * np.float32(0.03 / active_rms(recording.samples)))
        voices.append(embed_windows(mel, np.arange(50, len(mel) - 160, 160)))
    woman, man = voices
    assert np.linalg.norm(woman, axis=1) == pytest.approx(1, abs=1e-5)
    assert (woman @ woman.T).mean() > (woman @ man.T).mean() + 0.1


def test_a_blockwise_product_equals_the_product() -> None:
    generator = np.random.default_rng(2)
    matrix = generator.standard_normal((20, 7)).astype(np.float32)
    for shape in ((0, 20), (3, 20), (700, 2, 20)):
        rows = generator.standard_normal(shape).astype(np.float32)
        assert multiply(rows, matrix) == pytest.approx(rows @ matrix, abs=1e-4)
