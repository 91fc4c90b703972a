// A by columns, of A by rows.
//
//   counting      entries of each column counted, then each put in its place; threads count and place their own rows
//   bins          entries first go to bins of neighboring columns, through buffers of a few cache lines that are written out
//                 when they are full (write-combining: Schuhknecht, Khanchandani, Dittrich 2015), then each bin is put in order in the
//                 cache
//   bins-stream   the same, buffers written past the caches

#ifndef LACUNAR_FLOOR_TRANSPOSE_HPP
#define LACUNAR_FLOOR_TRANSPOSE_HPP

#include "floor.hpp"

namespace floors::transpose {

inline Csr a;
inline Kept<int32_t> pos, crd, counts, bin_counts, bin_columns, bin_rows;
inline Kept<double> vals, bin_vals;

// Exclusive sums over `groups` of what each of `parts` counted there: `count[part * groups + group]`, group by group.
inline void running_sums(int32_t *count, int64_t groups, int parts, int32_t *begins) {
    int32_t sum = 0;
    for (int64_t group = 0; group < groups; group++) {
        if (begins) begins[group] = sum;
        for (int part = 0; part < parts; part++) {
            const int32_t own = count[part * groups + group];
            count[part * groups + group] = sum;
            sum += own;
        }
    }
    if (begins) begins[groups] = sum;
}

inline Range entries_of(int part, int parts) {
    const auto weight = [](int64_t row) { return a.pos[row] - a.pos[0] + row; };
    return share(a.rows, part, parts, weight);
}

inline void counting() {
    const int64_t entries = a.pos[a.rows];
    const int most = omp_get_max_threads();
    pos.fresh(a.columns + 1);
    crd.fresh(entries);
    vals.fresh(entries);
    counts.fresh(most * a.columns);
#pragma omp parallel num_threads(most)
    {
        const int part = omp_get_thread_num();
        int32_t *own = counts.data + part * a.columns;
        memset(own, 0, sizeof(int32_t) * static_cast<size_t>(a.columns));
        const Range rows = entries_of(part, most);
        for (int64_t p = a.pos[rows.begin]; p < a.pos[rows.end]; p++) own[a.crd[p]]++;
#pragma omp barrier
#pragma omp single
        running_sums(counts.data, a.columns, most, pos.data);
        for (int64_t row = rows.begin; row < rows.end; row++)
            for (int64_t p = a.pos[row]; p < a.pos[row + 1]; p++) {
                const int32_t place = own[a.crd[p]]++;
                crd.data[place] = static_cast<int32_t>(row);
                vals.data[place] = a.vals[p];
            }
    }
    made = {a.columns, pos.data, crd.data, vals.data, true};
}

// ---- bins ----

constexpr int kBuffered = 16;

// The entries of a bin that have not been written out.
struct alignas(64) Buffer {
    int32_t columns[kBuffered], rows[kBuffered];
    double vals[kBuffered];
};

// Copies so many entries of a buffer to their places in the bins.
inline void write_out(const Buffer &buffer, int from, int to, int64_t place) {
    const size_t count = static_cast<size_t>(to - from);
    memcpy(bin_columns.data + place, buffer.columns + from, sizeof(int32_t) * count);
    memcpy(bin_rows.data + place, buffer.rows + from, sizeof(int32_t) * count);
    memcpy(bin_vals.data + place, buffer.vals + from, sizeof(double) * count);
}

// Copies a full buffer, whose place is a multiple of its size.
template <bool streamed>
inline void write_full(const Buffer &buffer, int64_t place) {
#if defined(__AVX512F__)
    if constexpr (streamed) {
        _mm512_stream_si512(reinterpret_cast<__m512i *>(bin_columns.data + place), _mm512_load_si512(buffer.columns));
        _mm512_stream_si512(reinterpret_cast<__m512i *>(bin_rows.data + place), _mm512_load_si512(buffer.rows));
        _mm512_stream_pd(bin_vals.data + place, _mm512_load_pd(buffer.vals));
        _mm512_stream_pd(bin_vals.data + place + 8, _mm512_load_pd(buffer.vals + 8));
        return;
    }
#elif defined(__AVX__)
    if constexpr (streamed) {
        const auto copy = [](void *to, const void *from) {
            _mm256_stream_si256(static_cast<__m256i *>(to), _mm256_load_si256(static_cast<const __m256i *>(from)));
        };
        for (int k = 0; k < kBuffered; k += 8) copy(bin_columns.data + place + k, buffer.columns + k);
        for (int k = 0; k < kBuffered; k += 8) copy(bin_rows.data + place + k, buffer.rows + k);
        for (int k = 0; k < kBuffered; k += 4) copy(bin_vals.data + place + k, buffer.vals + k);
        return;
    }
#endif
    write_out(buffer, 0, kBuffered, place);
}

// Distributes a thread's entries; `next` is the next place of each bin. A buffer holds the entries of the places of one aligned
// group, so the first and the last group of a bin may be partly others'.
template <bool streamed>
inline void distribute(Range rows, int shift, int64_t bins, int32_t *next, Buffer *buffers, int32_t *first) {
    memcpy(first, next, sizeof(int32_t) * static_cast<size_t>(bins));
    for (int64_t row = rows.begin; row < rows.end; row++)
        for (int64_t p = a.pos[row]; p < a.pos[row + 1]; p++) {
            const int32_t column = a.crd[p], bin = column >> shift, place = next[bin]++;
            const int inside = place & (kBuffered - 1);
            Buffer &buffer = buffers[bin];
            buffer.columns[inside] = column;
            buffer.rows[inside] = static_cast<int32_t>(row);
            buffer.vals[inside] = a.vals[p];
            if (inside == kBuffered - 1) {
                const int32_t group = place - inside;
                if (first[bin] > group) write_out(buffer, first[bin] - group, kBuffered, first[bin]);
                else write_full<streamed>(buffer, group);
            }
        }
    for (int64_t bin = 0; bin < bins; bin++) {
        const int32_t group = next[bin] & ~(kBuffered - 1), from = std::max(group, first[bin]);
        if (from < next[bin]) write_out(buffers[bin], from - group, next[bin] - group, from);
    }
    if constexpr (streamed) end_of_stream();
}

// Puts the entries of one bin in order of their columns.
inline void order_bin(int64_t begin, int64_t end, int64_t first_column, int64_t columns, int32_t *next) {
    memset(next, 0, sizeof(int32_t) * static_cast<size_t>(columns));
    for (int64_t p = begin; p < end; p++) next[bin_columns.data[p] - first_column]++;
    int32_t sum = static_cast<int32_t>(begin);
    for (int64_t k = 0; k < columns; k++) {
        const int32_t own = next[k];
        pos.data[first_column + k] = next[k] = sum;
        sum += own;
    }
    for (int64_t p = begin; p < end; p++) {
        const int32_t place = next[bin_columns.data[p] - first_column]++;
        crd.data[place] = bin_rows.data[p];
        vals.data[place] = bin_vals.data[p];
    }
}

template <bool streamed>
inline void bins() {
    const int64_t entries = a.pos[a.rows];
    const int most = omp_get_max_threads();
    // Some 16,000 entries a bin (256 KiB), but no more bins than a level-1 cache has room for in buffers.
    int shift = 0;
    const int64_t wanted = std::clamp<int64_t>(entries / 16384, 1, 256);
    while (((a.columns - 1) >> shift) + 1 > wanted) shift++;
    const int64_t count = std::max<int64_t>(((a.columns - 1) >> shift) + 1, 1), wide = int64_t{1} << shift;
    pos.fresh(a.columns + 1);
    crd.fresh(entries);
    vals.fresh(entries);
    bin_columns.fresh(entries);
    bin_rows.fresh(entries);
    bin_vals.fresh(entries);
    bin_counts.fresh(2 * most * count + count + 1);
    counts.fresh(most * wide);
    static Kept<Buffer> buffers;
    buffers.fresh(most * count);
    int32_t *begins = bin_counts.data + 2 * most * count;
    pos.data[a.columns] = static_cast<int32_t>(entries);
#pragma omp parallel num_threads(most)
    {
        const int part = omp_get_thread_num();
        int32_t *own = bin_counts.data + part * count;
        memset(own, 0, sizeof(int32_t) * static_cast<size_t>(count));
        const Range rows = entries_of(part, most);
        for (int64_t p = a.pos[rows.begin]; p < a.pos[rows.end]; p++) own[a.crd[p] >> shift]++;
#pragma omp barrier
#pragma omp single
        running_sums(bin_counts.data, count, most, begins);
        distribute<streamed>(rows, shift, count, own, buffers.data + part * count, bin_counts.data + (most + part) * count);
#pragma omp barrier
#pragma omp for schedule(dynamic, 1)
        for (int64_t bin = 0; bin < count; bin++) {
            const int64_t first = bin << shift;
            order_bin(begins[bin], begins[bin + 1], first, std::min(wide, a.columns - first), counts.data + part * wide);
        }
    }
    made = {a.columns, pos.data, crd.data, vals.data, true};
}

}  // namespace floors::transpose

#endif
