"""Palettes as coremltools makes them (optimize.coreml.palettize_weights, mode kmeans): k-means of a weight's values, for
the whole weight or for each group of output channels."""

import numpy as np

RESTARTS, ITERATIONS = 3, 100


def cluster(values, counts, entries, rng):
    """Lloyd's algorithm from k-means++ seeds, the best of several restarts; values are sorted and distinct."""
    values = values.astype(np.float64)
    if len(values) <= entries:
        return values
    best, least = None, np.inf
    for _ in range(RESTARTS):
        centers = np.array([rng.choice(values, p=counts / counts.sum())])
        while len(centers) < entries:
            distance = np.min((values[:, None] - centers) ** 2, 1) * counts
            centers = np.append(centers, rng.choice(values, p=distance / distance.sum()))
        centers.sort()
        for _ in range(ITERATIONS):
            nearest = np.searchsorted((centers[1:] + centers[:-1]) / 2, values)
            sums = np.bincount(nearest, values * counts, entries)
            sizes = np.bincount(nearest, counts, entries)
            moved = np.sort(np.where(sizes > 0, sums / np.maximum(sizes, 1), centers))
            if np.array_equal(moved, centers):
                break
            centers = moved
        nearest = np.searchsorted((centers[1:] + centers[:-1]) / 2, values)
        error = np.sum((values - centers[nearest]) ** 2 * counts)
        if error < least:
            best, least = centers, error
    return best


def palettized(weight, bits, group, rng):
    """The values that the palettes leave, and the bytes of indices and palettes."""
    result = np.empty_like(weight, np.float32)
    size = group or len(weight)
    for first in range(0, len(weight), size):
        part = weight[first:first + size].astype(np.float16)
        values, counts = np.unique(part, return_counts=True)
        centers = cluster(values, counts, 2 ** bits, rng)
        nearest = np.searchsorted((centers[1:] + centers[:-1]) / 2, part.astype(np.float64))
        result[first:first + size] = centers.astype(np.float16)[nearest]
    return result, weight.size * bits / 8 + len(weight) / size * 2 ** bits * 2
