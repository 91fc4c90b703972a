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


def skew(n):
    """A skew matrix, of the elements above its diagonal."""
    whole = np.zeros((n, n))
    whole[np.triu_indices(n, 1)] = values(n * (n - 1) // 2)
    return whole - whole.T


def tables(n, parts):
    """A table, and the three that its keys name the rows of; each with the keys."""
    made = [(values(n * parts[0]).reshape(n, parts[0]), None)]
    for rows, columns in zip((5000, 500, 100), parts[1:]):
        made.append((values(rows * columns).reshape(rows, columns), 31 * np.arange(n) % rows))
    return made


def joined(made):
    """The join, stored by columns."""
    return np.vstack([(rows if keys is None else rows[keys]).T for rows, keys in made]).T


def squares(rows):
    """The covariance of all products of two columns, in blocks that caches hold."""
    total = 0
    for block in np.array_split(rows, max(len(rows) // 1000, 1)):
        products = (block[:, :, None] * block[:, None, :]).reshape(len(block), -1)
        total = total + products.T @ products
    return total.reshape((rows.shape[1],) * 4)


def of_joins(n, kernel):
    name, width = kernel.split("-")
    made = tables(n, (4, 3, 3, 3) if width == "13" else (3, 1, 1, 1))
    if name == "join":
        return lambda: joined(made), None
    rows, order = joined(made), 2 if name == "lr" else 4
    stored = coordinates(int(width), order)[0]
    return (lambda: rows.T @ rows) if name == "lr" else (lambda: squares(rows)), stored


def of_products(n, kernel):
    """Products with structures of matrices."""
    stored = None
    if kernel == "sym-sym":
        whole, other = symmetric(n, 2), symmetric(n, 2)
        run = lambda: whole @ other
    elif kernel == "sym-rows":
        whole, other = symmetric(n, 2), np.tile(values(n), (n, 1))
        run = lambda: whole * other
    elif kernel == "skew-cov":
        whole = skew(n)
        run, stored = lambda: whole.T @ whole, coordinates(n, 2)[0]
    elif kernel == "toeplitz":
        taps, vector = values(16), values(n)
        run = lambda: np.convolve(vector, taps)[:n]
    else:
        whole = np.zeros((n, n))
        elements = values(2 * n - 1)
        whole[0] = elements[:n]
        whole[np.arange(1, n), np.arange(n - 1)] = elements[n:]
        operand = values(n) if kernel == "leslie-mv" else values(n * n).reshape(n, n)
        run = lambda: whole @ operand
    return run, stored


def of_tensors(n, kernel):
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
    elif kernel in ("lra", "pr2a", "pr3a"):
        order = {"lra": 2, "pr2a": 4, "pr3a": 6}[kernel]
        whole, other = symmetric(n, order), symmetric(n, order)
        run, stored = lambda: whole + other, coordinates(n, order)[0]
    elif kernel == "pr2c":
        run, stored = lambda: np.einsum("i,j,k,l->ijkl", vector, vector, vector, vector), coordinates(n, 4)[0]
    elif kernel == "pr3c":
        run, stored = lambda: np.einsum("i,j,k,l,m,n->ijklmn", *[vector] * 6), coordinates(n, 6)[0]
    else:
        whole = np.zeros((n, n, n))
        if kernel == "ttm-half":
            _, places = coordinates(n, 3)
            whole[places] = values(len(places[0]))
        elif kernel == "thp-diagonal":
            whole[np.arange(n), np.arange(n), np.arange(n)] = vector
        elif kernel == "ttm-diagonal":
            whole[np.arange(n), np.arange(n)] = matrix
        elif kernel.endswith("fixed-ij"):
            whole[3, 3] = vector
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
    return run, stored


def main():
    n, kernel = int(sys.argv[1]), sys.argv[2]
    if kernel.endswith(("-13", "-6")):
        run, stored = of_joins(n, kernel)
    elif kernel.startswith(("sym-", "skew", "toeplitz", "leslie")):
        run, stored = of_products(n, kernel)
    else:
        run, stored = of_tensors(n, kernel)
    print("ready 0", flush=True)
    for line in sys.stdin:
        runs = int(line.split()[1])
        start = time.perf_counter()
        for _ in range(runs):
            result = run()
        elapsed = 1e3 * (time.perf_counter() - start) / runs
        print(elapsed, repr(float(result.sum() if stored is None else result[stored].sum())), flush=True)


main()
