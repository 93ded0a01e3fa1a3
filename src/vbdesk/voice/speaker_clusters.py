"""Cluster embedded windows by speaker.

Spectral clustering with the normalised maximum eigengap (Park et al., IEEE SPL 2020). A check for a single speaker runs
first, because the eigengap alone finds a second speaker in every tenth monologue.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vbdesk.voice.quality_rules import quality_rules

MAX_SPEAKERS = 5
NEIGHBOUR_SHARES = (0.05, 0.08, 0.12, 0.17, 0.23, 0.3)
MIN_HALF_SHARE = 0.04  # a smaller half is an outlier window, not a speaker
MIN_HALF_WINDOWS = 3
KMEANS_RUNS = 8
WINDOWS_OF_ONE = 2  # neighbouring windows overlap by half, so that two of them say as much as one
SEED = 20_200  # fixed, so that clustering is reproducible

Embeddings = NDArray[np.float32]
Labels = NDArray[np.int64]


def cluster_voices(embeddings: Embeddings) -> Labels:
    """Assign a speaker to every window.

    Args:
        embeddings: unit vectors, shape (windows, dimensions).

    Returns:
        Labels from 0, shape (windows,); all 0 for one speaker.
    """
    if is_one_voice(embeddings):
        return np.zeros(len(embeddings), np.int64)
    graph = _best_graph(embeddings.astype(np.float64))
    if graph.speakers == 1:  # the check found two speakers, and is more reliable
        return _split(embeddings, 2)
    return _merge_alike(embeddings, _split(graph.vectors[:, : graph.speakers], graph.speakers))


def is_one_voice(embeddings: Embeddings) -> bool:
    """Whether the two halves of a forced split are still similar."""
    return similarity_of_halves(embeddings) > quality_rules().speakers.one_voice_cosine


def similarity_of_halves(embeddings: Embeddings) -> float:
    """Cosine between the halves of a forced split; 1 if there are too few windows in all or in one half."""
    if len(embeddings) < 2 * MIN_HALF_WINDOWS:
        return 1.0
    labels = _split(embeddings, 2)
    sizes = np.bincount(labels, minlength=2)
    if sizes.min() < max(MIN_HALF_WINDOWS, MIN_HALF_SHARE * len(embeddings)):
        return 1.0
    return _most_alike(embeddings, labels)[0]


def _merge_alike(embeddings: Embeddings, labels: Labels) -> Labels:
    """Merge speakers as similar as the halves of a monologue, the most similar first, down to two.

    A speaker of a few windows is merged with the most similar one in any case: those windows are outliers.
    """
    fewest = max(MIN_HALF_WINDOWS, MIN_HALF_SHARE * len(embeddings))
    while labels.max() > 1:
        cosines = _cosines_of_voices(embeddings, labels)
        sizes = np.bincount(labels)
        smallest = int(sizes.argmin())
        if sizes[smallest] < fewest:
            kept, dropped = int((cosines + cosines.T)[smallest].argmax()), smallest
        else:
            kept, dropped = (int(index) for index in np.unravel_index(cosines.argmax(), cosines.shape))
            if cosines[kept, dropped] <= quality_rules().speakers.one_voice_cosine:
                break
        labels = np.where(labels == dropped, kept, labels)
        labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return labels


def _cosines_of_voices(embeddings: Embeddings, labels: Labels) -> NDArray[np.float64]:
    """Cosine of each pair of speakers, first < second, as it would be with endless speech; 0 elsewhere.

    The scatter of a few windows makes two parts of one voice look less alike. A centre of n independent unit vectors
    has the squared length s + (1 - s) / n, of which s is the voice's: Spearman's correction for attenuation.
    """
    count = int(labels.max()) + 1
    centres = np.stack([embeddings[labels == label].mean(axis=0) for label in range(count)]).astype(np.float64)
    independent = np.maximum(np.bincount(labels) / WINDOWS_OF_ONE, 1.5)
    length = np.square(centres).sum(axis=1)
    own = np.maximum((independent * length - 1) / (independent - 1), 0.25 * length)
    return np.triu(centres @ centres.T / np.sqrt(np.outer(own, own)), k=1)


def _most_alike(embeddings: Embeddings, labels: Labels) -> tuple[float, int, int]:
    """The highest cosine between the centres of two speakers, and the two labels."""
    centres = np.stack([embeddings[labels == label].mean(axis=0) for label in range(labels.max() + 1)])
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    cosines = np.triu(centres @ centres.T, k=1)
    first, second = np.unravel_index(cosines.argmax(), cosines.shape)
    return float(cosines[first, second]), int(first), int(second)


@dataclass(frozen=True, slots=True)
class _Graph:
    speakers: int
    vectors: NDArray[np.float64]  # eigenvectors of the Laplacian, smallest eigenvalue first
    ratio: float  # neighbours over eigengap; smaller is better


def _best_graph(embeddings: NDArray[np.float64]) -> _Graph:
    affinity = embeddings @ embeddings.T
    nearest = np.argsort(-affinity, axis=1)
    graphs = [
        _neighbour_graph(nearest, neighbours)
        for neighbours in sorted({max(2, int(share * len(embeddings))) for share in NEIGHBOUR_SHARES})
    ]
    return min(graphs, key=lambda graph: graph.ratio)


def _neighbour_graph(nearest: NDArray[np.int64], neighbours: int) -> _Graph:
    from scipy.linalg import eigh  # takes 0.1 s together with the k-means, which the start of the desk does not need

    count = len(nearest)
    adjacency = np.zeros((count, count))
    np.put_along_axis(adjacency, nearest[:, :neighbours], 1, axis=1)
    adjacency = (adjacency + adjacency.T) / 2
    degrees = adjacency.sum(axis=1)
    laplacian = np.diag(degrees) - adjacency
    wanted = min(MAX_SPEAKERS, count - 1)
    values, vectors = eigh(laplacian, subset_by_index=[0, wanted])
    (largest,) = eigh(laplacian, eigvals_only=True, subset_by_index=[count - 1, count - 1])
    gaps = np.diff(values)
    eigengap = gaps.max() / (largest + 1e-9)
    return _Graph(int(gaps.argmax()) + 1, vectors, neighbours / count / (eigengap + 1e-9))


def _split(points: NDArray[np.floating], parts: int) -> Labels:
    """The best of several k-means runs, shape (points,)."""
    from scipy.cluster.vq import kmeans2

    generator = np.random.default_rng(SEED)
    runs = [kmeans2(points.astype(np.float64), parts, minit="++", rng=generator) for _ in range(KMEANS_RUNS)]
    _, labels = min(runs, key=lambda run: float(np.square(points - run[0][run[1]]).sum()))
    return np.asarray(labels, np.int64)
