"""Kernels of SciPy, on tensors given as `peer.h` says, in the words of that file.

    spmv       y = A x            spmm   C = A B, B and C dense by rows     spgemm     C = A A
    add, add3  A + B, A + B + C   sddmm  A .* (D E') at A's places          triangles  the sum of (L L) .* L
    csr-csc    A by columns       coo-csr, csr-bcsr, csr-dia   A by rows, of a list; in blocks; along diagonals

and of indices that are no variables:

    convolution   of an image with 3 x 3 numbers: shifted copies, added up; `:dense` on an array, by ndimage
    taps          the same of rows, with 3 numbers            difference   of the rows before and behind
    kronecker, stack, blocks, reshape   kron, vstack, bmat, reshape
    gather        x[p]      scatter, histogram   bincount

SciPy runs these on one thread, however many there are.
"""

import functools
import struct
import sys
import time

import numpy as np
import scipy.ndimage
import scipy.sparse as sp
import scipy.sparse.csgraph

FACTORS = np.array([1, 31, 577, 97, 211, 401, 13, 7], dtype=np.int64)
# Kinds of levels.
DENSE, COMPRESSED, SINGLETON = range(3)
# Entries that are weighed at once, so that checks take little memory.
CHUNK = 1 << 22


class Tensors:
    """Reads a file of tensors: `inputs` are the operands, `blocks` the sizes of the result's blocks if it has any."""

    def __init__(self, path):
        with open(path, "rb") as file:
            assert file.read(8) == b"LACUNAR3", "this is no file of tensors"
            self.file = file
            count = self.number()
            self.blocks = self.result()
            self.inputs = [self.operand() for _ in range(count - 1)]

    def number(self):
        return struct.unpack("=Q", self.file.read(8))[0]

    def array(self, dtype):
        return np.fromfile(self.file, dtype=dtype, count=self.number())

    def shape(self):
        """The sizes of a tensor, and of each level its kind, its dimension, its block and its arrays."""
        sizes = [self.number() for _ in range(self.number())]
        return sizes, [self.level() for _ in range(self.number())]

    def level(self):
        kind, dimension, block = (self.number() for _ in range(3))
        pos = self.array(np.int32) if kind == COMPRESSED else None
        crd = self.array(np.int32) if kind != DENSE else None
        return kind, dimension, block, pos, crd

    def result(self):
        _, levels = self.shape()
        self.number()
        sizes = [block for _, _, block, _, _ in levels if block]
        return sizes[: len(sizes) // 2]

    def operand(self):
        sizes, levels = self.shape()
        values = self.array(np.float64)
        kinds = [kind for kind, *_ in levels]
        if kinds == [COMPRESSED]:
            return levels[0][4], values
        if all(kind == DENSE for kind in kinds):
            return values.reshape(sizes)
        assert [dimension for _, dimension, *_ in levels] == [0, 1], "not a matrix by rows"
        pos, crd = levels[1][3:]
        if kinds == [COMPRESSED, SINGLETON]:
            listed = sp.coo_array((values, (levels[0][4], crd)), shape=sizes)
            listed.has_canonical_format = True
            return listed
        assert kinds == [DENSE, COMPRESSED], "neither a list nor compressed rows"
        matrix = sp.csr_array((values, crd, pos), shape=sizes)
        matrix.has_sorted_indices = True
        matrix.has_canonical_format = True
        return matrix


def sampled(a, d, e):
    """The product of two dense matrices at the places of a sparse one, in parts that stay small."""
    rows = np.repeat(np.arange(a.shape[0], dtype=np.int32), np.diff(a.indptr))
    values = np.empty_like(a.data)
    for start in range(0, len(values), CHUNK // d.shape[1]):
        part = slice(start, start + CHUNK // d.shape[1])
        values[part] = a.data[part] * np.einsum("pk,pk->p", d[rows[part]], e[a.indices[part]])
    return sp.csr_array((values, a.indices, a.indptr), shape=a.shape)


def moved(a, rows, columns):
    """A matrix whose entry (i, j) is that of `a` at (i + rows, j + columns), and 0 beyond."""
    height, width = a.shape
    part = a[max(rows, 0) : height + min(rows, 0), max(columns, 0) : width + min(columns, 0)].tocoo()
    places = part.row + max(-rows, 0), part.col + max(-columns, 0)
    return sp.coo_array((part.data, places), shape=a.shape).tocsr()


def convolved(a, w):
    shifts = [(k, l) for k in range(w.shape[0]) for l in range(w.shape[1])]
    middle = w.shape[0] // 2, w.shape[1] // 2
    return sum((w[k, l] * moved(a, k - middle[0], l - middle[1]) for k, l in shifts[1:]), w[0, 0] * moved(a, -middle[0], -middle[1]))


def components(a):
    """The least node of each node's component."""
    _, labels = scipy.sparse.csgraph.connected_components(a, directed=False)
    first = np.full(labels.max() + 1, len(labels))
    np.minimum.at(first, labels, np.arange(len(labels)))
    return first[labels]


def with_sorted_rows(a):
    a.sort_indices()
    return a


KERNELS = {
    "convolution": convolved,
    "convolution:dense": lambda a, w: scipy.ndimage.correlate(a, w, mode="constant"),
    "taps": lambda a, w: w[0] * moved(a, 0, -1) + w[1] * a + w[2] * moved(a, 0, 1),
    "difference": lambda a: moved(a, 1, 0) - moved(a, -1, 0),
    "kronecker": lambda a, b: sp.kron(a, b, format="csr"),
    "stack": lambda a, b: sp.vstack([a, b], format="csr"),
    "blocks": lambda a, b: sp.block_array([[a, b], [b, a]], format="csr"),
    "reshape": lambda a: a.reshape(-1),
    "gather": lambda p, x: x[p],
    "scatter": lambda p, x: np.bincount(p, x, 10_000_000),
    "histogram": lambda p, x: np.bincount(p, x, 1000),
    "components": components,
    "spmv": lambda a, x: a @ x,
    "spmm": lambda a, b: a @ b,
    "spgemm": lambda a: a @ a,
    "spgemm:sorted": lambda a: with_sorted_rows(a @ a),
    "add": lambda a, b: a + b,
    "add3": lambda a, b, c: a + b + c,
    "csr-csc": lambda a: a.tocsc(),
    "coo-csr": lambda a: a.tocsr(),
    "csr-bcsr": lambda a, blocks: a.tobsr(blocks),
    "csr-dia": lambda a: a.todia(),
    "triangles": lambda low: np.float64((low @ low).multiply(low).sum()),
    "sddmm": sampled,
}


def weighed(values, *coordinates):
    """The number of values, their sum, the sum of their magnitudes, and the sum weighted by coordinates."""
    total = np.zeros(3)
    for start in range(0, len(values), CHUNK):
        part = slice(start, start + CHUNK)
        place = np.zeros(len(values[part]), dtype=np.int64)
        for factor, coordinate in zip(FACTORS, coordinates):
            place += (coordinate[part].astype(np.int64) + 1) * factor
        some = values[part]
        total += some.sum(), np.abs(some).sum(), (some * (place % 1009) / 1009).sum()
    return len(values), *total


def described(result):
    if sp.issparse(result):
        listed = result.tocoo(copy=False)
        return weighed(listed.data, *listed.coords)
    result = np.asarray(result)
    return weighed(result.ravel(), *(place.ravel() for place in np.indices(result.shape, dtype=np.int32)))


def main():
    path, kernel = sys.argv[1:]
    tensors = Tensors(path)
    compute, inputs = KERNELS[kernel], tensors.inputs
    if kernel == "convolution:dense":
        inputs[0] = inputs[0].toarray()
    if kernel in ("gather", "scatter", "histogram"):
        inputs = sorted(inputs, key=lambda one: one.max() <= 1)
        inputs[0] = inputs[0].astype(np.int64)
    if tensors.blocks:
        compute = functools.partial(compute, blocks=tuple(tensors.blocks))
    print("ready 0", flush=True)
    for line in sys.stdin:
        request, *count = line.split()
        if request == "run":
            times = []
            for _ in range(int(count[0])):
                start = time.perf_counter()
                result = compute(*inputs)
                times.append(1e3 * (time.perf_counter() - start))
                del result
            print(*times, flush=True)
        else:
            print(*described(compute(*inputs)), flush=True)


main()
