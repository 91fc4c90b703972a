// The parts that all floors share: matrices by rows, shares of threads, vectors, and rows that threads append.
//
// Memory is kept from one run to the next, results' memory included, so that no time goes into fresh pages.

#ifndef LACUNAR_FLOOR_HPP
#define LACUNAR_FLOOR_HPP

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "peer.h"

namespace floors {

constexpr int kMostThreads = 1024;

// A matrix by rows; of a transposed one, by columns.
struct Csr {
    int64_t rows, columns;
    const int32_t *pos, *crd;
    const double *vals;
};

inline Csr csr(const peer_tensor &tensor) {
    const peer_level &level = tensor.levels[1];
    return {tensor.dims[0], tensor.dims[1], level.pos, level.crd, tensor.vals};
}

// ---- vectors: of the width that the processor is compiled for, filled and added in plain C++ ----

template <int lanes>
struct Vector {
    typedef double Type __attribute__((vector_size(8 * lanes)));
    typedef double Unaligned __attribute__((vector_size(8 * lanes), aligned(8), may_alias));
    typedef int64_t Mask __attribute__((vector_size(8 * lanes)));

    static Type load(const double *from) { return *reinterpret_cast<const Unaligned *>(from); }
    static void store(double *to, Type values) { *reinterpret_cast<Unaligned *>(to) = values; }
};

#if defined(__AVX512F__)
constexpr int kLanes = 8;
#elif defined(__AVX__)
constexpr int kLanes = 4;
#else
constexpr int kLanes = 2;
#endif
using Widest = Vector<kLanes>;

inline double sum_of(Vector<2>::Type v) { return v[0] + v[1]; }

inline double sum_of(Vector<4>::Type v) {
    const Vector<2>::Type low = {v[0], v[1]}, high = {v[2], v[3]};
    return sum_of(low + high);
}

#if defined(__AVX512F__)
inline double sum_of(Vector<8>::Type v) { return _mm512_reduce_add_pd(v); }
#else
inline double sum_of(Vector<8>::Type v) {
    const Vector<4>::Type low = {v[0], v[1], v[2], v[3]}, high = {v[4], v[5], v[6], v[7]};
    return sum_of(low + high);
}
#endif

// Stores past the caches; `to` is a multiple of the vector's size.
inline void stream(double *to, Widest::Type values) {
#if defined(__AVX512F__)
    _mm512_stream_pd(to, values);
#elif defined(__AVX__)
    _mm256_stream_pd(to, values);
#elif defined(__SSE2__)
    _mm_stream_pd(to, values);
#else
    Widest::store(to, values);
#endif
}

// Makes what was streamed visible to other threads.
inline void end_of_stream() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

// ---- memory that is kept ----

template <typename T>
struct Kept {
    T *data = nullptr;
    int64_t room = 0;

    // Room for so many; what was there is lost.
    T *fresh(int64_t count) {
        if (count > room) {
            free(data);
            data = static_cast<T *>(allocate(sizeof(T) * static_cast<size_t>(count)));
            room = count;
        }
        return data;
    }

    // Room for so many, at least doubled; the first `used` stay.
    void grow(int64_t used, int64_t count) {
        if (count <= room) return;
        const int64_t larger = std::max(count, 2 * room);
        T *moved = static_cast<T *>(allocate(sizeof(T) * static_cast<size_t>(larger)));
        if (used) memcpy(moved, data, sizeof(T) * static_cast<size_t>(used));
        free(data);
        data = moved;
        room = larger;
    }
};

// ---- threads ----

struct Range {
    int64_t begin, end;
};

// The rows of a thread: those between shares of `weight`, an ascending function of the row that is 0 at the first.
template <typename Weight>
Range share(int64_t rows, int part, int parts, Weight weight) {
    auto bound = [&](int which) {
        const int64_t wanted = static_cast<int64_t>(static_cast<__int128>(weight(rows)) * which / parts);
        int64_t low = 0, high = rows;
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            if (weight(middle) < wanted) low = middle + 1;
            else high = middle;
        }
        return low;
    };
    return {bound(part), part + 1 == parts ? rows : bound(part + 1)};
}

// Runs `work` on each thread's rows; rows count for as much as entries.
template <typename Work>
void on_rows(const Csr &a, Work work) {
#pragma omp parallel
    {
        const auto weight = [&](int64_t row) { return a.pos[row] - a.pos[0] + row; };
        work(share(a.rows, omp_get_thread_num(), omp_get_num_threads(), weight));
    }
}

// ---- rows that are assembled ----

// The rows that one thread appends.
struct Writer {
    Kept<int32_t> crd;
    Kept<double> vals;
    int64_t used = 0;

    void reserve(int64_t more) {
        crd.grow(used, used + more);
        vals.grow(used, used + more);
    }
};

// A result of compressed rows, or of compressed columns.
struct Made {
    int64_t rows = 0;
    const int32_t *pos = nullptr, *crd = nullptr;
    const double *vals = nullptr;
    bool transposed = false;
};

inline Made made;

// Assembles rows: `work(range, writer, ends)` appends the rows of its range and stores in `ends[row + 1]` how much is used
// behind each. What several threads have appended is put together.
template <typename Weight, typename Work>
void assemble(int64_t rows, Weight weight, Work work) {
    static Writer writers[kMostThreads];
    static Kept<int32_t> kept_pos, kept_crd;
    static Kept<double> kept_vals;
    int32_t *pos = kept_pos.fresh(rows + 1);
    pos[0] = 0;
#pragma omp parallel
    {
        const int part = omp_get_thread_num(), parts = omp_get_num_threads();
        const Range range = share(rows, part, parts, weight);
        Writer &writer = writers[part];
        writer.used = 0;
        work(range, writer, pos);
#pragma omp barrier
        if (parts > 1) {
            int64_t before = 0, total = 0;
            for (int other = 0; other < parts; other++) {
                if (other == part) before = total;
                total += writers[other].used;
            }
#pragma omp single
            {
                kept_crd.fresh(total);
                kept_vals.fresh(total);
            }
            memcpy(kept_crd.data + before, writer.crd.data, sizeof(int32_t) * static_cast<size_t>(writer.used));
            memcpy(kept_vals.data + before, writer.vals.data, sizeof(double) * static_cast<size_t>(writer.used));
            for (int64_t row = range.begin; row < range.end; row++) pos[row + 1] += static_cast<int32_t>(before);
        }
    }
    const bool alone = omp_get_max_threads() == 1;
    made = {rows, pos, alone ? writers[0].crd.data : kept_crd.data, alone ? writers[0].vals.data : kept_vals.data, false};
}

}  // namespace floors

#endif
