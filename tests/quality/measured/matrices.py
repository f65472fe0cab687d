"""Alltoallv with fixed matrices, as mixtures of experts have them."""

from __future__ import annotations

import random
import time
from typing import Any

from syccl.collective import Matrix
from syccl.pipeline import Options
from syccl.unequal import synthesize_matrix
from tests.quality.measured.engine import figures, load_libraries
from tests.quality.measured.named import topology_named

MATRICES = ("skewed", "hot", "even")
_KIB = 1024


def matrix_of(kind: str, ranks: int, block_bytes: int) -> Matrix:
    """A matrix of about ``block_bytes`` an entry.

    Parameters
    ----------
    kind
        ``skewed``: entries of all sizes, rank 1 sends nothing, rank 2 receives nothing from others; ``hot``: a few
        receivers get eight times as much; ``even``: alltoall.
    """
    rng = random.Random(7)
    rows = [[block_bytes] * ranks for _ in range(ranks)]
    if kind == "hot":
        heavy = rng.sample(range(ranks), max(1, ranks // 8))
        rows = [[block_bytes * (8 if to in heavy else 1) for to in range(ranks)] for _ in range(ranks)]
    if kind == "skewed":
        rows = [[_entry(rng, block_bytes) for _ in range(ranks)] for _ in range(ranks)]
        rows[1] = [0] * ranks
        for row in rows:
            row[2] = 0
    return Matrix(tuple(map(tuple, rows)))


def _entry(rng: random.Random, block_bytes: int) -> int:
    """A whole number of KiB, mostly small, some large; its mean is about ``block_bytes``."""
    return round(4 * block_bytes * rng.random() ** 3 / _KIB) * _KIB


def alltoallv(topology: str, matrix: str, block_bytes: int) -> dict[str, Any]:
    """Synthesize once, cold; return times in microseconds and CPU seconds."""
    load_libraries()
    graph = topology_named(topology)
    wanted = matrix_of(matrix, graph.ranks, block_bytes)
    began = time.process_time()
    made = synthesize_matrix(graph, wanted, Options(size_bytes=wanted.size_bytes))
    return {**figures(made), "cpu_s": time.process_time() - began}
