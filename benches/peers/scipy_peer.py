"""Kernels of SciPy, on tensors given as `peer.h` says, in the words of that file.

    spmv       y = A x            spmm   C = A B, B and C dense by rows     spgemm     C = A A
    add, add3  A + B, A + B + C   sddmm  A .* (D E') at A's places          triangles  the sum of (L L) .* L
    csr-csc    A by columns

SciPy runs these on one thread, however many there are.
"""

import struct
import sys
import time

import numpy as np
import scipy.sparse as sp

FACTORS = np.array([1, 31, 577, 97, 211, 401, 13, 7], dtype=np.int64)
# Entries that are weighed at once, so that checks take little memory.
CHUNK = 1 << 22


class Tensors:
    """Reads a file of tensors: `shapes[0]` and `mode_orders[0]` are the result's, `arrays[k]` an input."""

    def __init__(self, path):
        with open(path, "rb") as file:
            assert file.read(8) == b"LACUNAR2", "this is no file of tensors"
            self.file = file
            count = self.number()
            self.arrays = [self.tensor(is_result=k == 0) for k in range(count)]

    def number(self):
        return struct.unpack("=Q", self.file.read(8))[0]

    def array(self, dtype):
        return np.fromfile(self.file, dtype=dtype, count=self.number())

    def tensor(self, is_result):
        order = self.number()
        sizes = [self.number() for _ in range(order)]
        modes = [self.number() for _ in range(order)]
        levels = [(self.array(np.int32), self.array(np.int32)) if self.number() else None for _ in range(order)]
        if is_result:
            self.number()
            return None
        values = self.array(np.float64)
        if all(level is None for level in levels):
            return values.reshape(sizes)
        assert order == 2 and modes == [0, 1] and levels[0] is None, "not a matrix by rows"
        pos, crd = levels[1]
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


KERNELS = {
    "spmv": lambda a, x: a @ x,
    "spmm": lambda a, b: a @ b,
    "spgemm": lambda a: a @ a,
    "add": lambda a, b: a + b,
    "add3": lambda a, b, c: a + b + c,
    "csr-csc": lambda a: a.tocsc(),
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
        outer = np.repeat(np.arange(len(result.indptr) - 1, dtype=np.int32), np.diff(result.indptr))
        places = (outer, result.indices) if result.format == "csr" else (result.indices, outer)
        return weighed(result.data, *places)
    result = np.asarray(result)
    return weighed(result.ravel(), *(place.ravel() for place in np.indices(result.shape, dtype=np.int32)))


def main():
    path, kernel = sys.argv[1:]
    compute = KERNELS[kernel]
    inputs = Tensors(path).arrays[1:]
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
