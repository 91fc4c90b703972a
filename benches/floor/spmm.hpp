// C = A B, A by rows, B and C dense by rows, of a number of columns that is a multiple of 32.
//
// All keep a tile of a row of C in registers while they walk through the row of A, and store it once.
//
//   registers    tiles of 32 columns
//   pairs        two rows of B at a time, with sums of their own
//   wide         tiles of 128 columns (32 without AVX-512)
//   prefetch-4, prefetch-8, prefetch-16   tiles of 32 columns; the row of B so many entries ahead is prefetched
//   wide-prefetch                         the same with tiles of 128 columns, 4 entries ahead
//   stream       as prefetch-8, C stored past the caches
//   outer        as prefetch-8, all of A for the first 32 columns, then for the next 32, so that less of B is walked at a time

#ifndef LACUNAR_FLOOR_SPMM_HPP
#define LACUNAR_FLOOR_SPMM_HPP

#include "floor.hpp"

namespace floors::spmm {

inline Csr a;
inline const double *b;
inline double *c;
inline int64_t columns;

struct Options {
    int tile, ahead;
    bool pairs, streamed, outer;
};

// The tile from `column` on of a row.
template <Options options>
inline void one_tile(int64_t row, int64_t column) {
    constexpr int vectors = options.tile / kLanes;
    using V = Widest::Type;
    V sums[vectors] = {}, others[options.pairs ? vectors : 1] = {};
    const int64_t begin = a.pos[row], end = a.pos[row + 1], last = a.pos[a.rows] - 1;
    const double *from = b + column;
    int64_t p = begin;
    if constexpr (options.pairs) {
        for (; p + 2 <= end; p += 2) {
            const double *first = from + a.crd[p] * columns, *second = from + a.crd[p + 1] * columns;
            const V u = V{} + a.vals[p], v = V{} + a.vals[p + 1];
#pragma GCC unroll 32
            for (int k = 0; k < vectors; k++) {
                sums[k] += u * Widest::load(first + k * kLanes);
                others[k] += v * Widest::load(second + k * kLanes);
            }
        }
    }
    for (; p < end; p++) {
        const double *first = from + a.crd[p] * columns;
        if constexpr (options.ahead > 0) {
            const double *next = from + a.crd[std::min<int64_t>(p + options.ahead, last)] * columns;
#pragma GCC unroll 16
            for (int k = 0; k < options.tile; k += 8) __builtin_prefetch(next + k);
        }
        const V u = V{} + a.vals[p];
#pragma GCC unroll 32
        for (int k = 0; k < vectors; k++) sums[k] += u * Widest::load(first + k * kLanes);
    }
    double *to = c + row * columns + column;
#pragma GCC unroll 32
    for (int k = 0; k < vectors; k++) {
        V sum = sums[k];
        if constexpr (options.pairs) sum += others[k];
        if constexpr (options.streamed) stream(to + k * kLanes, sum);
        else Widest::store(to + k * kLanes, sum);
    }
}

template <Options options>
inline void all(Range rows) {
    if constexpr (options.outer) {
        for (int64_t column = 0; column < columns; column += options.tile)
            for (int64_t row = rows.begin; row < rows.end; row++) one_tile<options>(row, column);
    } else {
        for (int64_t row = rows.begin; row < rows.end; row++)
            for (int64_t column = 0; column < columns; column += options.tile) one_tile<options>(row, column);
    }
    if constexpr (options.streamed) end_of_stream();
}

// As many columns as registers hold with some to spare.
constexpr int kWide = kLanes == 8 ? 128 : 32;

}  // namespace floors::spmm

#endif
