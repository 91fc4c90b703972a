// y = A x, A by rows.
//
//   one         a sum for each row, an entry at a time
//   four        four sums for each row
//   gather      vectors of x gathered, two sums, the rest of a row under a mask
//   gather-256  vectors of four gathered, four sums, the rest an entry at a time
//   inserts     vectors of four filled by loads and inserts, four sums, the rest an entry at a time
//   inserts-512 vectors of eight filled so, two sums, the rest under a mask
//   inserts-pairs   pairs of vectors of four filled so, while more entries than a pair are left; the last pair loaded whole, summed under masks
//   rows        eight rows at a time: a vector gathered of each, and their eight sums formed together
//   flat        no loop over a row: each step takes up to a vector of the row at hand and moves to the next row by arithmetic,
//               so that no branch depends on where rows end; x is gathered
//   flat-2      the same on two parts of the rows in turns, so that one's waiting is the other's work; flat-4 on four
//   flat-late, flat-late-2   the same on one and two parts, a row's vector put aside; the sums of eight rows formed together
//   flat-inserts, flat-inserts-2   the same as flat and flat-2 with vectors filled by loads and inserts

#ifndef LACUNAR_FLOOR_SPMV_HPP
#define LACUNAR_FLOOR_SPMV_HPP

#include "floor.hpp"

