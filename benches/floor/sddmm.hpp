// C(i,j) = A(i,j) * D(i,k) * E(j,k), k of 32 places; C has the places of A.
//
//   dots      each product of rows by itself; the row of D in registers
//   eights    the sums of eight products formed together (AVX-512); prefetch-8, the same, the row of E eight entries ahead
//             prefetched

#ifndef LACUNAR_FLOOR_SDDMM_HPP
#define LACUNAR_FLOOR_SDDMM_HPP

#include "floor.hpp"
#include "spmv.hpp"

namespace floors::sddmm {

constexpr int kWidth = 32;
constexpr int kVectors = kWidth / kLanes;
using V = Widest::Type;

inline Csr a;
inline const double *d, *e;

inline V product(const V *row, const double *other) {
    V sum = row[0] * Widest::load(other);
#pragma GCC unroll 16
    for (int k = 1; k < kVectors; k++) sum += row[k] * Widest::load(other + k * kLanes);
    return sum;
}

template <int ahead, bool eights>
inline void rows_of(Range rows, Writer &writer, int32_t *ends) {
    const int64_t first = a.pos[rows.begin], count = a.pos[rows.end] - first, last = a.pos[a.rows] - 1;
    writer.reserve(count);
    if (count) memcpy(writer.crd.data, a.crd + first, sizeof(int32_t) * static_cast<size_t>(count));
    double *vals = writer.vals.data - first;
    for (int64_t row = rows.begin; row < rows.end; row++) {
        V left[kVectors];
        for (int k = 0; k < kVectors; k++) left[k] = Widest::load(d + row * kWidth + k * kLanes);
        int64_t p = a.pos[row];
        const int64_t end = a.pos[row + 1];
#if defined(__AVX512F__) && defined(__AVX512VL__)
        for (; eights && p + 8 <= end; p += 8) {
            __m512d sums[8];
            for (int k = 0; k < 8; k++) {
                if constexpr (ahead > 0) {
                    const double *next = e + a.crd[std::min<int64_t>(p + k + ahead, last)] * static_cast<int64_t>(kWidth);
                    for (int line = 0; line < kWidth; line += 8) __builtin_prefetch(next + line);
                }
                sums[k] = product(left, e + a.crd[p + k] * static_cast<int64_t>(kWidth));
            }
            _mm512_storeu_pd(vals + p, _mm512_loadu_pd(a.vals + p) * spmv::sums_of_eight(sums));
        }
#endif
        for (; p < end; p++) vals[p] = a.vals[p] * sum_of(product(left, e + a.crd[p] * static_cast<int64_t>(kWidth)));
        ends[row + 1] = static_cast<int32_t>(end - first);
    }
    writer.used = count;
}

template <int ahead, bool eights>
inline void compute() {
    const auto weight = [](int64_t row) { return a.pos[row] + row; };
    assemble(a.rows, weight, rows_of<ahead, eights>);
}

}  // namespace floors::sddmm

#endif
