"""NumPy over whole tensors, for kernels over packed ones: started and asked as structures.c is.

The sum that is answered is of the elements that the packed result stores. One thread, as the environment says.
"""

import itertools
import sys
import time

import numpy as np


def values(count):
    return (1 + np.arange(count) % 13) / 16.0


def coordinates(n, order):
    """All coordinates that do not descend, in lexicographic order."""
    grid = np.indices((n,) * order, dtype=np.int16)
    kept = np.logical_and.reduce([grid[k] <= grid[k + 1] for k in range(order - 1)])
    return kept, np.nonzero(kept)


def symmetric(n, order):
    """A whole tensor, of the unique elements in the order of storage."""
    _, places = coordinates(n, order)
    unique = values(len(places[0]))
    whole = np.zeros((n,) * order)
    for permutation in itertools.permutations(range(order)):
        whole[tuple(places[k] for k in permutation)] = unique
    return whole


def main():
    n, kernel = int(sys.argv[1]), sys.argv[2]
    vector, matrix = values(n), values(n * n).reshape(n, n)
    stored = None
    if kernel == "symmv":
        whole = symmetric(n, 2)
        run = lambda: np.einsum("ij,j->i", whole, vector, optimize=True)
    elif kernel == "trimv":
        whole = np.zeros((n, n))
        whole[np.tril_indices(n)] = values(n * (n + 1) // 2)
        run = lambda: np.einsum("ij,j->i", whole, vector, optimize=True)
    elif kernel == "cov":
        run, stored = lambda: np.einsum("ti,tj->ij", matrix, matrix, optimize=True), coordinates(n, 2)[0]
    elif kernel == "lrc":
        run, stored = lambda: np.einsum("i,j->ij", vector, vector), coordinates(n, 2)[0]
    elif kernel in ("lra", "pr2a"):
        order = 2 if kernel == "lra" else 4
        whole, other = symmetric(n, order), symmetric(n, order)
        run, stored = lambda: whole + other, coordinates(n, order)[0]
    elif kernel == "pr2c":
        run, stored = lambda: np.einsum("i,j,k,l->ijkl", vector, vector, vector, vector), coordinates(n, 4)[0]
    else:
        whole = np.zeros((n, n, n))
        if kernel == "ttm-half":
            _, places = coordinates(n, 3)
            whole[places] = values(len(places[0]))
        elif kernel == "thp-diagonal":
            whole[np.arange(n), np.arange(n), np.arange(n)] = vector
        elif kernel.endswith("fixed-i"):
            whole[3] = matrix
        else:
            whole[:, 3] = matrix
        if kernel.startswith("ttm"):
            run = lambda: np.einsum("ijk,kl->ijl", whole, matrix, optimize=True)
        elif kernel.startswith("thp"):
            cube = values(n**3).reshape(n, n, n)
            run = lambda: whole * cube
        else:
            run = lambda: np.einsum("ijk,jr,kr->ir", whole, matrix, matrix, optimize=True)
    print("ready 0", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        result = run()
        elapsed = 1e3 * (time.perf_counter() - start)
        print(elapsed, repr(float(result.sum() if stored is None else result[stored].sum())), flush=True)


main()