namespace floors::spmv {

inline Csr a;
inline const double *x;
inline double *y;

inline void one(Range rows) {
    for (int64_t row = rows.begin; row < rows.end; row++) {
        double sum = 0;
        for (int64_t p = a.pos[row]; p < a.pos[row + 1]; p++) sum += a.vals[p] * x[a.crd[p]];
        y[row] = sum;
    }
}

inline void four(Range rows) {
    for (int64_t row = rows.begin; row < rows.end; row++) {
        double sums[4] = {0, 0, 0, 0};
        int64_t p = a.pos[row];
        const int64_t end = a.pos[row + 1];
        for (; p + 4 <= end; p += 4)
            for (int k = 0; k < 4; k++) sums[k] += a.vals[p + k] * x[a.crd[p + k]];
        for (; p < end; p++) sums[0] += a.vals[p] * x[a.crd[p]];
        y[row] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
}

// A vector of x, by loads and inserts.
template <int lanes>
inline typename Vector<lanes>::Type filled(const int32_t *crd) {
    if constexpr (lanes == 8)
        return typename Vector<8>::Type{x[crd[0]], x[crd[1]], x[crd[2]], x[crd[3]],
                                        x[crd[4]], x[crd[5]], x[crd[6]], x[crd[7]]};
    else return typename Vector<4>::Type{x[crd[0]], x[crd[1]], x[crd[2]], x[crd[3]]};
}

inline void inserts(Range rows) {
    using V = Vector<4>;
    for (int64_t row = rows.begin; row < rows.end; row++) {
        V::Type sums[4] = {};
        double rest = 0;
        int64_t p = a.pos[row];
        const int64_t end = a.pos[row + 1];
        for (; p + 16 <= end; p += 16)
            for (int k = 0; k < 4; k++) sums[k] += V::load(a.vals + p + 4 * k) * filled<4>(a.crd + p + 4 * k);
        for (; p + 4 <= end; p += 4) sums[0] += V::load(a.vals + p) * filled<4>(a.crd + p);
        for (; p < end; p++) rest += a.vals[p] * x[a.crd[p]];
        y[row] = sum_of((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest;
    }
}

// The lanes before `left`.
template <int lanes>
inline typename Vector<lanes>::Mask before(int64_t left) {
    if constexpr (lanes == 8) return typename Vector<8>::Mask{0, 1, 2, 3, 4, 5, 6, 7} < left;
    else return typename Vector<4>::Mask{0, 1, 2, 3} < left;
}

// The rows up to the last one behind which a vector of entries may still be read.
template <int lanes>
inline int64_t safe_end(Range rows) {
    int64_t end = rows.end;
    while (end > rows.begin && a.pos[end] + lanes > a.pos[a.rows]) end--;
    return end;
}

template <int lanes>
inline void inserts_wide(Range rows) {
    using V = Vector<lanes>;
    const int64_t safe = safe_end<lanes>(rows);
    for (int64_t row = rows.begin; row < safe; row++) {
        typename V::Type sums[2] = {};
        int64_t p = a.pos[row];
        const int64_t end = a.pos[row + 1];
        for (; p + 2 * lanes <= end; p += 2 * lanes)
            for (int k = 0; k < 2; k++)
                sums[k] += V::load(a.vals + p + lanes * k) * filled<lanes>(a.crd + p + lanes * k);
        for (; p < end; p += lanes) {
            const typename V::Type product = V::load(a.vals + p) * filled<lanes>(a.crd + p);
            sums[0] += before<lanes>(end - p) ? product : typename V::Type{};
        }
        y[row] = sum_of(sums[0] + sums[1]);
    }
    one({safe, rows.end});
}

inline void inserts_pairs(Range rows) {
    using V = Vector<4>;
    const int64_t safe = safe_end<8>(rows);
    for (int64_t row = rows.begin; row < safe; row++) {
        V::Type sums[2] = {};
        int64_t p = a.pos[row];
        const int64_t end = a.pos[row + 1];
        for (; p + 8 < end; p += 8)
            for (int k = 0; k < 2; k++) sums[k] += V::load(a.vals + p + 4 * k) * filled<4>(a.crd + p + 4 * k);
        for (int k = 0; k < 2; k++) {
            const V::Type product = V::load(a.vals + p + 4 * k) * filled<4>(a.crd + p + 4 * k);
            sums[k] += before<4>(end - p - 4 * k) ? product : V::Type{};
        }
        y[row] = sum_of(sums[0] + sums[1]);
    }
    one({safe, rows.end});
}

// Rows as one run of steps. Each step takes up to a vector of entries of the row at hand, and stores the row's sum so far, or
// the vector of its sums where `aside` is a place for the rows' vectors.
template <int lanes, bool gathered, bool late = false>
struct Stream {
    using V = Vector<lanes>;
    int64_t row, last, p, end;
    typename V::Type sum;
    double *aside;

    explicit Stream(Range rows, double *aside = nullptr)
        : row(rows.begin), last(rows.end), p(a.pos[row]), end(a.pos[std::min(row + 1, a.rows)]), sum{}, aside(aside) {}

    bool on() const { return row < last; }

    __attribute__((always_inline)) void step() {
        const int64_t left = end - p;
#if defined(__AVX512F__) && defined(__AVX512VL__)
        if constexpr (gathered && lanes == 8) {
            const __mmask8 mask = static_cast<__mmask8>(_bzhi_u32(0xff, static_cast<unsigned>(std::min<int64_t>(left, 8))));
            const __m256i places = _mm256_maskz_loadu_epi32(mask, a.crd + p);
            const __m512d others = _mm512_mask_i32gather_pd(_mm512_setzero_pd(), mask, places, x, 8);
            sum = _mm512_fmadd_pd(_mm512_maskz_loadu_pd(mask, a.vals + p), others, sum);
        } else
#endif
        {
            const typename V::Type product = V::load(a.vals + p) * filled<lanes>(a.crd + p);
            sum += before<lanes>(left) ? product : typename V::Type{};
        }
        const int64_t done = left <= lanes;
        if constexpr (late) {
            V::store(aside, sum);
            aside += lanes * done;
        } else {
            y[row] = sum_of(sum);
        }
        // All ones where the row goes on.
        const typename V::Mask goes_on = typename V::Mask{} + (done - 1);
        sum = reinterpret_cast<typename V::Type>(reinterpret_cast<typename V::Mask>(sum) & goes_on);
        p = std::min(p + lanes, end);
        row += done;
        end = a.pos[std::min(row + 1, a.rows)];
    }
};

template <int streams, int lanes, bool gathered>
inline void flat(Range rows) {
    const int64_t safe = safe_end<lanes>(rows);
    const Csr part = {safe - rows.begin, a.columns, a.pos + rows.begin, a.crd, a.vals};
    const auto weight = [&](int64_t row) { return part.pos[row] - part.pos[0] + 4 * row; };
    auto of = [&](int which) {
        const Range range = share(part.rows, which, streams, weight);
        return Stream<lanes, gathered>({rows.begin + range.begin, rows.begin + range.end});
    };
    if constexpr (streams == 1) {
        for (auto s = of(0); s.on();) s.step();
    } else if constexpr (streams == 2) {
        auto s = of(0), t = of(1);
        while (s.on() && t.on()) {
            s.step();
            t.step();
        }
        for (auto *rest : {&s, &t})
            while (rest->on()) rest->step();
    } else {
        auto s = of(0), t = of(1), u = of(2), v = of(3);
        while (s.on() && t.on() && u.on() && v.on()) {
            s.step();
            t.step();
            u.step();
            v.step();
        }
        for (auto *rest : {&s, &t, &u, &v})
            while (rest->on()) rest->step();
    }
    one({safe, rows.end});
}

#if defined(__AVX2__)
inline void gather_256(Range rows) {
    for (int64_t row = rows.begin; row < rows.end; row++) {
        __m256d sums[4] = {_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd()};
        double rest = 0;
        int64_t p = a.pos[row];
        const int64_t end = a.pos[row + 1];
        const auto part = [&](__m256d sum, int64_t at) {
            const __m128i places = _mm_loadu_si128(reinterpret_cast<const __m128i *>(a.crd + at));
            return sum + _mm256_loadu_pd(a.vals + at) * _mm256_i32gather_pd(x, places, 8);
        };
        for (; p + 16 <= end; p += 16)
            for (int k = 0; k < 4; k++) sums[k] = part(sums[k], p + 4 * k);
        for (; p + 4 <= end; p += 4) sums[0] = part(sums[0], p);
        for (; p < end; p++) rest += a.vals[p] * x[a.crd[p]];
        y[row] = sum_of((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest;
    }
}
#endif

#if defined(__AVX512F__) && defined(__AVX512VL__)
// The entries from `p` on, as far as the mask says, added to `sum`.
inline __m512d gathered(__m512d sum, int64_t p, __mmask8 mask) {
    const __m256i places = _mm256_maskz_loadu_epi32(mask, a.crd + p);
    const __m512d others = _mm512_mask_i32gather_pd(_mm512_setzero_pd(), mask, places, x, 8);
    return _mm512_fmadd_pd(_mm512_maskz_loadu_pd(mask, a.vals + p), others, sum);
}

inline __mmask8 first(int64_t left) {
    return static_cast<__mmask8>(_bzhi_u32(0xff, static_cast<unsigned>(std::min<int64_t>(left, 8))));
}

inline void gather(Range rows) {
    for (int64_t row = rows.begin; row < rows.end; row++) {
        __m512d sums[2] = {_mm512_setzero_pd(), _mm512_setzero_pd()};
        int64_t p = a.pos[row];
        const int64_t end = a.pos[row + 1];
        for (; p + 16 <= end; p += 16) {
            sums[0] = gathered(sums[0], p, 0xff);
            sums[1] = gathered(sums[1], p + 8, 0xff);
        }
        for (; p < end; p += 8) sums[0] = gathered(sums[0], p, first(end - p));
        y[row] = sum_of(sums[0] + sums[1]);
    }
}

// The eight sums of eight vectors.
inline __m512d sums_of_eight(const __m512d *v) {
    __m512d two[4];
    for (int k = 0; k < 4; k++) two[k] = _mm512_unpacklo_pd(v[2 * k], v[2 * k + 1]) + _mm512_unpackhi_pd(v[2 * k], v[2 * k + 1]);
    __m512d four[2];
    for (int k = 0; k < 2; k++) {
        // Of two[2k] and two[2k+1], the 128-bit parts: their even ones and their odd ones.
        four[k] = _mm512_shuffle_f64x2(two[2 * k], two[2 * k + 1], 0x88) + _mm512_shuffle_f64x2(two[2 * k], two[2 * k + 1], 0xdd);
    }
    return _mm512_shuffle_f64x2(four[0], four[1], 0x88) + _mm512_shuffle_f64x2(four[0], four[1], 0xdd);
}

inline void rows_of_eight(Range rows) {
    int64_t row = rows.begin;
    for (; row + 8 <= rows.end; row += 8) {
        __m512d sums[8];
        int64_t longest = 0;
        for (int k = 0; k < 8; k++) {
            const int64_t p = a.pos[row + k], left = a.pos[row + k + 1] - p;
            sums[k] = gathered(_mm512_setzero_pd(), p, first(left));
            longest = std::max(longest, left);
        }
        if (longest > 8)
            for (int k = 0; k < 8; k++) {
                const int64_t end = a.pos[row + k + 1];
                for (int64_t p = a.pos[row + k] + 8; p < end; p += 8) sums[k] = gathered(sums[k], p, first(end - p));
            }
        _mm512_storeu_pd(y + row, sums_of_eight(sums));
    }
    one({row, rows.end});
}

// The vectors of 64 rows are put aside by one stream or by two, half of the rows each.
template <int streams>
inline void flat_late(Range rows) {
    constexpr int block = 64, part = block / streams;
    alignas(64) double aside[block * 8];
    using Late = Stream<8, true, true>;
    int64_t row = rows.begin;
    for (; row + block <= rows.end; row += block) {
        Late first({row, row + part}, aside);
        if constexpr (streams == 2) {
            Late second({row + part, row + block}, aside + part * 8);
            while (first.on() && second.on()) {
                first.step();
                second.step();
            }
            while (second.on()) second.step();
        }
        while (first.on()) first.step();
        for (int k = 0; k < block; k += 8) {
            __m512d sums[8];
            for (int other = 0; other < 8; other++) sums[other] = _mm512_load_pd(aside + (k + other) * 8);
            _mm512_storeu_pd(y + row + k, sums_of_eight(sums));
        }
    }
    one({row, rows.end});
}
#endif

}  // namespace floors::spmv

#endif
