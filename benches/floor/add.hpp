// C = A + B, all by rows with ascending columns.
//
//   merge       a branch for each of the three cases
//   branchless  the smaller column, and sums that take in what belongs there, by arithmetic; what is left of one is copied

#ifndef LACUNAR_FLOOR_ADD_HPP
#define LACUNAR_FLOOR_ADD_HPP

#include "floor.hpp"

namespace floors::add {

inline Csr a, b;

template <bool branchless>
inline void rows_of(Range rows, Writer &writer, int32_t *ends) {
    writer.reserve(a.pos[rows.end] - a.pos[rows.begin] + b.pos[rows.end] - b.pos[rows.begin]);
    int32_t *crd = writer.crd.data;
    double *vals = writer.vals.data;
    int64_t n = 0;
    for (int64_t row = rows.begin; row < rows.end; row++) {
        int64_t p = a.pos[row], q = b.pos[row];
        const int64_t a_end = a.pos[row + 1], b_end = b.pos[row + 1];
        while (p < a_end && q < b_end) {
            const int32_t j = a.crd[p], k = b.crd[q];
            if constexpr (branchless) {
                const bool of_a = j <= k, of_b = k <= j;
                const double u = a.vals[p], v = b.vals[q];
                crd[n] = of_a ? j : k;
                vals[n] = (of_a ? u : 0.0) + (of_b ? v : 0.0);
                p += of_a;
                q += of_b;
            } else if (j == k) {
                crd[n] = j;
                vals[n] = a.vals[p++] + b.vals[q++];
            } else if (j < k) {
                crd[n] = j;
                vals[n] = a.vals[p++];
            } else {
                crd[n] = k;
                vals[n] = b.vals[q++];
            }
            n++;
        }
        for (; p < a_end; p++, n++) crd[n] = a.crd[p], vals[n] = a.vals[p];
        for (; q < b_end; q++, n++) crd[n] = b.crd[q], vals[n] = b.vals[q];
        ends[row + 1] = static_cast<int32_t>(n);
    }
    writer.used = n;
}

template <bool branchless>
inline void compute() {
    const auto weight = [](int64_t row) { return a.pos[row] + b.pos[row] + row; };
    assemble(a.rows, weight, rows_of<branchless>);
}

}  // namespace floors::add

#endif
